import { expect, setDefaultTimeout, test } from "bun:test";
import { homesUntilEnd } from "./homes.ts";

setDefaultTimeout(60_000);

const homeOf = homesUntilEnd();

test("a collection without documents is said to be 0s old, as qmd says it", async () => {
  const home = await homeOf({ "n/a.txt": "hello\n" });
  expect((await home.run("collection", "list")).stdout).toContain("\n  Files:    0\n  Updated:  0s ago\n");
});

test("an index of no name made documents whose names nothing took", async () => {
  const home = await homeOf({ "n/a.md": "hello\n" });
  for (const command of [["collection", "add", "n"], ["search", "hello"], ["status"]]) {
    expect(await home.run("--index", "/", ...command)).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: "'/' leaves no name for an index.\nChoose a name, as in --index work.\n",
    });
  }
  expect((await home.run("get", "qmd://n/a.md?index=%2F")).exitCode).toBe(1);
});

test("a bench fixture that can't be read is told of in one sentence with one full stop", async () => {
  const home = await homeOf({ "n/a.md": "hello\n" });
  const { exitCode, stderr } = await home.run("bench", "none.json");
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^The fixture none\.json can't be used: .*none\.json \(ENOENT\)\.\n/);
});

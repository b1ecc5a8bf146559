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

test("ls said of a path on disk that a collection without a name is not found", async () => {
  const home = await homeOf({ "n/a.md": "hello\n" });
  expect(await home.run("ls", "/somewhere/n")).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: "Collection not found: /somewhere/n\nRun 'memq ls' to see available collections.\n",
  });
  expect((await home.run("ls", "")).stdout).toBe("Collections:\n\n  qmd://n/  (1 files)\n");
});

test("embed -f on an index without documents fetched a model and failed without a network", async () => {
  const home = await homeOf({ "n/a.txt": "hello\n" }, { env: { HF_ENDPOINT: "http://127.0.0.1:9" } });
  for (const args of [
    ["embed", "-f"],
    ["embed", "-f", "-c", "n"],
  ]) {
    expect(await home.run(...args)).toEqual({
      exitCode: 0,
      stdout: "✓ No non-empty documents to embed.\n",
      stderr: "",
    });
  }
});

test("a document that is not there was called otherwise than it was asked for", async () => {
  const home = await homeOf(
    { "n/a.md": "hello\n", "n/out.md": "hello\n" },
    { yaml: "collections:\n  n:\n    path: $ROOT/n\n    ignore: [out.md]\n" },
  );
  for (const name of ["none.md:3", "none.md:3:2", "qmd://n/none.md:3", "qmd://n/a.md?index=other"]) {
    const { exitCode, stdout, stderr } = await home.run("get", name);
    expect([exitCode, stdout, stderr.split("\n")[0]]).toEqual([1, "", `Document not found: ${name}`]);
  }
  expect((await home.run("get", "n/out.md:1")).stderr).toBe(
    "Document is excluded by ignore rule: n/out.md:1\nCollection: n\nMatched path: out.md\nIgnore rule: out.md\n",
  );
});

test("a word behind mcp was called left out and then refused", async () => {
  const home = await homeOf({ "n/a.md": "hello\n" });
  expect(await home.run("mcp", "stpo")).toEqual({
    exitCode: 2,
    stdout: "",
    stderr: "unknown command 'mcp stpo'\nDid you mean 'mcp stop'? Run 'memq mcp --help' for usage.\n",
  });
});

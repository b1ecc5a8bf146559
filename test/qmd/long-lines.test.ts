import { expect, setDefaultTimeout, test } from "bun:test";
import { homesUntilEnd } from "./homes.ts";
import { memqWork } from "../cli/program.ts";

setDefaultTimeout(60_000);
const qmdHome = homesUntilEnd();

test("a note that is one long line is found, shown and printed in a moment", async () => {
  const words = Array.from({ length: 100_000 }, (_, at) => `alpha beta w${at % 5000} data`);
  const { env, root, json } = await qmdHome({
    "n/log.md": `# Log\n\n${words.join(" ")}\n`,
    "n/other.md": "no such word\n",
  });
  const ask: string[][] = [
    ["search", "data", "--json"],
    ["search", "data alpha"],
    ["search", "data", "--files"],
    ["query", "data", "--json", "--deadline", "500"],
    ["get", "n/log.md"],
  ];
  for (const args of ask) {
    const { exitCode, stdout, workMs } = await memqWork(args, { env, cwd: root });
    expect({ args, exitCode, isSlow: workMs > 3000 }).toEqual({ args, exitCode: 0, isSlow: false });
    expect(stdout).toContain("log.md");
  }
  const [row] = await json("search", "w4321", "--json");
  expect(row?.["snippet"]).toContain("w4321");
});

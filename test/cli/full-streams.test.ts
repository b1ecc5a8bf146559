import { describe, expect, test } from "bun:test";
import { closeSync, existsSync, openSync } from "node:fs";
import { childEnv, memqCommand } from "./program.ts";

/** Exit code of a command one of whose streams takes nothing. */
async function exitCode(args: string[], full: "stdout" | "stderr"): Promise<number> {
  const device = openSync("/dev/full", "w");
  const streams = { stdout: "ignore", stderr: "ignore", [full]: device } as const;
  const child = Bun.spawn(memqCommand(...args), { env: childEnv(), stdin: "ignore", ...streams });
  closeSync(device);
  return child.exited;
}

describe.skipIf(!existsSync("/dev/full"))("a full disk behind a stream changed the exit code", () => {
  for (const [args, code] of [
    [["bogus"], 1],
    [["get", "nope"], 1],
    [["search", "--min-score", "x", "y"], 2],
    [["collection", "list"], 0],
  ] as const) {
    test(`of ${args.join(" ")} whose words could not be written`, async () => {
      expect(await exitCode([...args], "stderr")).toBe(code);
    });
  }

  for (const args of [["--version"], ["--help"], ["collection", "list"]]) {
    test(`of ${args.join(" ")} whose answer could not be written`, async () => {
      expect(await exitCode(args, "stdout")).toBe(1);
    });
  }
});

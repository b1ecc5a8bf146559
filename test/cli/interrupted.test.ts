import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../temporary.ts";
import { childEnv, memqCommand } from "./program.ts";

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s ends a command with exit code %i, also as seen by a parent", async (signal, code) => {
  const folder = temporaryFolder("signals-");
  const config = join(folder, "config");
  mkdirSync(join(folder, "n"));
  mkdirSync(config);
  const ready = join(folder, "ready");
  writeFileSync(
    join(config, "index.yml"),
    `collections:\n  n:\n    path: ${folder}/n\n    update: 'echo $$ > ${ready}.new; mv ${ready}.new ${ready}; exec sleep 20'\n`,
  );
  const child = Bun.spawn(memqCommand("update"), {
    cwd: folder,
    env: childEnv({ HOME: folder, QMD_CONFIG_DIR: config, XDG_CACHE_HOME: join(folder, "cache") }),
    stdout: "pipe",
    stderr: "pipe",
  });
  while (!(await Bun.file(ready).exists())) await Bun.sleep(10);
  child.kill(signal);
  await child.exited;
  // Its update command goes with it.
  const hook = Number(readFileSync(ready, "utf8"));
  while (isAlive(hook)) await Bun.sleep(10);
  expect([child.exitCode, child.signalCode]).toEqual([code, null]);
  rmSync(folder, { recursive: true, force: true });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

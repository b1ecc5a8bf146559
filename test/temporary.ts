import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The one folder of this test process in the system's temporary folder. Its name is short, since sockets lie in it and below it,
 * and macOS names its temporary folder at length.
 */
export const temporaryRoot = mkdtempSync(join(tmpdir(), "memq-"));

/** A new folder, named `prefix` and random letters, that goes with the test process at the latest. */
export function temporaryFolder(prefix = "folder-"): string {
  return mkdtempSync(join(temporaryRoot, prefix));
}

/**
 * Ends the model hosts that tests have left behind, which would stay for minutes, and removes all that tests have written.
 * Without `ps` the hosts go when they are idle.
 */
export function removeTemporary(): void {
  if (!existsSync(temporaryRoot)) return;
  for (const pid of modelHosts((words) => words.includes(`${temporaryRoot}/`))) kill(pid);
  // A child that a test has just ended may still be writing.
  rmSync(temporaryRoot, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
}

/** The running model hosts whose words after `__model-host` (models folder, socket) match; none on a system without `ps`. */
export function modelHosts(matches: (words: string) => boolean): number[] {
  if (Bun.which("ps") === null) return [];
  const { stdout } = Bun.spawnSync(["ps", "-axww", "-o", "pid=,command="]);
  return stdout
    .toString()
    .split("\n")
    .filter((line) => matches(line.split(" __model-host ")[1] ?? ""))
    .map((line) => Number.parseInt(line, 10));
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has gone by itself meanwhile.
  }
}

import { readFileSync } from "node:fs";

/** When a process was started, in the system's own notation and the same for everyone who asks; null when that can't be told. */
export function processStart(pid: number): string | null {
  if (process.platform !== "linux") return toldByPs(pid, "lstart");
  try {
    // The name in the second field may hold blanks and brackets; the start time is the twentieth field after it. Of its first thread, since
    // an emulator of another processor (QEMU in containers) tells a process something else of itself than others see.
    const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}

/**
 * One column of what `ps` tells of a process, or null when there is no such process or no `ps`. Dates are UTC and English, whoever
 * asks: what one process writes down another compares, in a zone and a language of its own.
 */
export function toldByPs(pid: number, column: string): string | null {
  try {
    const env = { ...process.env, TZ: "UTC", LC_ALL: "C" };
    const ps = Bun.spawnSync(["ps", "-ww", "-o", `${column}=`, "-p", String(pid)], { stderr: "ignore", env });
    return ps.stdout.toString().trim() || null;
  } catch {
    return null;
  }
}

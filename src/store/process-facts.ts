import { readFileSync } from "node:fs";

/**
 * When a process was started, in the system's own notation and the same for everyone who asks, null when that can't be told; and whether
 * it has ended and keeps its number only until its parent asks for it, which in a container may be never.
 */
export function processFacts(pid: number): { started: string | null; hasEnded: boolean } {
  if (process.platform !== "linux") {
    const [, state = "", started = null] = /^(\S+)\s+(.+)$/.exec(toldByPs(pid, "state", "lstart") ?? "") ?? [];
    return { started, hasEnded: state.startsWith("Z") };
  }
  try {
    // The name in the second field may hold blanks and brackets; the start time is the twentieth field after it. Of its first thread, since
    // an emulator of another processor (QEMU in containers) tells a process something else of itself than others see.
    const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { started: fields[19] ?? null, hasEnded: fields[0] === "Z" || fields[0] === "X" };
  } catch {
    return { started: null, hasEnded: false };
  }
}

/**
 * Columns of what `ps` tells of a process, or null when there is no such process or no `ps`. Dates are UTC and English, whoever
 * asks: what one process writes down another compares, in a zone and a language of its own.
 */
export function toldByPs(pid: number, ...columns: string[]): string | null {
  try {
    const env = { ...process.env, TZ: "UTC", LC_ALL: "C" };
    const asked = columns.flatMap((column) => ["-o", `${column}=`]);
    const ps = Bun.spawnSync(["ps", "-ww", ...asked, "-p", String(pid)], { stderr: "ignore", env });
    return ps.stdout.toString().trim() || null;
  } catch {
    return null;
  }
}

import { fstatSync } from "node:fs";

const LOOK_MS = 2000;

/**
 * Aborts long work when the program that started it has died: a gateway gives its children a pipe as stdin and a process group of
 * their own, so nothing else would end them. A command in a terminal's background, or behind `nohup`, has no pipe and goes on.
 * Returns what ends the watch.
 */
export function abortWithParent(controller: AbortController): () => void {
  const parent = process.ppid;
  if (!stdinIsPipe() || parent <= 1) return () => {};
  const timer = setInterval(() => {
    if (process.ppid !== parent) controller.abort(new Error("the program that started this one has ended"));
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function stdinIsPipe(): boolean {
  try {
    const stat = fstatSync(0);
    return stat.isFIFO() || stat.isSocket();
  } catch {
    return false;
  }
}

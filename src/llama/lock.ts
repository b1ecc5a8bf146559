import { dlopen, FFIType } from "bun:ffi";
import { closeSync, openSync } from "node:fs";

const exclusive = 2;
const nonBlocking = 4;
const libc = dlopen(process.platform === "darwin" ? "/usr/lib/libSystem.B.dylib" : "libc.so.6", {
  flock: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
});

/**
 * Takes the file lock (flock) at this path and returns what gives it back, or null while another process holds it. The kernel
 * gives it back when its holder ends, however it ends, so no lock is ever stale. The file itself stays.
 */
export function tryLock(path: string): (() => void) | null {
  const file = openSync(path, "a", 0o600);
  if (libc.symbols.flock(file, exclusive | nonBlocking) === 0) return () => closeSync(file);
  closeSync(file);
  return null;
}

/** Waits for the lock, calling `onWait` once when another process holds it. Rejects with the signal's reason. */
export async function lockFile(path: string, signal: AbortSignal, onWait: () => void): Promise<() => void> {
  for (let waited = false; ; waited = true) {
    signal.throwIfAborted();
    const release = tryLock(path);
    if (release !== null) return release;
    if (!waited) onWait();
    await Bun.sleep(200);
  }
}

import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { withWriterLock, writerOf } from "../store/lock.ts";

/**
 * Runs `work` while nobody else appends to `note`, whose folder exists. The lock lies in the agent's state folder, at `inState`,
 * where it disturbs nobody's notes; a process that may not write there, as in a sandbox, makes it beside the note. Each looks for
 * the other's, and who holds the one in the state folder goes first, so that both kinds of process may append at once. A process
 * that may not even read there can't tell: what it appends is whole all the same. Throws what `withWriterLock` does.
 */
export async function whileOnlyAppender<T>(inState: string, note: string, work: () => Promise<T>): Promise<T> {
  const besideNote = join(dirname(note), `.${basename(note)}`);
  for (;;) {
    let isHeld = false;
    try {
      return await withWriterLock(inState, async () => {
        isHeld = true;
        // Who comes to that place from now on lets go again; and what a process left there that died goes.
        if (existsSync(`${besideNote}.lock`)) await withWriterLock(besideNote, () => {});
        return work();
      });
    } catch (error) {
      if (isHeld || !isRefusal(error)) throw error;
    }
    const done = await withWriterLock(besideNote, async () => (isTaken(inState) ? null : { result: await work() }));
    if (done !== null) return done.result;
  }
}

/** Whether the lock in the state folder is known to be held. */
function isTaken(inState: string): boolean {
  try {
    return writerOf(inState) !== null;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}

/** Whether a folder may not be written to: any other fault of the state folder is one to be told. */
function isRefusal(error: unknown): boolean {
  return ["EACCES", "EPERM", "EROFS"].includes(String((error as { code?: unknown }).code));
}

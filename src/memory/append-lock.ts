import { basename, dirname, join } from "node:path";
import { withWriterLock } from "../store/lock.ts";

/**
 * Runs `work` while nobody else appends to `note`, whose folder exists. The lock lies beside the note, since agents and state
 * folders may share a workspace; in the agent's state folder, at `inState`, only where the note's folder takes no file. Throws
 * what `withWriterLock` does.
 */
export async function whileOnlyAppender<T>(
  inState: string,
  note: string,
  work: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  let isHeld = false;
  const begin = (): Promise<T> => {
    isHeld = true;
    return work();
  };
  try {
    return await withWriterLock(join(dirname(note), `.${basename(note)}`), begin, { signal });
  } catch (error) {
    if (isHeld || !isRefusal(error)) throw error;
  }
  return withWriterLock(inState, work, { signal });
}

/** Whether a folder may not be written to: any other fault of it is one to be told. */
function isRefusal(error: unknown): boolean {
  return ["EACCES", "EPERM", "EROFS"].includes(String((error as { code?: unknown }).code));
}

import { join } from "node:path";
import type { Home } from "../home/types.ts";
import { withWriterLock } from "../store/lock.ts";
import { syncLockedIndex } from "../sync/sync.ts";

/** How long another writer is waited for: it may be embedding thousands of notes. */
const PATIENCE_MS = 1000;

/**
 * Brings the index up to date with the folder of a note (relative to the workspace), so that its words are found; embedding it is left
 * to the next sync of all. False where no collection reaches the note. Throws `INDEX_BUSY` when another process is writing for long.
 */
export async function indexNote(home: Home, path: string): Promise<boolean> {
  const note = join(home.workspace ?? "", path);
  const collections = home.collections
    .filter(({ source, root }) => source !== "sessions" && note.startsWith(`${root}/`))
    .map(({ name }) => name);
  if (collections.length === 0) return false;
  const timeoutMs = PATIENCE_MS;
  await withWriterLock(home.indexPath, () => syncLockedIndex(home, { collections, embed: false }), { timeoutMs });
  return true;
}

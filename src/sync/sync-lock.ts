import type { Home } from "../home/types.ts";
import { withWriterLock } from "../store/lock.ts";
import { openIndex, openReadyIndex } from "../store/open.ts";
import type { Index } from "../store/types.ts";

/**
 * The path whose writer lock a sync holds: that of the index, or, where no collection is to be looked at and so nothing is done but
 * embedding, one of its own. Others may index and search meanwhile, since vectors arrive in short transactions and one whose passage
 * is gone by then is only cached.
 */
export function lockedPath(indexPath: string, collections?: readonly string[]): string {
  return collections?.length === 0 ? `${indexPath}.embed` : indexPath;
}

/**
 * Opens an index for who holds the lock of embedding alone. Where it has to be made, migrated or set aside first, that is done under the
 * writer's lock: somebody may be writing to the file.
 */
export async function openForEmbedding(
  { indexPath, extension }: Pick<Home, "indexPath" | "extension">,
  { signal, ...patience }: { patienceMs?: number; signal?: AbortSignal | undefined },
): Promise<Index> {
  const ready = openReadyIndex(indexPath, patience);
  if (ready?.isShared === false) return extension === undefined ? ready : { ...ready, extension };
  ready?.close();
  const open = (): Index => openIndex(indexPath, { mode: "write", extension, ...patience });
  return withWriterLock(indexPath, open, { signal });
}

import { inodeOf } from "../home/file-stamp.ts";
import { MemqError } from "../errors.ts";
import { isDamage, isDiskFault, reportDamage } from "../store/damage.ts";
import { isBehindFile, openIndex } from "../store/open.ts";
import type { Index, VecExtension } from "../store/types.ts";
import { keepVectorCodes } from "../store/vector-codes.ts";

/** An index that is kept open for reading, and opened again when a writer made, migrated or replaced the file. */
export type IndexReader = {
  /** Lends the index as it is now. Where it turns out to be damaged, the work is done with an empty one. */
  now<T>(work: (index: Index) => T): T;
  /** The same for work that waits in between: the index stays open until the work is done. */
  use<T>(work: (index: Index) => Promise<T> | T): Promise<T>;
  /** Prepares what a first search by meaning would have to wait for. */
  warm(): void;
  close(): void;
};

/** With the inode of its journal. */
type Held = { index: Index; journal: number; users: number; retired: boolean };

type Place = { path: string; extension?: VecExtension | undefined };
type Reader = Place & { live: boolean; held: Held | null };

/** Reads the index at a place; a process that stays (`live`) also keeps codes of its vectors in memory. */
export function indexReader(place: Place, live: boolean): IndexReader {
  const reader: Reader = { ...place, live, held: null };
  return {
    now(work) {
      try {
        return lendNow(reader, work);
      } catch (error) {
        if (isOver(error)) return lendNow(reader, work);
        throw error;
      }
    },
    async use(work) {
      try {
        return await lend(reader, work);
      } catch (error) {
        if (isOver(error)) return lend(reader, work);
        throw error;
      }
    },
    warm() {
      if (!live) return;
      const { codes } = currentHeld(reader).index;
      // An index that is closed meanwhile ends the work; the next search says what is wrong, if something is.
      codes?.warm().catch(() => {});
    },
    close: () => retire(reader),
  };
}

function lendNow<T>(reader: Reader, work: (index: Index) => T): T {
  const own = currentHeld(reader);
  try {
    return work(own.index);
  } catch (error) {
    throw noted(reader, error, own);
  }
}

async function lend<T>(reader: Reader, work: (index: Index) => Promise<T> | T): Promise<T> {
  const own = currentHeld(reader);
  own.users += 1;
  try {
    return await work(own.index);
  } catch (error) {
    throw noted(reader, error, own);
  } finally {
    own.users -= 1;
    if (own.retired && own.users === 0) own.index.close();
  }
}

function currentHeld(reader: Reader): Held {
  const { path, extension, live, held } = reader;
  const inode = inodeOf(path);
  if (held !== null && !isOld(held, path, inode)) return held;
  retire(reader);
  const index = openIndex(path, { mode: "read", extension });
  if (live && index.state === "ready") keepVectorCodes(index);
  return (reader.held = { index, journal: inodeOf(`${path}-wal`), users: 0, retired: false });
}

/** Whether the file or its journal is another one by now, or may have been prepared. */
function isOld({ index, journal }: Held, path: string, inode: number): boolean {
  if (index.inode !== inode || (index.state !== "ready" && inode !== 0)) return true;
  return journal !== inodeOf(`${path}-wal`) || isBehindFile(index);
}

function retire(reader: Reader): void {
  const { held } = reader;
  if (held === null) return;
  held.retired = true;
  if (held.users === 0) held.index.close();
  reader.held = null;
}

/** Whether another connection may fare better. */
function isOver(error: unknown): boolean {
  return error instanceof DamageMet || isDiskFault(error);
}

/** Damage is reported once: the file counts as damaged from then on, until a writer has rebuilt it. */
function noted(reader: Reader, error: unknown, own: Held): unknown {
  const { path } = reader;
  if (isDiskFault(error) && reader.held === own) retire(reader);
  if (!isDamage(error) || own.index.state !== "ready") return error;
  // Pages from before and after a change don't fit together, and nothing is wrong with the file.
  if (!isBehindFile(own.index)) reportDamage(path, own.index.inode);
  if (reader.held === own) retire(reader);
  return new DamageMet("INDEX_DAMAGED", `The index ${path} is damaged.`, {
    hint: "The next update sets it aside and rebuilds it from your notes.",
    cause: error,
  });
}

/** A reader's index turned out to be damaged, and is reported as such. */
class DamageMet extends MemqError {}

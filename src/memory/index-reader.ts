import { statSync } from "node:fs";
import { openIndex } from "../store/open.ts";
import type { Index } from "../store/types.ts";
import { keepVectorCodes } from "../store/vector-codes.ts";

/** An index that is kept open for reading, and opened again when a writer made, migrated or replaced the file. */
export type IndexReader = {
  /** The index as it is now, to be used at once. */
  current(): Index;
  /** Lends the index for work that waits in between: it stays open until the work is done. */
  use<T>(work: (index: Index) => Promise<T>): Promise<T>;
  /** Prepares what a first search by meaning would have to wait for. */
  warm(): void;
  close(): void;
};

type Held = { index: Index; inode: number; users: number; retired: boolean };

/** Reads the index at `path`; a process that stays (`live`) also keeps codes of its vectors in memory. */
export function indexReader(path: string, live: boolean): IndexReader {
  let held: Held | null = null;

  function retire(): void {
    if (held === null) return;
    held.retired = true;
    if (held.users === 0) held.index.close();
    held = null;
  }

  function currentHeld(): Held {
    const inode = statSync(path, { throwIfNoEntry: false })?.ino ?? 0;
    const isOld = held !== null && (held.inode !== inode || (held.index.state !== "ready" && inode !== 0));
    if (isOld) retire();
    if (held === null) {
      const index = openIndex(path, { mode: "read" });
      if (live && index.state === "ready") keepVectorCodes(index);
      held = { index, inode, users: 0, retired: false };
    }
    return held;
  }

  return {
    current: () => currentHeld().index,
    async use(work) {
      const own = currentHeld();
      own.users += 1;
      try {
        return await work(own.index);
      } finally {
        own.users -= 1;
        if (own.retired && own.users === 0) own.index.close();
      }
    },
    warm() {
      if (!live) return;
      const { codes } = currentHeld().index;
      // An index that is closed meanwhile ends the work; the next search says what is wrong, if something is.
      codes?.warm().catch(() => {});
    },
    close: retire,
  };
}

import { renameDocumentsCollection } from "../store/collections.ts";
import { readRenaming, writeRenaming } from "../store/meta.ts";
import { inTransaction } from "../store/open.ts";
import type { Index } from "../store/types.ts";
import { renameLastSync } from "./sync-collection.ts";

/**
 * Renames a collection in the index, to be called right before the configuration changes: who dies in between leaves a note of it, by
 * which the next writer makes both the same again (`settleRenaming`).
 */
export function renameInIndex(index: Index, from: string, to: string): void {
  inTransaction(index, () => {
    renameDocumentsCollection(index, from, to);
    renameLastSync(index, from, to);
    writeRenaming(index, { from, to });
  });
}

/** Takes a renaming back that the configuration, whose collections have these names, does not have; one that it has is done. */
export function settleRenaming(index: Index, names: ReadonlySet<string>): void {
  const noted = readRenaming(index);
  if (noted === null) return;
  const { from, to } = noted;
  inTransaction(index, () => {
    if (names.has(from) && !names.has(to)) {
      renameDocumentsCollection(index, to, from);
      renameLastSync(index, to, from);
    }
    writeRenaming(index, null);
  });
}

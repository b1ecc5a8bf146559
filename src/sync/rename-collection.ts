import { renameDocumentsCollection } from "../store/collections.ts";
import { readMeta, writeMeta } from "../store/meta.ts";
import { inTransaction } from "../store/open.ts";
import type { Index } from "../store/types.ts";
import { renameLastSync } from "./sync-collection.ts";

/** A renaming of which the index does not know yet whether the configuration has it too. */
const RENAMING = "collections.renaming";

/**
 * Renames a collection in the index, to be called right before the configuration changes: who dies in between leaves a note of it, by
 * which the next writer makes both the same again (`settleRenaming`).
 */
export function renameInIndex(index: Index, from: string, to: string): void {
  inTransaction(index, () => {
    renameDocumentsCollection(index, from, to);
    renameLastSync(index, from, to);
    writeMeta(index, RENAMING, JSON.stringify({ from, to }));
  });
}

/** Takes a renaming back that the configuration, whose collections have these names, does not have; one that it has is done. */
export function settleRenaming(index: Index, names: ReadonlySet<string>): void {
  const noted = readMeta(index, RENAMING);
  if (noted === null) return;
  const { from, to } = JSON.parse(noted) as { from: string; to: string };
  inTransaction(index, () => {
    if (names.has(from) && !names.has(to)) {
      renameDocumentsCollection(index, to, from);
      renameLastSync(index, to, from);
    }
    writeMeta(index, RENAMING, null);
  });
}

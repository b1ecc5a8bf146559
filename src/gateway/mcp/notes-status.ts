import type { OpenQmd } from "../../qmd/open.ts";
import { documentCounts } from "../../store/documents.ts";
import { vectorCount } from "../../store/maintenance.ts";
import { pendingEmbeddings } from "../../sync/pending.ts";

/** What an index holds, as `status` and the instructions tell it. */
export type NotesStatus = {
  totalDocuments: number;
  needsEmbedding: number;
  hasVectorIndex: boolean;
  collections: {
    name: string;
    path: string | null;
    pattern: string | null;
    documents: number;
    lastUpdated: string;
  }[];
};

/** Collections that hold documents and may be read, the one that changed last first. */
export async function statusOf({ qmd, index }: OpenQmd): Promise<NotesStatus> {
  const counts = documentCounts(index)
    .filter(({ collection }) => qmd.skipped.every(({ name }) => name !== collection))
    .toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
  const readable = qmd.skipped.length === 0 ? undefined : counts.map(({ collection }) => collection);
  return {
    totalDocuments: counts.reduce((sum, { count }) => sum + count, 0),
    needsEmbedding: (await pendingEmbeddings(index, qmd.home, readable)).documents,
    hasVectorIndex: vectorCount(index) > 0,
    collections: counts.map(({ collection, count, updatedAt }) => ({
      name: collection,
      path: qmd.home.collections.find(({ name }) => name === collection)?.root ?? null,
      pattern: qmd.config.collections.find(({ name }) => name === collection)?.pattern ?? null,
      documents: count,
      lastUpdated: updatedAt,
    })),
  };
}

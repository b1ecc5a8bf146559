import { documentsIn } from "../store/documents.ts";
import type { Index, Scope } from "../store/types.ts";

/** What one leg is asked for: at most `limit` passages, or more where these belong to fewer than `documents` documents. */
export type LegScope = Scope & { limit: number; documents?: number };

/** How many times more passages are asked for at a time where the first were too few. */
const MORE = 8;

/**
 * What `find` finds up to the limit. Where documents are counted, the passages of one long document must not crowd out all others:
 * if more passages don't bring enough documents, what follows is asked of the documents that were not found yet, since all passages
 * of a long transcript are many, and its best are known by then.
 */
export function enough<T extends { documentId: number }>(
  index: Index,
  scope: LegScope,
  find: (scope: Scope & { limit: number }) => T[],
): T[] {
  const { documents = 0, documentIds } = scope;
  const isEnough = (found: T[], limit: number): boolean => found.length < limit || documentsOf(found).size >= documents;
  const first = find(scope);
  if (isEnough(first, scope.limit)) return first;
  const limit = scope.limit * MORE;
  const found = find({ ...scope, limit });
  for (let last = found; last.length >= limit && documentsOf(found).size < documents;) {
    const known = documentsOf(found);
    const all = documentIds ?? documentsIn(index, scope.collections).map(({ id }) => id);
    last = find({ ...scope, documentIds: all.filter((id) => !known.has(id)), limit });
    found.push(...last);
  }
  return found;
}

function documentsOf(found: readonly { documentId: number }[]): Set<number> {
  return new Set(found.map(({ documentId }) => documentId));
}

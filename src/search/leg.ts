import type { Scope } from "../store/types.ts";

/** What one leg is asked for: at most `limit` passages, or more where these belong to fewer than `documents` documents. */
export type LegScope = Scope & { limit: number; documents?: number };

/**
 * What `find` finds up to the limit. Where documents are counted, the passages of one long document must not crowd out all others:
 * the limit grows until there are enough documents or nothing more is found.
 */
export function enough<T extends { documentId: number }>(
  { limit, documents = 0 }: Pick<LegScope, "limit" | "documents">,
  find: (limit: number) => T[],
): T[] {
  for (let most = limit; ; most *= 8) {
    const found = find(most);
    if (found.length < most || new Set(found.map(({ documentId }) => documentId)).size >= documents) return found;
  }
}

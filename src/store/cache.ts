import { sha256 } from "../sha256.ts";
import { withWriterLock } from "./lock.ts";
import { inTransaction, openIndex } from "./open.ts";
import { bytesToVector, vectorBytes } from "./vector-packed.ts";
import type { Index } from "./types.ts";

/** qmd keeps this many answers of models. */
const LLM_CACHE_ROWS = 1000;

/** Cached vectors by text hash; `space` is `cacheSpace(identity)`. */
export function readCachedVectors(
  index: Index,
  space: string,
  textHashes: readonly string[],
): Map<string, Float32Array> {
  const query = index.db.query<{ embedding: Uint8Array }, [string, string]>(
    "SELECT embedding FROM memq_embedding_cache WHERE space = ? AND text_hash = ?",
  );
  const found = new Map<string, Float32Array>();
  for (const hash of textHashes) {
    const row = query.get(space, hash);
    if (row !== null) found.set(hash, bytesToVector(row.embedding));
  }
  return found;
}

/** Puts vectors into the cache; a later one replaces an earlier one and counts as new. */
export function writeCachedVectors(index: Index, space: string, vectors: ReadonlyMap<string, Float32Array>): void {
  if (vectors.size === 0) return;
  const now = Date.now();
  inTransaction(index, () => {
    const insert = index.db.query(
      "INSERT OR REPLACE INTO memq_embedding_cache(space, text_hash, embedding, stored_at) VALUES (?, ?, ?, ?)",
    );
    for (const [hash, vector] of vectors) insert.run(space, hash, vectorBytes(vector), now);
  });
}

/** Drops the oldest cached vectors beyond `maxEntries`; returns how many. */
export function pruneVectorCache(index: Index, maxEntries: number): number {
  const rows = cachedVectorCount(index) - maxEntries;
  if (rows <= 0) return 0;
  index.db
    .query(
      `DELETE FROM memq_embedding_cache WHERE rowid IN (
         SELECT rowid FROM memq_embedding_cache ORDER BY stored_at, rowid LIMIT ?)`,
    )
    .run(rows);
  return rows;
}

/** How many vectors the embedding cache holds. */
export function cachedVectorCount(index: Index): number {
  return index.db.query<{ n: number }, []>("SELECT count(*) AS n FROM memq_embedding_cache").get()?.n ?? 0;
}

/**
 * Key of a model's answer as qmd makes it: SHA-256 of the kind and compact JSON, in which the order of keys matters:
 * `expandQuery` {query, model}; `rerank` {query, model, chunk}. `model` is the full URI.
 */
export function llmCacheKey(kind: "expandQuery" | "rerank", body: Record<string, string>): string {
  return sha256(kind + JSON.stringify(body));
}

/** The answer of a model that is kept under a key of `llmCacheKey`, or null. */
export function readLlmCache(index: Index, key: string): string | null {
  return (
    index.db.query<{ result: string }, [string]>("SELECT result FROM llm_cache WHERE hash = ?").get(key)?.result ?? null
  );
}

/** Stores answers of models and keeps the newest thousand of them all. */
export function writeLlmCache(index: Index, answers: ReadonlyMap<string, string>): void {
  const now = new Date().toISOString();
  inTransaction(index, () => {
    const insert = index.db.query("INSERT OR REPLACE INTO llm_cache(hash, result, created_at) VALUES (?, ?, ?)");
    for (const [key, result] of answers) insert.run(key, result, now);
    index.db
      .query(
        "DELETE FROM llm_cache WHERE rowid IN (SELECT rowid FROM llm_cache ORDER BY created_at DESC, rowid DESC LIMIT -1 OFFSET ?)",
      )
      .run(LLM_CACHE_ROWS);
  });
}

/**
 * Keeps answers of models in the index at `path`, for a search that is done. Where somebody else is writing, or nobody may, they are
 * let go: they are only asked for again.
 */
export async function keepLlmAnswers(path: string, answers: ReadonlyMap<string, string>): Promise<void> {
  const write = (): void => {
    const index = openIndex(path, { mode: "write", patienceMs: 0 });
    try {
      writeLlmCache(index, answers);
    } finally {
      index.close();
    }
  };
  await withWriterLock(path, write, { timeoutMs: 0 }).catch(() => {});
}

/** Empties the cache of models' answers; returns how many there were. */
export function clearLlmCache(index: Index): number {
  // Emptying a table writes, even when it is empty.
  if (index.db.query("SELECT 1 FROM llm_cache LIMIT 1").get() === null) return 0;
  return index.db.query("DELETE FROM llm_cache").run().changes;
}

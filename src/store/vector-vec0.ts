import { bytesToVector, vectorBytes } from "./vector-packed.ts";
import type { Index } from "./types.ts";

/**
 * Vectors per chunk. sqlite-vec's own 1024 makes each write and each single read walk a blob of megabytes; with 8 writes are
 * four times as fast, single reads sixty times, and a whole scan about as fast.
 */
const CHUNK_SIZE = 8;

/** The most rows sqlite-vec returns at once. */
export const MAX_K = 4096;

/** The most numbers in a vector that it takes. */
export const MAX_DIMENSIONS = 8192;

/** Creates `vectors_vec`, as qmd declares it, unless it exists. */
export function createVec0(index: Index, dimensions: number): void {
  index.db.run(`CREATE VIRTUAL TABLE IF NOT EXISTS vectors_vec USING vec0(
    hash_seq TEXT PRIMARY KEY, embedding float[${dimensions}] distance_metric=cosine, chunk_size=${CHUNK_SIZE})`);
}

/** Drops `vectors_vec` with all its vectors. */
export function dropVec0(index: Index): void {
  index.db.run("DROP TABLE IF EXISTS vectors_vec");
}

/** Stores a vector; vec0 knows no replacing, so an older one is deleted first. */
export function putVec0(index: Index, vectorKey: string, vector: Float32Array): void {
  deleteVec0(index, vectorKey);
  index.db.query("INSERT INTO vectors_vec(hash_seq, embedding) VALUES (?, ?)").run(vectorKey, vectorBytes(vector));
}

/** Deletes a vector, if there is one of this key. */
export function deleteVec0(index: Index, vectorKey: string): void {
  // Asking the ordinary table first spares the extension a scan when the key is new.
  const known = index.db.query("SELECT 1 FROM vectors_vec_rowids WHERE id = ?").get(vectorKey);
  if (known !== null) index.db.query("DELETE FROM vectors_vec WHERE hash_seq = ?").run(vectorKey);
}

/** The vector of a key, or null. */
export function getVec0(index: Index, vectorKey: string): Float32Array | null {
  const row = index.db
    .query<{ embedding: Uint8Array }, [string]>("SELECT embedding FROM vectors_vec WHERE hash_seq = ?")
    .get(vectorKey);
  return row === null ? null : bytesToVector(row.embedding);
}

/** Keys of the `k` (at most `MAX_K`) nearest vectors by cosine, nearest first; with `among`, only those keys count. */
export function nearestVec0(index: Index, query: Float32Array, k: number, among?: readonly string[]): string[] {
  const filter = among === undefined ? "" : "AND hash_seq IN (SELECT value FROM json_each(?3))";
  const select = index.db.query<{ key: string }, (Uint8Array | number | string)[]>(
    `SELECT hash_seq AS key FROM vectors_vec WHERE embedding MATCH ?1 AND k = ?2 ${filter} ORDER BY distance`,
  );
  const values = [vectorBytes(query), Math.min(k, MAX_K)];
  const rows = among === undefined ? select.all(...values) : select.all(...values, JSON.stringify(among));
  return rows.map((row) => row.key);
}

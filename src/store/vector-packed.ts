import type { Index } from "./types.ts";

/** One row per vector, little-endian float32: the form that needs no extension, and where new vectors wait for a swap. */
export type PackedTable = "memq_vectors" | "memq_next_vectors";

/** Vectors read at once by a scan. */
export const PAGE_ROWS = 1024;

/** A vector's bytes as stored. */
export function vectorBytes(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

/** The vector that stored bytes hold; copied when they don't lie at a multiple of four. */
export function bytesToVector(bytes: Uint8Array): Float32Array {
  return bytes.byteOffset % 4 === 0
    ? new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
    : new Float32Array(bytes.slice().buffer);
}

/** Stores a vector, in place of one that has its key already. */
export function putPacked(index: Index, table: PackedTable, vectorKey: string, vector: Float32Array): void {
  index.db
    .query(`INSERT OR REPLACE INTO ${table}(vector_key, embedding) VALUES (?, ?)`)
    .run(vectorKey, vectorBytes(vector));
}

/** Deletes a vector, if there is one of this key. */
export function deletePacked(index: Index, table: PackedTable, vectorKey: string): void {
  index.db.query(`DELETE FROM ${table} WHERE vector_key = ?`).run(vectorKey);
}

/** Vectors by key; keys without one are absent. */
export function getPacked(index: Index, table: PackedTable, keys: readonly string[]): Map<string, Float32Array> {
  const rows = index.db
    .query<{ k: string; e: Uint8Array }, [string]>(
      `SELECT v.vector_key AS k, v.embedding AS e FROM json_each(?) j CROSS JOIN ${table} v ON v.vector_key = j.value`,
    )
    .all(JSON.stringify(keys));
  return new Map(rows.map((row) => [row.k, bytesToVector(row.e)]));
}

/** Vectors by row id; row ids without one are absent. */
export function getPackedRows(index: Index, table: PackedTable, ids: readonly number[]): Map<number, Float32Array> {
  const rows = index.db
    .query<{ id: number; embedding: Uint8Array }, [string]>(
      `SELECT v.id, v.embedding FROM json_each(?) j CROSS JOIN ${table} v ON v.id = j.value`,
    )
    .all(JSON.stringify(ids));
  return new Map(rows.map((row) => [row.id, bytesToVector(row.embedding)]));
}

/** Whether the table holds no vector. */
export function isPackedEmpty(index: Index, table: PackedTable): boolean {
  return index.db.query(`SELECT 1 FROM ${table} LIMIT 1`).get() === null;
}

/** Length of the vectors in the table, null when it holds none. */
export function packedDimensions(index: Index, table: PackedTable): number | null {
  const row = index.db.query<{ n: number }, []>(`SELECT length(embedding) AS n FROM ${table} LIMIT 1`).get();
  return row === null ? null : row.n / 4;
}

/** Every vector, in order of row id, a few megabytes at a time. */
export function* packedPages(
  index: Index,
  table: PackedTable,
): Generator<{ id: number; vectorKey: string; vector: Float32Array }[]> {
  const query = index.db.query<{ id: number; k: string; e: Uint8Array }, [number, number]>(
    `SELECT id, vector_key AS k, embedding AS e FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`,
  );
  for (let last = 0; ;) {
    const rows = query.all(last, PAGE_ROWS);
    if (rows.length === 0) return;
    yield rows.map((row) => ({ id: row.id, vectorKey: row.k, vector: bytesToVector(row.e) }));
    last = rows.at(-1)?.id ?? last;
  }
}

/** Every vector, in order of row id. */
export function* scanPacked(
  index: Index,
  table: PackedTable,
): Generator<{ id: number; vectorKey: string; vector: Float32Array }> {
  for (const page of packedPages(index, table)) yield* page;
}

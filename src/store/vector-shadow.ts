import { bytesToVector, PAGE_ROWS } from "./vector-packed.ts";
import type { Index } from "./types.ts";

/*
 * What a vec0 table keeps, read without its extension: `_rowids` says in which chunk and slot the vector of a key stands,
 * `_chunks` which slots are in use, `_vector_chunks00` holds `size` vectors a row. Never written here. The last has a column
 * that is called `rowid` and is not the row id: joins go by `_rowid_`.
 */

/** What there is of `vectors_vec`: dimensions, and vectors per chunk (1024 where qmd made it). */
export type ShadowLayout = { dimensions: number; chunkSize: number };

/** The layout of `vectors_vec`, null when there is no such table. */
export function shadowLayout(index: Index): ShadowLayout | null {
  const row = index.db
    .query<{ sql: string }, []>("SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = 'vectors_vec'")
    .get();
  const dimensions = Number(/float\[(\d+)\]/i.exec(row?.sql ?? "")?.[1] ?? 0);
  if (dimensions === 0) return null;
  return { dimensions, chunkSize: Number(/chunk_size\s*=\s*(\d+)/i.exec(row?.sql ?? "")?.[1] ?? 1024) };
}

/** Whether `vectors_vec` is absent or holds no vector. */
export function isShadowEmpty(index: Index): boolean {
  return shadowLayout(index) === null || index.db.query("SELECT 1 FROM vectors_vec_rowids LIMIT 1").get() === null;
}

/** Vectors by key from small chunks: each is read with its whole chunk, in one query. */
export function getShadow(index: Index, layout: ShadowLayout, keys: readonly string[]): Map<string, Float32Array> {
  const rows = index.db
    .query<{ id: string; e: Uint8Array }, [string, number]>(
      `SELECT r.id, substr(v.vectors, r.chunk_offset * ?2 + 1, ?2) AS e
       FROM json_each(?1) j CROSS JOIN vectors_vec_rowids r ON r.id = j.value
       CROSS JOIN vectors_vec_vector_chunks00 v ON v._rowid_ = r.chunk_id`,
    )
    .all(JSON.stringify(keys), layout.dimensions * 4);
  return new Map(rows.map((row) => [row.id, bytesToVector(row.e)]));
}

/** Several vectors by key from large chunks: each chunk is read once. */
export function getManyShadow(index: Index, layout: ShadowLayout, keys: readonly string[]): Map<string, Float32Array> {
  const slots = index.db
    .query<{ id: string; chunk: number; offset: number }, [string]>(
      `SELECT id, chunk_id AS chunk, chunk_offset AS offset FROM vectors_vec_rowids
       WHERE id IN (SELECT value FROM json_each(?)) ORDER BY chunk_id`,
    )
    .all(JSON.stringify(keys));
  const found = new Map<string, Float32Array>();
  let loaded: { chunk: number; vectors: Float32Array } | undefined;
  for (const slot of slots) {
    if (loaded?.chunk !== slot.chunk) loaded = { chunk: slot.chunk, vectors: readChunk(index, slot.chunk) };
    const start = slot.offset * layout.dimensions;
    const vector = loaded.vectors.slice(start, start + layout.dimensions);
    if (vector.length === layout.dimensions) found.set(slot.id, vector);
  }
  return found;
}

/** Vectors by row id, from small chunks; row ids without one are absent. */
export function getShadowRows(
  index: Index,
  layout: ShadowLayout,
  rowids: readonly number[],
): Map<number, Float32Array> {
  const bytes = layout.dimensions * 4;
  const rows = index.db
    .query<{ id: number; e: Uint8Array }, [string, number]>(
      `SELECT r.rowid AS id, substr(v.vectors, r.chunk_offset * ?2 + 1, ?2) AS e
       FROM json_each(?1) j CROSS JOIN vectors_vec_rowids r ON r.rowid = j.value
       CROSS JOIN vectors_vec_vector_chunks00 v ON v._rowid_ = r.chunk_id`,
    )
    .all(JSON.stringify(rowids), bytes);
  return new Map(rows.map((row) => [row.id, bytesToVector(row.e)]));
}

function readChunk(index: Index, chunk: number): Float32Array {
  const row = index.db
    .query<{ vectors: Uint8Array }, [number]>("SELECT vectors FROM vectors_vec_vector_chunks00 WHERE _rowid_ = ?")
    .get(chunk);
  return bytesToVector(row?.vectors ?? new Uint8Array());
}

/** Every vector with its row id, a few megabytes at a time, so that a long scan can be interrupted. */
export function* shadowPages(index: Index, layout: ShadowLayout): Generator<{ id: number; vector: Float32Array }[]> {
  const query = index.db.query<
    { id: number; validity: Uint8Array; rowids: Uint8Array; vectors: Uint8Array },
    [number, number]
  >(
    `SELECT c.chunk_id AS id, c.validity, c.rowids, v.vectors
     FROM vectors_vec_chunks c CROSS JOIN vectors_vec_vector_chunks00 v ON v._rowid_ = c.chunk_id
     WHERE c.chunk_id > ? ORDER BY c.chunk_id LIMIT ?`,
  );
  const perPage = Math.max(1, Math.floor(PAGE_ROWS / layout.chunkSize));
  for (let after = -1; ;) {
    const chunks = query.all(after, perPage);
    if (chunks.length === 0) return;
    yield chunks.flatMap((chunk) => vectorsOfChunk(chunk, layout.dimensions));
    after = chunks.at(-1)?.id ?? after;
  }
}

function vectorsOfChunk(
  chunk: { validity: Uint8Array; rowids: Uint8Array; vectors: Uint8Array },
  dimensions: number,
): { id: number; vector: Float32Array }[] {
  const vectors = bytesToVector(chunk.vectors);
  const rowids = new DataView(chunk.rowids.buffer, chunk.rowids.byteOffset, chunk.rowids.byteLength);
  const slots = Math.min(chunk.validity.length * 8, Math.floor(vectors.length / dimensions), chunk.rowids.length / 8);
  const found: { id: number; vector: Float32Array }[] = [];
  for (let slot = 0; slot < slots; slot++) {
    if (((chunk.validity[slot >> 3] ?? 0) & (1 << (slot & 7))) === 0) continue;
    const id = Number(rowids.getBigInt64(slot * 8, true));
    found.push({ id, vector: vectors.subarray(slot * dimensions, (slot + 1) * dimensions) });
  }
  return found;
}

/** The key of a vector by its row id, or null. */
export function shadowKey(index: Index, rowid: number): string | null {
  return (
    index.db.query<{ id: string }, [number]>("SELECT id FROM vectors_vec_rowids WHERE rowid = ?").get(rowid)?.id ?? null
  );
}

import { MemqError } from "../errors.ts";
import { readMeta, writeMeta } from "./meta.ts";
import { inTransaction } from "./open.ts";
import { loadVec } from "./vec-extension.ts";
import {
  deletePacked,
  getPacked,
  getPackedRows,
  packedDimensions,
  packedPages,
  putPacked,
  scanPacked,
} from "./vector-packed.ts";
import {
  getManyShadow,
  getShadow,
  getShadowRows,
  isShadowEmpty,
  shadowKey,
  type ShadowLayout,
  shadowLayout,
  shadowPages,
} from "./vector-shadow.ts";
import { createVec0, deleteVec0, dropVec0, getVec0, MAX_DIMENSIONS, putVec0 } from "./vector-vec0.ts";
import type { Index } from "./types.ts";

/** Chunks up to this size are read whole for one vector; from larger ones the extension, if there, reads a single vector faster. */
const SMALL_CHUNK = 64;

/** Key of the number of times that rows were given out anew. */
const ROWS = "vectors.rows";

/*
 * The vectors that searches use, whichever form they are in: `vectors_vec` where sqlite-vec loads and takes their length, else rows
 * of `memq_vectors`, which come before what `vectors_vec` may still hold for the same key.
 */

/** Length of the stored vectors, null when there are none. */
export function vectorDimensions(index: Index): number | null {
  return (
    packedDimensions(index, "memq_vectors") ?? (isShadowEmpty(index) ? null : (shadowLayout(index)?.dimensions ?? null))
  );
}

/** Throws `VECTOR_DIMENSIONS` when a vector of this length does not fit those stored. */
export function checkDimensions(index: Index, length: number): void {
  const stored = vectorDimensions(index);
  if (stored === null || stored === length) return;
  throw new MemqError(
    "VECTOR_DIMENSIONS",
    `Embedding dimension mismatch: existing vectors are ${stored}d but the current model produces ${length}d.`,
    {
      hint: "Run 'embed -f', or 'memory index --force' for an agent's memory, to embed everything again with the new model.",
    },
  );
}

function isForVec0(index: Index, dimensions: number): boolean {
  return dimensions <= MAX_DIMENSIONS && loadVec(index) === "vec0";
}

/** Stores a vector under its key; the caller is in a transaction and has checked its length. */
export function putVector(index: Index, vectorKey: string, vector: Float32Array): void {
  if (!isForVec0(index, vector.length)) return putPacked(index, "memq_vectors", vectorKey, vector);
  if (shadowLayout(index)?.dimensions !== vector.length) {
    if (isShadowEmpty(index)) {
      renewRows(index);
      dropVec0(index);
    }
    createVec0(index, vector.length);
  }
  putVec0(index, vectorKey, vector);
  deletePacked(index, "memq_vectors", vectorKey);
}

/** Deletes a vector; without the extension one that stands in `vectors_vec` stays there, for `cleanup` elsewhere to find. */
export function deleteVector(index: Index, vectorKey: string): void {
  deletePacked(index, "memq_vectors", vectorKey);
  if (shadowLayout(index) !== null && loadVec(index) === "vec0") deleteVec0(index, vectorKey);
}

/** Vectors by key; keys without one are absent. */
export function getVectors(index: Index, keys: readonly string[]): Map<string, Float32Array> {
  const found = getPacked(index, "memq_vectors", keys);
  const layout = shadowLayout(index);
  const rest = found.size === 0 ? keys : keys.filter((key) => !found.has(key));
  if (layout === null || rest.length === 0) return found;
  for (const [key, vector] of readShadow(index, layout, rest)) found.set(key, vector);
  return found;
}

/** Single vectors from large chunks are the one thing that the extension reads faster. */
function readShadow(index: Index, layout: ShadowLayout, keys: readonly string[]): Map<string, Float32Array> {
  if (layout.chunkSize <= SMALL_CHUNK) return getShadow(index, layout, keys);
  if (loadVec(index) === "packed") return getManyShadow(index, layout, keys);
  const found = new Map<string, Float32Array>();
  for (const key of keys) {
    const vector = getVec0(index, key);
    if (vector !== null) found.set(key, vector);
  }
  return found;
}

/**
 * Vectors by row of the form they are in, for those who remember rows: a row of `vectors_vec` as its row id, one of
 * `memq_vectors` as the negative of its id. Rows that are gone are absent.
 */
export function getVectorRows(index: Index, rows: readonly number[]): Map<number, Float32Array> {
  const found = new Map<number, Float32Array>();
  const packed = rows.filter((row) => row < 0).map((row) => -row);
  if (packed.length > 0)
    for (const [id, vector] of getPackedRows(index, "memq_vectors", packed)) found.set(-id, vector);
  const shadow = rows.filter((row) => row > 0).sort((a, b) => a - b);
  const layout = shadow.length > 0 ? shadowLayout(index) : null;
  if (layout === null) return found;
  if (layout.chunkSize <= SMALL_CHUNK) {
    for (const [id, vector] of getShadowRows(index, layout, shadow)) found.set(id, vector);
    return found;
  }
  const keys = new Map(shadow.map((row) => [shadowKey(index, row) ?? "", row]));
  for (const [key, vector] of getVectors(index, [...keys.keys()])) found.set(keys.get(key) ?? 0, vector);
  return found;
}

/** Every stored vector with its row as `getVectorRows` takes it, a page at a time; of two under one key the newer. */
export function* vectorPages(index: Index): Generator<{ row: number; vector: Float32Array }[]> {
  for (const page of packedPages(index, "memq_vectors")) yield page.map(({ id, vector }) => ({ row: -id, vector }));
  const layout = shadowLayout(index);
  if (layout === null) return;
  const superseded = new Set(
    index.db
      .query("SELECT r.rowid FROM memq_vectors v CROSS JOIN vectors_vec_rowids r ON r.id = v.vector_key")
      .values()
      .map((row) => Number(row[0])),
  );
  for (const page of shadowPages(index, layout)) {
    yield page.filter(({ id }) => !superseded.has(id)).map(({ id, vector }) => ({ row: id, vector }));
  }
}

/** The rows of all vectors that were stored after the newest of these rows. */
export function vectorRowsSince(index: Index, newest: NewestRows): number[] {
  const ids = (sql: string, after: number): number[] =>
    index.db
      .query(sql)
      .values(after)
      .map((row) => Number(row[0]));
  const packed = ids("SELECT id FROM memq_vectors WHERE id > ? ORDER BY id", newest.packed).map((id) => -id);
  if (shadowLayout(index) === null) return packed;
  return [...packed, ...ids("SELECT rowid FROM vectors_vec_rowids WHERE rowid > ? ORDER BY rowid", newest.shadow)];
}

/** The rows in which the vectors of these keys stand; none for keys without a vector, the newer of two. */
export function rowsOfKeys(index: Index, keys: readonly string[]): number[] {
  const rows = new Map<string, number>();
  const find = (sql: string): void => {
    for (const row of index.db.query<{ key: string; row: number }, [string]>(sql).all(JSON.stringify(keys)))
      rows.set(row.key, row.row);
  };
  if (shadowLayout(index) !== null) {
    find("SELECT r.id AS key, r.rowid AS row FROM json_each(?) j CROSS JOIN vectors_vec_rowids r ON r.id = j.value");
  }
  find(
    "SELECT v.vector_key AS key, -v.id AS row FROM json_each(?) j CROSS JOIN memq_vectors v ON v.vector_key = j.value",
  );
  return [...rows.values()];
}

/** The highest row ids in use; row ids are never used twice. */
export type NewestRows = { packed: number; shadow: number };

/** Reads the highest row ids of both forms; 0 where there are none. */
export function newestRows(index: Index): NewestRows {
  const highest = (sql: string): number => index.db.query<{ id: number | null }, []>(sql).get()?.id ?? 0;
  return {
    packed: highest("SELECT max(id) AS id FROM memq_vectors"),
    shadow: shadowLayout(index) === null ? 0 : highest("SELECT max(rowid) AS id FROM vectors_vec_rowids"),
  };
}

/** The passages that vectors belong to, by row; several where texts are the same. */
export function passagesOfRows(index: Index, rows: readonly number[]): PassageOfRow[] {
  const select = "SELECT p.id AS passageId, p.document_id AS documentId, d.collection, p.vector_key AS vectorKey";
  const found = (sign: number, source: string): PassageOfRow[] =>
    index.db
      .query<PassageOfRow, [string]>(
        `${select}, ${sign} * j.value AS row FROM json_each(?) j ${source}
         CROSS JOIN memq_passages p ON p.vector_key = v.key CROSS JOIN documents d ON d.id = p.document_id WHERE d.active = 1`,
      )
      .all(JSON.stringify(rows.filter((row) => row * sign > 0).map(Math.abs)));
  const packed = found(-1, "CROSS JOIN (SELECT id, vector_key AS key FROM memq_vectors) v ON v.id = j.value");
  if (shadowLayout(index) === null) return packed;
  return [
    ...packed,
    ...found(1, "CROSS JOIN (SELECT rowid AS id, id AS key FROM vectors_vec_rowids) v ON v.id = j.value"),
  ];
}

export type PassageOfRow = {
  passageId: number;
  documentId: number;
  collection: string;
  vectorKey: string;
  row: number;
};

/** Moves vectors that were stored without the extension into `vectors_vec`, so that each stands once. */
export function absorbPacked(index: Index): void {
  const dimensions = packedDimensions(index, "memq_vectors");
  if (dimensions === null || !isForVec0(index, dimensions)) return;
  renewRows(index);
  const layout = shadowLayout(index);
  if (layout !== null && layout.dimensions !== dimensions) dropVec0(index);
  createVec0(index, dimensions);
  for (const { vectorKey, vector } of scanPacked(index, "memq_vectors")) putVec0(index, vectorKey, vector);
  index.db.run("DELETE FROM memq_vectors");
}

/**
 * Makes a `vectors_vec` of large chunks, as qmd creates it, anew with small ones, from which single vectors are read thirty
 * times as fast; says whether there was need. To qmd it is the same table.
 */
export function compactVectors(index: Index): boolean {
  const layout = shadowLayout(index);
  if (layout === null || layout.chunkSize <= SMALL_CHUNK || loadVec(index) === "packed") return false;
  inTransaction(index, () => {
    const superseding = index.db.query("SELECT 1 FROM memq_vectors WHERE vector_key = ?");
    for (const page of shadowPages(index, layout)) {
      for (const { id, vector } of page) {
        const key = shadowKey(index, id);
        if (key !== null && superseding.get(key) === null) putPacked(index, "memq_vectors", key, vector);
      }
    }
    dropVec0(index);
    absorbPacked(index);
  });
  return true;
}

/** Says that rows which a living process may remember no longer stand for the same vectors. */
function renewRows(index: Index): void {
  writeMeta(index, ROWS, String(Number(readMeta(index, ROWS) ?? 0) + 1));
}

/** Changes when remembered rows have lost their meaning. */
export function rowGeneration(index: Index): string {
  return readMeta(index, ROWS) ?? "0";
}

/** Drops every vector. Without the extension `vectors_vec` can't be dropped, so its ordinary tables are emptied. */
export function clearVectorTable(index: Index): void {
  renewRows(index);
  index.db.run("DELETE FROM memq_vectors");
  if (shadowLayout(index) === null) return;
  if (loadVec(index) === "vec0") return dropVec0(index);
  for (const table of ["rowids", "chunks", "vector_chunks00"]) index.db.run(`DELETE FROM vectors_vec_${table}`);
}

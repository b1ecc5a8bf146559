import { writeCachedVectors } from "./cache.ts";
import {
  cacheSpace,
  nextIdentity,
  ofServingIdentity,
  sameIdentity,
  servingIdentity,
  writeNext,
  writeServing,
} from "./identity.ts";
import { inTransaction } from "./open.ts";
import { sqlText } from "./schema.ts";
import { deletePacked, getPacked, packedDimensions, putPacked, scanPacked } from "./vector-packed.ts";
import { shadowLayout } from "./vector-shadow.ts";
import {
  absorbPacked,
  checkDimensions,
  clearVectorTable,
  deleteVector,
  getVectors,
  putVector,
  vectorDimensions,
} from "./vector-table.ts";
import type { Index, MissingVector, VectorIdentity, VectorToStore } from "./types.ts";

/** Whether vectors of this identity belong among those that searches use, and not beside them until they are complete. */
function isServing(index: Index, identity: VectorIdentity): boolean {
  const serving = servingIdentity(index);
  return serving === null || sameIdentity(serving, identity);
}

/**
 * Passages without a vector of this identity, in order of their id; `afterId` continues a list. Passages that share one
 * vector (the same text twice) are all listed, with the same `vectorKey`.
 */
export function missingVectors(
  index: Index,
  identity: VectorIdentity,
  options: { limit?: number; afterId?: number; collections?: readonly string[] } = {},
): MissingVector[] {
  const { limit = -1, afterId = 0, collections } = options;
  const chosen = collections === undefined ? "" : "AND d.collection IN (SELECT value FROM json_each(?3))";
  const values: (string | number)[] = [afterId, limit];
  if (collections !== undefined) values.push(JSON.stringify(collections));
  return index.db
    .query<MissingVector, (string | number)[]>(
      `SELECT p.id AS passageId, p.document_id AS documentId, p.seq, p.pos, p.length, p.text_hash AS textHash,
         p.vector_key AS vectorKey, d.hash AS documentHash
       FROM memq_passages p JOIN documents d ON d.id = p.document_id
       WHERE d.active = 1 AND p.id > ?1 ${chosen} AND NOT ${hasVector(index, identity)} ORDER BY p.id LIMIT ?2`,
    )
    .all(...values);
}

/**
 * Number of passages without a vector of this identity (null: of passages at all), and of the documents that they belong to; two with the
 * same content are one.
 */
export function missingVectorCounts(
  index: Index,
  identity: VectorIdentity | null,
  collections?: readonly string[],
): { passages: number; documents: number } {
  const lacking = identity === null ? "" : `AND NOT ${hasVector(index, identity)}`;
  const chosen = collections === undefined ? "" : "AND d.collection IN (SELECT value FROM json_each(?))";
  const row = index.db
    .query<{ passages: number | null; documents: number }, string[]>(
      `SELECT sum(n) AS passages, count(*) AS documents FROM
         (SELECT count(*) AS n FROM memq_passages p JOIN documents d ON d.id = p.document_id
          WHERE d.active = 1 ${chosen} ${lacking} GROUP BY d.hash)`,
    )
    .get(...(collections === undefined ? [] : [JSON.stringify(collections)]));
  return { passages: row?.passages ?? 0, documents: row?.documents ?? 0 };
}

/** Whether any vector is booked or waits to be swapped in. */
export function hasVectors(index: Index): boolean {
  return (
    index.db
      .query("SELECT 1 WHERE EXISTS (SELECT 1 FROM content_vectors) OR EXISTS (SELECT 1 FROM memq_next_vectors)")
      .get() !== null
  );
}

/** Length of the vectors that are there of this identity, serving or waiting to be swapped in; null when there are none. */
export function storedDimensions(index: Index, identity: VectorIdentity): number | null {
  if (isServing(index, identity)) return vectorDimensions(index);
  const next = nextIdentity(index);
  return next !== null && sameIdentity(next, identity) ? packedDimensions(index, "memq_next_vectors") : null;
}

/** SQL: whether passage `p` has its vector. qmd books a vector before it stores it, so both are asked for. */
function hasVector(index: Index, identity: VectorIdentity): string {
  if (!isServing(index, identity)) {
    const next = nextIdentity(index);
    return next !== null && sameIdentity(next, identity)
      ? "EXISTS (SELECT 1 FROM memq_next_vectors v WHERE v.vector_key = p.vector_key)"
      : "(0)";
  }
  const inVec0 =
    shadowLayout(index) === null ? "" : "OR EXISTS (SELECT 1 FROM vectors_vec_rowids v WHERE v.id = p.vector_key)";
  return `(EXISTS (SELECT 1 FROM content_vectors c WHERE c.hash = substr(p.vector_key, 1, instr(p.vector_key, '_') - 1)
      AND c.seq = CAST(substr(p.vector_key, instr(p.vector_key, '_') + 1) AS INTEGER)
      AND c.model = ${sqlText(identity.model)} AND c.embed_fingerprint = ${sqlText(identity.fingerprint)})
    AND (EXISTS (SELECT 1 FROM memq_vectors v WHERE v.vector_key = p.vector_key) ${inVec0}))`;
}

/**
 * Stores new vectors in one transaction. When others of another identity serve, these wait beside them until
 * `swapVectors`. A vector whose passage is gone meanwhile goes to the embedding cache.
 * Throws `VECTOR_DIMENSIONS` when lengths differ from what serves or from one another.
 */
export function putVectors(index: Index, identity: VectorIdentity, vectors: readonly VectorToStore[]): void {
  if (vectors.length === 0) return;
  inTransaction(index, () => {
    const serving = isServing(index, identity);
    if (serving) {
      if (servingIdentity(index)?.provider !== identity.provider) writeServing(index, identity);
      absorbPacked(index);
    } else {
      stage(index, identity, vectors[0]?.vector.length ?? 0);
    }
    const unwanted = new Map<string, Float32Array>();
    for (const { vectorKey, textHash, vector } of vectors) {
      const place = placeOf(index, vectorKey);
      if (place === null) {
        unwanted.set(textHash, vector);
      } else if (serving) {
        checkDimensions(index, vector.length);
        book(index, identity, vectorKey, place);
        putVector(index, vectorKey, vector);
      } else {
        putPacked(index, "memq_next_vectors", vectorKey, vector);
      }
    }
    writeCachedVectors(index, cacheSpace(identity), unwanted);
  });
}

/** Begins collecting vectors of an identity, dropping what was collected for another, or by a model that was exchanged since. */
function stage(index: Index, identity: VectorIdentity, length: number): void {
  const next = nextIdentity(index);
  const isSame = next !== null && sameIdentity(next, identity);
  if (isSame && (packedDimensions(index, "memq_next_vectors") ?? length) === length) return;
  if (next !== null && !isSame) cacheStaged(index, next);
  index.db.run("DELETE FROM memq_next_vectors");
  writeNext(index, identity);
}

/** Vectors that were paid for are kept, even when nobody waits for them any more. */
function cacheStaged(index: Index, identity: VectorIdentity): void {
  const hashOf = textHashes(index);
  const vectors = new Map<string, Float32Array>();
  for (const { vectorKey, vector } of scanPacked(index, "memq_next_vectors")) {
    const hash = hashOf(vectorKey);
    if (hash !== null) vectors.set(hash, vector);
  }
  writeCachedVectors(index, cacheSpace(identity), vectors);
}

function textHashes(index: Index): (vectorKey: string) => string | null {
  const query = index.db.query<{ h: string }, [string]>(
    "SELECT text_hash AS h FROM memq_passages WHERE vector_key = ? LIMIT 1",
  );
  return (vectorKey) => query.get(vectorKey)?.h ?? null;
}

type Place = { pos: number; total: number };

/** What qmd's books say of a vector: its place in the document it belongs to, or null when no passage refers to it. */
function placeOf(index: Index, vectorKey: string): Place | null {
  const row = index.db
    .query<{ pos: number; documentId: number; hash: string }, [string]>(
      `SELECT p.pos, p.document_id AS documentId, d.hash FROM memq_passages p JOIN documents d ON d.id = p.document_id
       WHERE p.vector_key = ? LIMIT 1`,
    )
    .get(vectorKey);
  if (row === null) return null;
  if (!vectorKey.startsWith(`${row.hash}_`)) return { pos: 0, total: 1 };
  const total = index.db
    .query<{ n: number }, [number]>("SELECT count(*) AS n FROM memq_passages WHERE document_id = ?")
    .get(row.documentId)?.n;
  return { pos: row.pos, total: total ?? 1 };
}

function splitKey(vectorKey: string): [hash: string, seq: number] {
  const at = vectorKey.lastIndexOf("_");
  return [vectorKey.slice(0, at), Number(vectorKey.slice(at + 1))];
}

function book(index: Index, identity: VectorIdentity, vectorKey: string, place: Place): void {
  const [hash, seq] = splitKey(vectorKey);
  index.db
    .query(
      `INSERT OR REPLACE INTO content_vectors(hash, seq, pos, model, embed_fingerprint, total_chunks, embedded_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(hash, seq, place.pos, identity.model, identity.fingerprint, place.total, new Date().toISOString());
}

/**
 * Makes the vectors of a new identity the ones that searches use, in one transaction, once each passage has one, but for
 * `without` passages that can have none; says whether it did. The old ones go to the embedding cache.
 */
export function swapVectors(index: Index, identity: VectorIdentity, without = 0): boolean {
  return inTransaction(index, () => {
    const next = nextIdentity(index);
    if (next === null || !sameIdentity(next, identity) || missingVectorCounts(index, identity).passages > without)
      return false;
    cacheServing(index);
    clearVectorTable(index);
    index.db.run("DELETE FROM content_vectors");
    for (const { vectorKey, vector } of scanPacked(index, "memq_next_vectors")) {
      const place = placeOf(index, vectorKey);
      if (place === null) continue;
      book(index, identity, vectorKey, place);
      putVector(index, vectorKey, vector);
    }
    index.db.run("DELETE FROM memq_next_vectors");
    writeServing(index, identity);
    writeNext(index, null);
    return true;
  });
}

/** Puts the vectors that serve into the cache of their own identity, so that going back costs nothing. */
function cacheServing(index: Index): void {
  const serving = servingIdentity(index);
  if (serving === null) return;
  const keys = index.db
    .query<{ vectorKey: string; hash: string }, []>(
      "SELECT vector_key AS vectorKey, text_hash AS hash FROM memq_passages GROUP BY vector_key",
    )
    .all();
  const batch = 1000;
  for (let start = 0; start < keys.length; start += batch) {
    const part = ofServingIdentity(index, keys.slice(start, start + batch));
    const vectors = getVectors(
      index,
      part.map(({ vectorKey }) => vectorKey),
    );
    const byHash = new Map<string, Float32Array>();
    for (const { vectorKey, hash } of part) {
      const vector = vectors.get(vectorKey);
      if (vector !== undefined) byHash.set(hash, vector);
    }
    writeCachedVectors(index, cacheSpace(serving), byHash);
  }
}

/**
 * Deletes those of these vectors (key → text hash) that no passage refers to any more, keeping them in the embedding cache.
 * Costs nothing for keys without a vector.
 */
export function releaseVectors(index: Index, keys: ReadonlyMap<string, string>): void {
  const { db } = index;
  const referred = db.query("SELECT 1 FROM memq_passages WHERE vector_key = ? LIMIT 1");
  const booked = db.query("SELECT 1 FROM content_vectors WHERE hash = ? AND seq = ?");
  const staged = db.query("SELECT 1 FROM memq_next_vectors WHERE vector_key = ?");
  const next = nextIdentity(index);
  const nextVectors = new Map<string, Float32Array>();
  const free = new Map<string, string>();
  for (const [key, hash] of keys) {
    if (referred.get(key) !== null) continue;
    if (booked.get(...splitKey(key)) !== null) free.set(key, hash);
    if (next === null || staged.get(key) === null) continue;
    const vector = getPacked(index, "memq_next_vectors", [key]).get(key);
    if (vector !== undefined) nextVectors.set(hash, vector);
    deletePacked(index, "memq_next_vectors", key);
  }
  if (next !== null) writeCachedVectors(index, cacheSpace(next), nextVectors);
  if (free.size === 0) return;
  const serving = servingIdentity(index);
  const cached = new Map<string, Float32Array>();
  const own = ofServingIdentity(
    index,
    [...free.keys()].map((vectorKey) => ({ vectorKey })),
  ).map(({ vectorKey }) => vectorKey);
  for (const [key, vector] of getVectors(index, own)) cached.set(free.get(key) ?? "", vector);
  if (serving !== null) writeCachedVectors(index, cacheSpace(serving), cached);
  for (const key of free.keys()) {
    deleteVector(index, key);
    db.query("DELETE FROM content_vectors WHERE hash = ? AND seq = ?").run(...splitKey(key));
  }
}

/** Deletes the vectors that another program made of contents which no document has any more. */
export function removeContentVectors(index: Index, hashes: readonly string[]): void {
  const used = index.db.query("SELECT 1 FROM documents WHERE hash = ? AND active = 1 LIMIT 1");
  const booked = index.db.query<{ seq: number }, [string]>("SELECT seq FROM content_vectors WHERE hash = ?");
  for (const hash of hashes) {
    const rows = booked.all(hash);
    if (rows.length === 0 || used.get(hash) !== null) continue;
    for (const { seq } of rows) deleteVector(index, `${hash}_${seq}`);
    index.db.query("DELETE FROM content_vectors WHERE hash = ?").run(hash);
  }
}

/** Forgets vectors, so that everything (or what only these collections hold) is embedded anew; the cache is left as it is. */
export function clearVectors(index: Index, options: { collections?: readonly string[] } = {}): void {
  inTransaction(index, () => {
    if (options.collections === undefined) {
      clearVectorTable(index);
      index.db.run("DELETE FROM content_vectors; DELETE FROM memq_next_vectors");
      writeServing(index, null);
      writeNext(index, null);
      return;
    }
    const keys = index.db
      .query<{ key: string }, [string]>(
        `SELECT p.vector_key AS key FROM memq_passages p JOIN documents d ON d.id = p.document_id GROUP BY p.vector_key
         HAVING sum(d.collection NOT IN (SELECT value FROM json_each(?))) = 0`,
      )
      .all(JSON.stringify(options.collections));
    for (const { key } of keys) {
      deleteVector(index, key);
      deletePacked(index, "memq_next_vectors", key);
      index.db.query("DELETE FROM content_vectors WHERE hash = ? AND seq = ?").run(...splitKey(key));
    }
  });
}

import { shadowLayout, scanShadow, shadowKey } from "./vector-shadow.ts";
import { isPackedEmpty, scanPacked } from "./vector-packed.ts";
import { getVectors, vectorDimensions } from "./vector-table.ts";
import { loadVec } from "./vec-extension.ts";
import { MAX_K, nearestVec0 } from "./vector-vec0.ts";
import type { Index, Scope, VectorCandidate } from "./types.ts";

/** Up to this many passages in scope, reading each vector is faster than scanning all. */
const SMALL_SCOPE = 2000;

/** More than asked for, so that equal cosines at the end are cut by passage id and not by chance. */
const SLACK = 32;

/** How many candidates of one-bit codes are scored exactly for each row wanted, and at least. */
const RESCORED = { perRow: 4, atLeast: 300 };

type Candidate = { passageId: number; documentId: number; vectorKey: string };

/**
 * The passages in `scope` whose vectors are nearest to `query` by cosine, best first, equal ones by passage id. Exact, unless
 * the index keeps codes (`keepVectorCodes`), which then choose whose vectors are scored. Empty when there are no vectors of
 * the query's length, or the query is all zero.
 */
export function nearestPassages(
  index: Index,
  query: Float32Array,
  options: Scope & { limit: number },
): VectorCandidate[] {
  const { limit, collections, documentIds } = options;
  if (limit <= 0 || collections.length === 0 || documentIds?.length === 0 || norm(query) === 0) return [];
  if (vectorDimensions(index) !== query.length) return [];
  return scored(index, query, candidates(index, query, options), limit);
}

/** Cosines of chosen passages with the query; passages without a vector are absent. */
export function cosinesOf(index: Index, query: Float32Array, passageIds: readonly number[]): Map<number, number> {
  if (vectorDimensions(index) !== query.length) return new Map();
  const rows = index.db
    .query<Candidate, [string]>(
      `SELECT id AS passageId, document_id AS documentId, vector_key AS vectorKey FROM memq_passages
       WHERE id IN (SELECT value FROM json_each(?))`,
    )
    .all(JSON.stringify(passageIds));
  return new Map(scored(index, query, rows, rows.length).map((row) => [row.passageId, row.cosine]));
}

function candidates(index: Index, query: Float32Array, options: Scope & { limit: number }): Candidate[] {
  const wanted = options.limit + SLACK;
  const few = inScope(index, options, SMALL_SCOPE + 1);
  if (few.length <= SMALL_SCOPE) return few;
  if (index.codes !== null) {
    return index.codes.closest(query, options, Math.max(RESCORED.atLeast, options.limit * RESCORED.perRow));
  }
  const ranked = isPackedEmpty(index, "memq_vectors") && loadVec(index) === "vec0" ? rankedByVec0 : rankedByScan;
  return ranked(index, query, options, wanted);
}

/** Passages in scope, at most `limit` of them. */
function inScope(index: Index, scope: Scope, limit: number): Candidate[] {
  const select = "SELECT p.id AS passageId, p.document_id AS documentId, p.vector_key AS vectorKey";
  const chosen = scope.documentIds === undefined ? "" : "AND d.id IN (SELECT value FROM json_each(?3))";
  const query = index.db.query<Candidate, (string | number)[]>(
    `${select} FROM documents d JOIN memq_passages p ON p.document_id = d.id
     WHERE d.active = 1 AND d.collection IN (SELECT value FROM json_each(?1)) ${chosen} LIMIT ?2`,
  );
  const values = [JSON.stringify(scope.collections), limit];
  return scope.documentIds === undefined
    ? query.all(...values)
    : query.all(...values, JSON.stringify(scope.documentIds));
}

/** Finds the passages in scope that a vector key belongs to. */
export function passagesByVectorKey(index: Index, scope: Scope): (vectorKey: string) => Candidate[] {
  const collections = new Set(scope.collections);
  const documents = scope.documentIds === undefined ? null : new Set(scope.documentIds);
  const query = index.db.query<Candidate & { collection: string }, [string]>(
    `SELECT p.id AS passageId, p.document_id AS documentId, p.vector_key AS vectorKey, d.collection
     FROM memq_passages p JOIN documents d ON d.id = p.document_id WHERE p.vector_key = ? AND d.active = 1`,
  );
  return (vectorKey) =>
    query
      .all(vectorKey)
      .filter((row) => collections.has(row.collection) && (documents === null || documents.has(row.documentId)));
}

/** sqlite-vec's ranking, asked for more until enough of it lies in scope, at last among the keys in scope alone. */
function rankedByVec0(index: Index, query: Float32Array, scope: Scope, wanted: number): Candidate[] {
  const passagesOf = passagesByVectorKey(index, scope);
  for (let k = Math.min(wanted, MAX_K); ; k = Math.min(k * 8, MAX_K)) {
    const keys = nearestVec0(index, query, k);
    const found = keys.flatMap(passagesOf);
    if (found.length >= wanted || keys.length < k) return found;
    if (k === MAX_K) break;
  }
  const all = inScope(index, scope, -1).map((row) => row.vectorKey);
  return nearestVec0(index, query, wanted, all).flatMap(passagesOf);
}

/** Scores every stored vector in process, then walks down the ranking until enough of it lies in scope. */
function rankedByScan(index: Index, query: Float32Array, scope: Scope, wanted: number): Candidate[] {
  const scores: number[] = [];
  const keys: (string | number)[] = [];
  scanPacked(index, "memq_vectors", 0, (_, key, vector) => {
    scores.push(cosine(query, vector));
    keys.push(key);
  });
  const layout = shadowLayout(index);
  if (layout !== null) {
    const superseded = new Set(keys);
    const fresh = superseded.size === 0;
    scanShadow(index, layout, (rowid, vector) => {
      if (!fresh && superseded.has(shadowKey(index, rowid) ?? "")) return;
      scores.push(cosine(query, vector));
      keys.push(rowid);
    });
  }
  const passagesOf = passagesByVectorKey(index, scope);
  const found: Candidate[] = [];
  for (const i of descending(Float64Array.from(scores))) {
    const key = keys[i];
    const vectorKey = typeof key === "number" ? shadowKey(index, key) : key;
    if (vectorKey != null) found.push(...passagesOf(vectorKey));
    if (found.length >= wanted) break;
  }
  return found;
}

/** Positions of scores from the highest down, sorted in growing portions since seldom more than the first is needed. */
export function* descending(scores: Float64Array): Generator<number> {
  const sorted = scores.slice().sort();
  let above = Infinity;
  for (let portion = 512; above > -Infinity; portion *= 8) {
    const from = portion >= sorted.length ? -Infinity : (sorted[sorted.length - portion] ?? -Infinity);
    const part: number[] = [];
    for (let i = 0; i < scores.length; i++) if (scores[i]! >= from && scores[i]! < above) part.push(i);
    yield* part.sort((a, b) => scores[b]! - scores[a]! || a - b);
    above = from;
  }
}

function scored(index: Index, query: Float32Array, rows: readonly Candidate[], limit: number): VectorCandidate[] {
  const vectors = getVectors(index, [...new Set(rows.map((row) => row.vectorKey))]);
  const result: VectorCandidate[] = [];
  for (const row of rows) {
    const vector = vectors.get(row.vectorKey);
    if (vector !== undefined) result.push({ ...row, cosine: cosine(query, vector) });
  }
  return result.sort((a, b) => b.cosine - a.cosine || a.passageId - b.passageId).slice(0, limit);
}

/** Cosine of two vectors of one length, 0 when either is all zero. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let dot = 0;
  let aa = 0;
  let bb = 0;
  for (let i = 0; i < a.length; i++) {
    const x = a[i]!;
    const y = b[i]!;
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  return aa === 0 || bb === 0 ? 0 : dot / Math.sqrt(aa * bb);
}

function norm(vector: Float32Array): number {
  return vector.reduce((sum, x) => sum + x * x, 0);
}

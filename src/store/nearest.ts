import { ofServingIdentity } from "./identity.ts";
import { cosine, descending, lengthOf } from "./ranking.ts";
import { isPackedEmpty } from "./vector-packed.ts";
import { getVectors, passagesOfRows, rowsOfKeys, vectorDimensions, vectorPages } from "./vector-table.ts";
import { loadVec } from "./vec-extension.ts";
import { MAX_K, nearestVec0 } from "./vector-vec0.ts";
import type { Index, Scope, VectorCandidate } from "./types.ts";

/** Up to this many passages in scope, reading each vector is as fast as scanning all. */
const SMALL_SCOPE = 2000;

/** More than asked for, so that equal cosines at the end are cut by passage id and not by chance. */
const SLACK = 32;

/** How many candidates of one-bit codes are scored exactly: at least this many, and so many beyond those wanted. */
const RESCORED = { atLeast: 200, beyond: 40 };

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
  if (limit <= 0 || collections.length === 0 || documentIds?.length === 0 || lengthOf(query) === 0) return [];
  if (vectorDimensions(index) !== query.length) return [];
  return best(ofServingIdentity(index, candidates(index, query, options)), limit);
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
  return new Map(ofServingIdentity(index, scored(index, query, rows)).map((row) => [row.passageId, row.cosine]));
}

function candidates(index: Index, query: Float32Array, options: Scope & { limit: number }): VectorCandidate[] {
  const { codes } = index;
  const rescored = Math.max(RESCORED.atLeast, options.limit + RESCORED.beyond);
  const small = codes === null ? SMALL_SCOPE : rescored;
  const few = inScope(index, options, small + 1);
  if (few.length <= small) return scored(index, query, few);
  if (codes !== null) return codes.closest(query, options, rescored);
  const ranked = isPackedEmpty(index, "memq_vectors") && loadVec(index) === "vec0" ? rankedByVec0 : rankedByScan;
  return scored(index, query, ranked(index, query, options, options.limit + SLACK));
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

/** Whether a passage lies in scope. */
function insideOf(scope: Scope): (row: { documentId: number; collection: string }) => boolean {
  const collections = new Set(scope.collections);
  const documents = scope.documentIds === undefined ? null : new Set(scope.documentIds);
  return (row) => collections.has(row.collection) && (documents === null || documents.has(row.documentId));
}

/** sqlite-vec's ranking, asked for more until enough of it lies in scope, at last among the keys in scope alone. */
function rankedByVec0(index: Index, query: Float32Array, scope: Scope, wanted: number): Candidate[] {
  const isInside = insideOf(scope);
  const passages = (keys: string[]): Candidate[] => passagesOfRows(index, rowsOfKeys(index, keys)).filter(isInside);
  for (let k = Math.min(wanted, MAX_K); ; k = Math.min(k * 8, MAX_K)) {
    const keys = nearestVec0(index, query, k);
    const found = passages(keys);
    if (found.length >= wanted || keys.length < k) return found;
    if (k === MAX_K) break;
  }
  const all = inScope(index, scope, -1).map((row) => row.vectorKey);
  return passages(nearestVec0(index, query, wanted, all));
}

/** Scores every stored vector in process, then walks down the ranking until enough of it lies in scope. */
function rankedByScan(index: Index, query: Float32Array, scope: Scope, wanted: number): Candidate[] {
  const scores: number[] = [];
  const rows: number[] = [];
  for (const page of vectorPages(index)) {
    for (const { row, vector } of page) {
      scores.push(cosine(query, vector));
      rows.push(row);
    }
  }
  const isInside = insideOf(scope);
  const found: Candidate[] = [];
  let portion: number[] = [];
  for (const i of descending(Float64Array.from(scores))) {
    portion.push(rows[i]!);
    if (portion.length < wanted) continue;
    found.push(...passagesOfRows(index, portion).filter(isInside));
    if (found.length >= wanted) return found;
    portion = [];
  }
  return [...found, ...passagesOfRows(index, portion).filter(isInside)];
}

function scored(index: Index, query: Float32Array, rows: readonly Candidate[]): VectorCandidate[] {
  const vectors = getVectors(index, [...new Set(rows.map((row) => row.vectorKey))]);
  const result: VectorCandidate[] = [];
  for (const row of rows) {
    const vector = vectors.get(row.vectorKey);
    if (vector !== undefined) result.push({ ...row, cosine: cosine(query, vector) });
  }
  return result;
}

function best(rows: VectorCandidate[], limit: number): VectorCandidate[] {
  return rows.sort((a, b) => b.cosine - a.cosine || a.passageId - b.passageId).slice(0, limit);
}

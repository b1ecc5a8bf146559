import { corpusStats, lastPassageId } from "./corpus-stats.ts";
import { readMeta, writeMeta } from "./meta.ts";
import type { Index } from "./types.ts";

/**
 * What the index keeps of terms that stand in very many passages, so that a search need not walk their lists:
 *
 * * `memq_common_terms`: how many passages hold the term, exact at all times.
 * * `memq_common_counts`: whether each passage holds it, one bit, and how often, four bits. One row has `CHUNK_PASSAGES` ids, the
 *   rows of one term follow each other. Number 0 are the lengths of bodies, one byte a passage.
 *
 * `memq_meta` says what they were last right for. Whoever changes passages without keeping them up (an older version, a clean-up by
 * SQL) changes the number of passages or the highest id, which is never used twice: then they count as absent until they are built again.
 */
const STATE_KEY = "common_terms";

/** Passage ids of a row: two rows of counts fill a page of 4 KB. */
export const CHUNK_PASSAGES = 3200;
/** Row ids of a term: its number times this, plus the chunk. */
const CHUNKS = 2 ** 20;

/** What the tables were last right for, how many passages there were when they were built, and how many were removed since. */
export type CommonState = { passages: number; last: number; built: number; removed: number };

/** The state of the tables, or null when there are none or they don't fit the passages. */
export function commonState(index: Index): CommonState | null {
  const stored = readMeta(index, STATE_KEY);
  if (stored === null) return null;
  const state = JSON.parse(stored) as CommonState;
  return state.passages === corpusStats(index).passages && state.last === lastPassageId(index) ? state : null;
}

/** Null: the tables stand for nothing from now on. */
export function writeCommonState(index: Index, state: CommonState | null): void {
  writeMeta(index, STATE_KEY, state && JSON.stringify(state));
}

/** Whether tables were built, right or not. */
export function hasCommonState(index: Index): boolean {
  return readMeta(index, STATE_KEY) !== null;
}

/** A term of the tables: the number of its counts, and how many passages hold it. */
export type CommonTerm = { number: number; passages: number };

/** Those of the terms that the tables have. */
export function commonTerms(index: Index, terms: readonly string[]): Map<string, CommonTerm> {
  if (terms.length === 0 || commonState(index) === null) return new Map();
  const rows = index.db
    .query<[], [string]>(
      "SELECT c.term, c.number, c.passages FROM json_each(?) asked CROSS JOIN memq_common_terms c ON c.term = asked.value",
    )
    .values(JSON.stringify(terms)) as [string, number, number][];
  return new Map(rows.map(([term, number, passages]) => [term, { number, passages }]));
}

/** The row that holds a passage's count of a term; number 0: its length. */
export function countsRow(number: number, passageId: number): number {
  return number * CHUNKS + Math.floor(passageId / CHUNK_PASSAGES);
}

/** A row: bits of 32 passages to a number that say which of them hold the term, then counts of eight to a number; the first lowest. */
export const BIT_WORDS = CHUNK_PASSAGES / 32;
const BIT_BYTES = CHUNK_PASSAGES / 8;
export const ROW_BYTES = BIT_BYTES + CHUNK_PASSAGES / 2;
/** Counts end here: four bits hold no more. */
export const MOST_COUNTED = 15;

/** Notes in a row, which begins at `offset`, that a passage that has no count yet holds the term `count` times. */
export function addCount(rows: Uint8Array, offset: number, passageId: number, count: number): void {
  const place = passageId % CHUNK_PASSAGES;
  rows[offset + (place >>> 3)]! |= 1 << (place & 7);
  rows[offset + BIT_BYTES + (place >>> 1)]! |= count << (4 * (place & 1));
}

/**
 * Counts and lengths of the passages from the id `first` on. `counts` has the row of each term that was asked for, `lengths` are codes:
 * see `lengthOfCode`.
 */
export type CountChunk = { first: number; lengths: Uint8Array; counts: Int32Array[] };

const NONE = new Int32Array(ROW_BYTES / 4);

/** The counts of terms, given by their numbers, in all passages. */
export function commonCounts(index: Index, numbers: readonly number[]): CountChunk[] {
  const rows = index.db
    .query<[], [string]>(
      `SELECT c.id, c.counts FROM json_each(?) asked CROSS JOIN memq_common_counts c
       ON c.id BETWEEN asked.value * ${CHUNKS} AND asked.value * ${CHUNKS} + ${CHUNKS - 1}`,
    )
    .values(JSON.stringify([0, ...numbers])) as [number, Uint8Array][];
  const chunks = new Map<number, CountChunk>();
  const places = new Map(numbers.map((number, place) => [number, place]));
  for (const [id, bytes] of rows) {
    const chunk = id % CHUNKS;
    const place = places.get((id - chunk) / CHUNKS);
    // Lengths come first: where no passage has one, there is none.
    if (place === undefined)
      chunks.set(chunk, { first: chunk * CHUNK_PASSAGES, lengths: bytes, counts: numbers.map(() => NONE) });
    else chunks.get(chunk)!.counts[place] = new Int32Array(bytes.buffer, bytes.byteOffset, ROW_BYTES / 4);
  }
  return [...chunks.values()];
}

/** Code of a passage that is gone: no length has it. */
export const GONE = 255;
/** Codes of a length and its double are so far apart. */
const CODES_PER_DOUBLING = 16;

/** A number of tokens in one byte, to the nearest of steps of 4.4 %: it only decides which passages are looked at closely. */
export function codeOfLength(tokens: number): number {
  return Math.min(GONE - 1, Math.round(CODES_PER_DOUBLING * Math.log2(tokens + 1)));
}

export function lengthOfCode(code: number): number {
  return code === GONE ? Infinity : 2 ** (code / CODES_PER_DOUBLING) - 1;
}

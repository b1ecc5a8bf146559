import { type CodeMemory, codeMemory, WORDS_MULTIPLE } from "./code-memory.ts";
import { readMeta, changeStamp } from "./meta.ts";
import { lastPassageId } from "./passages.ts";
import { cosine, descending, lengthOf } from "./ranking.ts";
import { innerProducts, lowest, OUTSIDE, writeCode } from "./vector-bits.ts";
import { isPackedEmpty } from "./vector-packed.ts";
import {
  getVectorRows,
  getVectors,
  newestRows,
  type PassageOfRow,
  passagesOfRows,
  rowGeneration,
  rowsOfKeys,
  vectorDimensions,
  vectorPages,
  vectorRowsSince,
} from "./vector-table.ts";
import type { Index, Scope, VectorCandidate, VectorCodes } from "./types.ts";

/*
 * A process that stays alive keeps one bit of each dimension of each vector: whether it lies above the mean of all. The
 * number of bits in which two codes differ ranks 100,000 vectors in milliseconds; the best of them are ranked again by the
 * query's own numbers against their bits, and the best of those are what the caller scores exactly.
 */

/** Candidates by differing bits for each that is asked for: the second ranking is sharper, and cheap. */
const FIRST_PASS = 8;

/** Vectors that the mean is taken from. */
const SAMPLE = 1000;

/** Entries added between two looks at what else the process has to do. */
const SLICE = 500;

/** More changes than this, or a quarter of all, and the table is made anew: a scan reads a vector faster than a look-up. */
const MUCH = 5000;

/**
 * Lets `nearestPassages` use codes of this index from now on: built at the first search, or by `warm` in slices of a few
 * milliseconds, and brought up to date when the index has changed.
 */
export function keepVectorCodes(index: Index): VectorCodes {
  let stamp = "";
  let table: CodeTable | null = null;
  let work: Generator<void> | null = null;
  const begin = (): void => {
    const now = changeStamp(index);
    const dimensions = vectorDimensions(index);
    if (dimensions === null || now === stamp) return;
    table = currentTable(index, table, dimensions);
    work = addEntries(index, table);
    stamp = now;
  };
  const inSlices = async (): Promise<void> => {
    while (work?.next().done === false) await new Promise((resolve) => setImmediate(resolve));
    work = null;
  };
  const codes: VectorCodes = {
    closest(query, scope, count) {
      while (work?.next().done === false);
      begin();
      while (work?.next().done === false);
      work = null;
      return table === null || table.dimensions !== query.length ? [] : closest(index, table, query, scope, count);
    },
    async warm() {
      // What was begun is finished first: a table that is half built can't be told from one that is up to date.
      await inSlices();
      begin();
      await inSlices();
    },
  };
  index.codes = codes;
  return codes;
}

/** One entry per passage that has a vector; arrays grow by doubling, `length` entries of them are in use. */
type CodeTable = {
  generation: string;
  dimensions: number;
  /** How long a code is. */
  words: number;
  /** What bits are told by. */
  mean: Float32Array;
  length: number;
  memory: CodeMemory;
  passageIds: Float64Array;
  documentIds: Float64Array;
  /** As `getVectorRows` takes them. */
  rows: Float64Array;
  collections: Uint16Array;
  collectionNames: string[];
  newest: { passage: number; packed: number; shadow: number };
};

/** What no row id tells: that all vectors were replaced, moved from one form to the other, or passages changed hands. */
function generationOf(index: Index): string {
  return JSON.stringify([
    readMeta(index, "vectors.serving"),
    readMeta(index, "collections.renamed"),
    rowGeneration(index),
    vectorDimensions(index),
    isPackedEmpty(index, "memq_vectors"),
  ]);
}

/** The table to go on with: the old one unless it is of another generation, or more changed than is worth adding. */
function currentTable(index: Index, old: CodeTable | null, dimensions: number): CodeTable {
  const generation = generationOf(index);
  if (old?.generation === generation) {
    const newest = newestRows(index);
    const added = newest.packed - old.newest.packed + newest.shadow - old.newest.shadow;
    const passages = lastPassageId(index) - old.newest.passage;
    if (added + passages <= Math.max(MUCH, old.length / 4)) return old;
  }
  return emptyTable(generation, dimensions, meanVector(index, dimensions));
}

function emptyTable(generation: string, dimensions: number, mean: Float32Array): CodeTable {
  // What is longer than the vector stays 0.
  const words = Math.ceil(dimensions / 32 / WORDS_MULTIPLE) * WORDS_MULTIPLE;
  const memory = codeMemory(words);
  memory.reserve(1024);
  return {
    generation,
    dimensions,
    words,
    mean,
    length: 0,
    memory,
    passageIds: new Float64Array(1024),
    documentIds: new Float64Array(1024),
    rows: new Float64Array(1024),
    collections: new Uint16Array(1024),
    collectionNames: [],
    newest: { passage: 0, packed: 0, shadow: 0 },
  };
}

/** The mean of a sample of vectors, each brought to length 1. */
function meanVector(index: Index, dimensions: number): Float32Array {
  const keys = index.db
    .query<{ key: string }, [number]>(
      `SELECT vector_key AS key FROM memq_passages WHERE id % max(1, (SELECT max(id) FROM memq_passages) / ?1) = 0 LIMIT ?1`,
    )
    .all(SAMPLE)
    .map((row) => row.key);
  const mean = new Float32Array(dimensions);
  const vectors = [...getVectors(index, keys).values()];
  for (const vector of vectors) {
    const scale = 1 / (lengthOf(vector) * vectors.length || 1);
    for (let i = 0; i < dimensions; i++) mean[i]! += vector[i]! * scale;
  }
  return mean;
}

/**
 * Adds what came since: vectors stored since for passages of any age, and passages written since whose vector was there
 * before. Entries of passages that went are left for `closest` to find. What is written between two slices waits for the next time,
 * which would otherwise add it once more.
 */
function* addEntries(index: Index, table: CodeTable): Generator<void> {
  const newest = { ...newestRows(index), passage: lastPassageId(index) };
  const isKnown = (row: number): boolean => (row < 0 ? -row <= newest.packed : row <= newest.shadow);
  if (table.length === 0) {
    for (const page of vectorPages(index)) {
      const known = page.filter(({ row }) => isKnown(row));
      addPage(index, table, new Map(known.map(({ row, vector }) => [row, vector])), newest.passage);
      yield;
    }
  } else {
    const rows = vectorRowsSince(index, table.newest).filter(isKnown);
    for (let start = 0; start < rows.length; start += SLICE) {
      addPage(index, table, getVectorRows(index, rows.slice(start, start + SLICE)), newest.passage);
      yield;
    }
    const added = new Set(rows);
    yield* addPassages(index, table, newest.passage, (row) => isKnown(row) && !added.has(row));
  }
  table.newest = newest;
}

function addPage(
  index: Index,
  table: CodeTable,
  vectors: ReadonlyMap<number, Float32Array>,
  newestPassage: number,
): void {
  for (const entry of passagesOfRows(index, [...vectors.keys()])) {
    const vector = vectors.get(entry.row);
    if (vector !== undefined && entry.passageId <= newestPassage) addEntry(table, entry, vector);
  }
}

/** Adds passages written since, up to the newest, whose vectors stand in rows that `isOlder` knows: new rows bring theirs along. */
function* addPassages(
  index: Index,
  table: CodeTable,
  newestPassage: number,
  isOlder: (row: number) => boolean,
): Generator<void> {
  const keys = index.db
    .query("SELECT DISTINCT vector_key FROM memq_passages WHERE id > ? AND id <= ?")
    .values(table.newest.passage, newestPassage)
    .map((row) => String(row[0]));
  for (let start = 0; start < keys.length; start += SLICE) {
    const rows = rowsOfKeys(index, keys.slice(start, start + SLICE)).filter(isOlder);
    const vectors = getVectorRows(index, rows);
    for (const entry of passagesOfRows(index, rows)) {
      const vector = vectors.get(entry.row);
      const isNew = entry.passageId > table.newest.passage && entry.passageId <= newestPassage;
      if (vector !== undefined && isNew) addEntry(table, entry, vector);
    }
    yield;
  }
}

function addEntry(table: CodeTable, entry: PassageOfRow, vector: Float32Array): void {
  if (vector.length !== table.dimensions) return;
  if (table.length === table.passageIds.length) grow(table);
  const at = table.length++;
  table.passageIds[at] = entry.passageId;
  table.documentIds[at] = entry.documentId;
  table.rows[at] = entry.row;
  let collection = table.collectionNames.indexOf(entry.collection);
  if (collection < 0) collection = table.collectionNames.push(entry.collection) - 1;
  table.collections[at] = collection;
  writeCode(vector, table.mean, table.memory.codes, at * table.words);
}

function grow(table: CodeTable): void {
  const capacity = table.passageIds.length * 2;
  const larger = <T extends { set(from: T): void }>(fresh: T, from: T): T => {
    fresh.set(from);
    return fresh;
  };
  table.memory.reserve(capacity);
  table.passageIds = larger(new Float64Array(capacity), table.passageIds);
  table.documentIds = larger(new Float64Array(capacity), table.documentIds);
  table.rows = larger(new Float64Array(capacity), table.rows);
  table.collections = larger(new Uint16Array(capacity), table.collections);
}

function closest(index: Index, table: CodeTable, query: Float32Array, scope: Scope, count: number): VectorCandidate[] {
  for (;;) {
    const entries = ranked(table, query, scope, count);
    const found = scored(index, table, query, entries);
    if (found.length >= entries.length * 0.9) return found;
    const before = table.length;
    removeGone(index, table);
    if (table.length === before) return found;
  }
}

/** Exact cosines of entries, without those whose passage or vector is gone. */
function scored(index: Index, table: CodeTable, query: Float32Array, entries: readonly number[]): VectorCandidate[] {
  const rowOf = new Map<number, number>();
  for (const entry of entries) {
    const id = table.passageIds[entry]!;
    rowOf.set(id, newerRow(table.rows[entry]!, rowOf.get(id)));
  }
  const passages = index.db
    .query<Omit<VectorCandidate, "cosine">, [string]>(
      `SELECT p.id AS passageId, p.document_id AS documentId, p.vector_key AS vectorKey
       FROM json_each(?) j CROSS JOIN memq_passages p ON p.id = j.value
       CROSS JOIN documents d ON d.id = p.document_id WHERE d.active = 1`,
    )
    .all(JSON.stringify([...rowOf.keys()]));
  const vectors = getVectorRows(index, [...new Set(rowOf.values())]);
  const found: VectorCandidate[] = [];
  for (const passage of passages) {
    const vector = vectors.get(rowOf.get(passage.passageId) ?? 0);
    if (vector !== undefined) found.push({ ...passage, cosine: cosine(query, vector) });
  }
  return found;
}

/** Of two rows under one key the newer: a packed one (negative) stands before one of `vectors_vec`, then the higher row id. */
function newerRow(a: number, b: number | undefined): number {
  if (b === undefined) return a;
  return a < 0 || b < 0 ? Math.min(a, b) : Math.max(a, b);
}

/** Drops entries of passages that are gone, and older entries of those that got another vector. */
function removeGone(index: Index, table: CodeTable): void {
  const ids = new Set(
    index.db
      .query("SELECT id FROM memq_passages")
      .values()
      .map((row) => Number(row[0])),
  );
  const lastEntry = new Map<number, number>();
  for (let at = 0; at < table.length; at++) {
    const id = table.passageIds[at]!;
    if (ids.has(id)) lastEntry.set(id, at);
  }
  const { codes } = table.memory;
  let kept = 0;
  for (let at = 0; at < table.length; at++) {
    if (lastEntry.get(table.passageIds[at]!) !== at) continue;
    table.passageIds[kept] = table.passageIds[at]!;
    table.documentIds[kept] = table.documentIds[at]!;
    table.rows[kept] = table.rows[at]!;
    table.collections[kept] = table.collections[at]!;
    codes.copyWithin(kept * table.words, at * table.words, (at + 1) * table.words);
    kept++;
  }
  codes.fill(0, kept * table.words, table.length * table.words);
  table.length = kept;
}

/** Entries in scope by their codes, best first: by differing bits, then the best of those by the query's own numbers. */
function ranked(table: CodeTable, query: Float32Array, scope: Scope, count: number): number[] {
  const code = new Int32Array(table.words);
  writeCode(query, table.mean, code, 0);
  const distances = table.memory.differingBits(code, table.length);
  leaveOut(table, scope, distances);
  const first = lowest(distances, table.length, count * FIRST_PASS);
  const products = innerProducts({ codes: table.memory.codes, words: table.words }, table.mean, query, first);
  const best: number[] = [];
  for (const i of descending(products)) {
    best.push(first[i]!);
    if (best.length >= count) break;
  }
  return best;
}

function leaveOut(table: CodeTable, scope: Scope, distances: Uint16Array): void {
  const inside = table.collectionNames.map((name) => scope.collections.includes(name));
  const documents = scope.documentIds === undefined ? null : new Set(scope.documentIds);
  if (documents === null && inside.every(Boolean)) return;
  for (let at = 0; at < table.length; at++) {
    if (!inside[table.collections[at]!] || documents?.has(table.documentIds[at]!) === false) distances[at] = OUTSIDE;
  }
}

import { isOutgrown } from "./common-changes.ts";
import {
  addCount,
  CHUNK_PASSAGES,
  codeOfLength,
  commonState,
  countsRow,
  hasCommonState,
  ROW_BYTES,
  writeCommonState,
} from "./common-terms.ts";
import { corpusStats, lastPassageId } from "./corpus-stats.ts";
import { inTransaction } from "./open.ts";
import { commonestTerms, TermCounter } from "./term-counter.ts";
import type { Index } from "./types.ts";

/** Fewer passages than this are counted as fast without. */
const FEWEST_PASSAGES = 2000;
/** A term that more than a tenth of the passages hold gets counts: a search asks for those of an eighth, and may grow into them. */
const SHARE = 1 / 10;
const MOST_TERMS = 256;
/** Passages that choose the terms. */
const SAMPLE = 1000;
/** Passages that are read at a time. */
const SLICE = 500;

/** Whether the tables of common terms are missing, outgrown or no use any more. */
export function areCommonTermsDue(index: Index): boolean {
  const state = commonState(index);
  if (corpusStats(index).passages < FEWEST_PASSAGES) return hasCommonState(index);
  return state === null || isOutgrown(state);
}

/**
 * Builds the tables of common terms, a slice of passages to a step; one transaction at the end replaces the old ones. Given up
 * silently when another connection writes passages meanwhile. An index that has become small loses them.
 */
export function* buildCommonTerms(index: Index, fewest = FEWEST_PASSAGES): Generator<void> {
  const { passages } = corpusStats(index);
  if (passages < fewest) {
    inTransaction(index, () => clear(index));
    return;
  }
  const last = lastPassageId(index);
  const terms = commonestTerms(sampleOf(index, passages), SHARE, MOST_TERMS);
  yield;
  const { chunks, held } = yield* countsOf(index, terms);
  inTransaction(index, () => {
    if (corpusStats(index).passages !== passages || lastPassageId(index) !== last) return;
    clear(index);
    const addTerm = index.db.query("INSERT INTO memq_common_terms(term, number, passages) VALUES (?, ?, ?)");
    for (const [nth, term] of terms.entries()) addTerm.run(term, nth + 1, held[nth]!);
    const addRow = index.db.query("INSERT INTO memq_common_counts(id, counts) VALUES (?, ?)");
    for (const [row, { lengths }] of chunks) addRow.run(row, lengths);
    // In the order of the table: each page is written once and full.
    for (const term of terms.keys())
      for (const [row, { counts }] of chunks)
        addRow.run(countsRow(term + 1, 0) + row, counts.subarray(term * ROW_BYTES, (term + 1) * ROW_BYTES));
    writeCommonState(index, { passages, last, built: passages, removed: 0 });
  });
}

function clear({ db }: Index): void {
  db.run("DELETE FROM memq_common_terms");
  db.run("DELETE FROM memq_common_counts");
  db.run("DELETE FROM memq_meta WHERE key = 'common_terms'");
}

/** Tokens of passages from everywhere in the index. */
function sampleOf({ db }: Index, passages: number): string[] {
  // The smallest table that has a row for each.
  const ids = db.query("SELECT id FROM memq_fts_docsize ORDER BY id").values().flat() as number[];
  const step = Math.max(1, passages / SAMPLE);
  const chosen = Array.from({ length: Math.min(SAMPLE, ids.length) }, (_, nth) => ids[Math.floor(nth * step)]!);
  const tokens = db.query("SELECT c0 || ' ' || c1 FROM memq_fts_content WHERE id IN (SELECT value FROM json_each(?))");
  return tokens.values(JSON.stringify(chosen)).flat() as string[];
}

/** Counts of the terms and lengths of `CHUNK_PASSAGES` passages: rows of the table, one behind the other, that of lengths first. */
type Chunk = { lengths: Uint8Array; counts: Uint8Array };

/** Chunks by the row of their lengths, and how many passages hold each term. */
type Counts = { chunks: Map<number, Chunk>; held: Int32Array };

function* countsOf({ db }: Index, terms: readonly string[]): Generator<void, Counts> {
  const counter = new TermCounter(terms);
  const counts: Counts = { chunks: new Map(), held: new Int32Array(terms.length) };
  const slice = db.query("SELECT id, c0, c1 FROM memq_fts_content WHERE id > ? ORDER BY id LIMIT ?");
  for (let last = 0; ; yield) {
    const read = slice.values(last, SLICE) as [number, string, string][];
    countSlice(read, counter, counts);
    if (read.length < SLICE) return counts;
    last = read.at(-1)![0];
  }
}

/** A function of its own: what stands in a generator is not compiled as well. */
function countSlice(read: [number, string, string][], counter: TermCounter, { chunks, held }: Counts): void {
  for (const [id, body, name] of read) {
    const chunk = chunkOf(id, chunks, held.length);
    counter.reset();
    chunk.lengths[id % CHUNK_PASSAGES] = codeOfLength(counter.count(body));
    counter.count(name);
    const { found, counts } = counter;
    for (let nth = 0; nth < counter.held; nth++) {
      const term = found[nth]!;
      held[term]!++;
      addCount(chunk.counts, term * ROW_BYTES, id, counts[term]!);
    }
  }
}

function chunkOf(passageId: number, chunks: Map<number, Chunk>, terms: number): Chunk {
  const row = countsRow(0, passageId);
  let chunk = chunks.get(row);
  if (chunk === undefined) {
    chunk = { lengths: new Uint8Array(CHUNK_PASSAGES), counts: new Uint8Array(terms * ROW_BYTES) };
    chunks.set(row, chunk);
  }
  return chunk;
}

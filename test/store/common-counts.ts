import { expect } from "bun:test";
import {
  BIT_WORDS,
  CHUNK_PASSAGES,
  codeOfLength,
  commonCounts,
  commonState,
  commonTerms,
  GONE,
} from "../../src/store/common-terms.ts";
import type { Index } from "../../src/store/types.ts";

/** Holds what the index keeps of common terms, if it counts, against its passages and FTS5's vocabulary. */
export function expectExactCounts(index: Index): void {
  if (commonState(index) === null) return;
  const stored = index.db.query("SELECT term FROM memq_common_terms ORDER BY number").values().flat() as string[];
  const kept = commonTerms(index, stored);
  const vocabulary = new Map(index.db.query("SELECT term, doc FROM memq_terms").values() as [string, number][]);
  expect([...kept].map(([term, { passages }]) => [term, passages])).toEqual(
    [...kept.keys()].map((term) => [term, vocabulary.get(term) ?? 0]),
  );
  const numbers = [...kept.values()].map(({ number }) => number);
  const chunks = new Map(commonCounts(index, numbers).map((chunk) => [chunk.first, chunk]));
  const rows = index.db.query("SELECT id, c0, c1 FROM memq_fts_content").values() as [number, string, string][];
  const seen = new Set<number>();
  for (const [id, body, name] of rows) {
    const { first, lengths, counts } = chunks.get(id - (id % CHUNK_PASSAGES))!;
    const place = id - first;
    seen.add(id);
    const [bodyTokens, nameTokens] = [body, name].map((text) => text.split(" ").filter((token) => token !== ""));
    expect(lengths[place]).toBe(codeOfLength(bodyTokens!.length));
    const tokens = [...bodyTokens!, ...nameTokens!];
    const wanted = [...kept.keys()].map((term) => Math.min(15, tokens.filter((token) => token === term).length));
    const bits = counts.map((row) => (row[place >>> 5]! >>> (place & 31)) & 1);
    const four = counts.map((row) => (row[BIT_WORDS + (place >>> 3)]! >>> (4 * (place & 7))) & 15);
    expect(four).toEqual(wanted);
    expect(bits).toEqual(wanted.map((count) => Math.min(1, count)));
  }
  // A passage that is gone has no length, so that its counts are worth nothing.
  for (const { first, lengths } of chunks.values())
    for (const [place, code] of lengths.entries()) if (!seen.has(first + place)) expect([0, GONE]).toContain(code);
}

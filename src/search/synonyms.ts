import { readFileSync } from "node:fs";
import type { QueryTerm } from "./query.ts";
import tablePath from "./synonyms.txt" with { type: "file" };

/** A term that may mean what the query's term at `place` means; `likeness` is how far, below 1. */
export type Synonym = { term: string; place: number; likeness: number };

/** A longer query says enough by itself. */
const MAX_TERMS = 32;

let table: Buffer | undefined;

/**
 * Synonyms of a query's words that are not among its terms, from WordNet (Fellbaum 1998): likeness is the square root of the chance that
 * two words mean the same, by how often each was met in each of its senses. English only; `scripts/synonyms.ts` makes the table.
 */
export function synonymsOf(terms: readonly QueryTerm[]): Synonym[] {
  if (terms.length > MAX_TERMS) return [];
  const known = new Set(terms.map(({ term }) => term));
  const synonyms: Synonym[] = [];
  for (const [place, { term, kind, part }] of terms.entries()) {
    if (kind !== "word" || part || !/^[a-z]{3,}$/.test(term)) continue;
    for (const entry of entriesOf(term)) {
      const other = entry.slice(0, -1);
      if (!known.has(other)) synonyms.push({ term: other, place, likeness: Number(entry.at(-1)) / 10 });
    }
  }
  return synonyms;
}

const LINE_FEED = 0x0a;

/** The entries of a word's line: a synonym and a digit, tenths. The table is halved as it stands: a query asks for few words. */
function entriesOf(word: string): string[] {
  table ??= readFileSync(tablePath);
  let low = 0;
  let high = table.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const start = middle === 0 ? 0 : table.lastIndexOf(LINE_FEED, middle - 1) + 1;
    const end = table.indexOf(LINE_FEED, middle);
    const line = table.toString("latin1", start, end);
    const blank = line.indexOf(" ");
    const found = line.slice(0, blank);
    if (found === word) return line.slice(blank + 1).split(" ");
    if (found < word) low = end + 1;
    else high = start;
  }
  return [];
}

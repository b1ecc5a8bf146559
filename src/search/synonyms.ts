import { readFileSync } from "node:fs";
import type { QueryTerm } from "./query.ts";
import { SYNONYM_TABLES } from "./synonym-tables.ts";

/** A term that may mean what the query's term at `place` means; `likeness` is how far, below 1. */
export type Synonym = { term: string; place: number; likeness: number };

/** A longer query says enough by itself. */
const MAX_TERMS = 32;

/** Tables that were read, by first letter. */
const tables = new Map<string, string>();

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

/** The entries of a word's line: a synonym and a digit, tenths. The table is searched as it stands: a query asks for few words. */
function entriesOf(word: string): string[] {
  const letter = word.charAt(0);
  let table = tables.get(letter);
  if (table === undefined) tables.set(letter, (table = `\n${readFileSync(SYNONYM_TABLES[letter]!, "latin1")}`));
  const before = `\n${word} `;
  const at = table.indexOf(before);
  return at < 0 ? [] : table.slice(at + before.length, table.indexOf("\n", at + 1)).split(" ");
}

import { readFileSync } from "node:fs";
import type { QueryTerm } from "./query.ts";
import { SYNONYM_TABLES } from "./synonym-tables.ts";

/** A term that says something of what the query's term at `place` says; `likeness` is how far, below 1. */
export type Alike = { term: string; place: number; likeness: number };

/** Synonyms may mean the same; neighbours stand in the same contexts, as `guitar` does for `instrument`, and need not. */
export type AlikeTerms = { synonyms: Alike[]; neighbours: Alike[] };

/** Stands in the tables behind a neighbour. */
const NEIGHBOUR = "~";
/** A longer query says enough by itself. */
const MAX_TERMS = 32;

/** Tables that were read, by first letter. */
const tables = new Map<string, string>();

/**
 * What is like a query's words and not among its terms. Synonyms are WordNet's (Fellbaum 1998): likeness is the square root of the chance
 * that two words mean the same, by how often each was met in each of its senses. Neighbours are the words whose vectors (GloVe,
 * Pennington et al. 2014) are closest, each of its closest term alone: likeness is the cosine. English only; `scripts/synonyms.ts` makes
 * the tables.
 */
export function alikeTermsOf(terms: readonly QueryTerm[]): AlikeTerms {
  const synonyms: Alike[] = [];
  const neighbours = new Map<string, Alike>();
  if (terms.length > MAX_TERMS) return { synonyms, neighbours: [] };
  const known = new Set(terms.map(({ term }) => term));
  for (const [place, { term, kind, part }] of terms.entries()) {
    if (kind !== "word" || part || !/^[a-z]{3,}$/.test(term)) continue;
    for (const entry of entriesOf(term)) {
      const isNeighbour = entry.at(-2) === NEIGHBOUR;
      const other = entry.slice(0, isNeighbour ? -2 : -1);
      if (known.has(other)) continue;
      const alike = { term: other, place, likeness: Number(entry.at(-1)) / 10 };
      if (!isNeighbour) synonyms.push(alike);
      else if (alike.likeness > (neighbours.get(other)?.likeness ?? 0)) neighbours.set(other, alike);
    }
  }
  for (const { term } of synonyms) neighbours.delete(term);
  return { synonyms, neighbours: [...neighbours.values()] };
}

/**
 * The entries of a word's line: another word, a mark if it is a neighbour, and a digit, tenths. The table is searched as it stands: a
 * query asks for few words.
 */
function entriesOf(word: string): string[] {
  const letter = word.charAt(0);
  let table = tables.get(letter);
  if (table === undefined) tables.set(letter, (table = `\n${readFileSync(SYNONYM_TABLES[letter]!, "latin1")}`));
  const before = `\n${word} `;
  const at = table.indexOf(before);
  return at < 0 ? [] : table.slice(at + before.length, table.indexOf("\n", at + 1)).split(" ");
}

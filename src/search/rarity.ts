import { corpusStats } from "../store/corpus-stats.ts";
import { documentFrequencies, heldTerms } from "../store/keyword.ts";
import type { Index } from "../store/types.ts";
import type { ParsedQuery, QueryTerm } from "./query.ts";
import { type Alike, alikeTermsOf } from "./synonyms.ts";

/** Two notes must score as sensibly as many: below this, rarity says nothing. */
export const MIN_PASSAGES = 24;

/** How many passages hold each term of a query and each synonym, how many there are, the synonyms and neighbours that any holds. */
export type Rarity = {
  frequencies: Map<string, number>;
  passages: number;
  meanBody: number;
  synonyms: Alike[];
  neighbours: Alike[];
};

/** Looks up in the index how rare the terms of a query are, with what is like them. */
export function rarityOf(index: Index, parsed: ParsedQuery): Rarity {
  const { synonyms, neighbours } = alikeTermsOf(parsed.terms);
  const frequencies = documentFrequencies(
    index,
    [...parsed.terms, ...synonyms].map(({ term }) => term),
    parsed.held,
  );
  const held = synonyms.filter(({ term }) => frequencies.get(term)! > 0);
  const nearby = heldTerms(
    index,
    neighbours.map(({ term }) => term),
  );
  return {
    frequencies,
    ...corpusStats(index),
    synonyms: held,
    neighbours: neighbours.filter(({ term }) => nearby.has(term)),
  };
}

/** How many passages hold each term or, in part, what means the same: a word is not rare whose meaning is common. */
function frequenciesOfMeaning(parsed: ParsedQuery, { frequencies, passages, synonyms }: Rarity): Map<string, number> {
  const all = new Map(parsed.terms.map(({ term }) => [term, frequencies.get(term) ?? 0]));
  for (const { term, place, likeness } of synonyms) {
    const word = parsed.terms[place]!.term;
    all.set(word, Math.min(passages, all.get(word)! + likeness * frequencies.get(term)!));
  }
  return all;
}

/** Lucene's inverse document frequency of a term times its weight in the query. */
export function termWeights(parsed: ParsedQuery, rarity: Rarity): (term: QueryTerm) => number {
  const total = Math.max(rarity.passages, MIN_PASSAGES);
  const meant = frequenciesOfMeaning(parsed, rarity);
  return ({ term, weight }) => {
    const held = meant.get(term) ?? rarity.frequencies.get(term) ?? 0;
    return weight * Math.log(1 + (total - held + 0.5) / (held + 0.5));
  };
}

import { keywordCandidates } from "../store/keyword.ts";
import type { Index, KeywordCandidate, KeywordMatch, KeywordPhrase, Scope } from "../store/types.ts";
import { enough, type LegScope } from "./leg.ts";
import type { ParsedQuery, QueryTerm } from "./query.ts";
import type { Rarity } from "./rarity.ts";

/** A term in more than this share of the passages is common: finding by it means reading much of the index for little. */
const COMMON_SHARE = 1 / 8;

type CountedScope = Scope & { limit: number };

/**
 * What FTS5 finds, its best first. Where the rarer terms fill the pool, common ones only add to the score of what was found: what
 * holds common terms alone would rank below, and a list of half the index is what takes long. Where all terms are common, passages
 * that hold every one of them come first, if these fill the pool. A common part of an identifier that the index knows as a whole
 * never finds: every note may hold the `note` of `NOTE-4711`.
 */
export function candidatesOf(
  index: Index,
  parsed: ParsedQuery,
  match: KeywordMatch,
  { frequencies, passages, synonyms }: Rarity,
  scope: LegScope,
): KeywordCandidate[] {
  const frequencyOf = ({ term }: QueryTerm): number => frequencies.get(term) ?? 0;
  const isCommon = (term: QueryTerm): boolean => frequencyOf(term) > Math.max(scope.limit, passages * COMMON_SHARE);
  const phrases = (terms: QueryTerm[]): KeywordPhrase[] => terms.map(({ term }) => ({ tokens: [term] }));
  const find = (any: QueryTerm[], within: CountedScope): KeywordCandidate[] =>
    keywordCandidates(index, { ...match, any: phrases(any) }, within);
  const findAll = (all: QueryTerm[], within: CountedScope): KeywordCandidate[] =>
    keywordCandidates(index, { ...match, any: [], all: [...(match.all ?? []), ...phrases(all)] }, within);
  const known = parsed.terms.some((term) => term.identifier && !term.part && frequencyOf(term) > 0);
  const own = parsed.terms.filter((term) => term.finds && !(known && term.part && isCommon(term)));
  // No passage has the word: one that has a synonym is as near as it gets.
  const standIns = synonyms.filter(({ place }) => frequencyOf(parsed.terms[place]!) === 0);
  const finding = [...own, ...standIns.map(({ term, place }) => Object.assign({}, parsed.terms[place]!, { term }))];
  const common = finding.filter(isCommon);
  const rarer = finding.filter((term) => !isCommon(term) && frequencyOf(term) > 0);
  const few = (within: CountedScope): KeywordCandidate[] => {
    if (rarer.length > 0) return find(rarer, within);
    return common.length > 1 ? findAll(common, within) : [];
  };
  return enough(index, scope, (within) => {
    if (common.length === 0) return find(finding, within);
    const found = few(within);
    return found.length >= within.limit ? found : find(finding, within);
  });
}

/** Passages with a phrase that is preferred, not demanded: too many others may hold its words oftener. */
export function holdingPhrases(index: Index, parsed: ParsedQuery, scope: CountedScope): KeywordCandidate[] {
  if (parsed.demandPhrases || parsed.phrases.length === 0) return [];
  const any = parsed.phrases.map((tokens) => ({ tokens }));
  return keywordCandidates(index, { any }, scope);
}

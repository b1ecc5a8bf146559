import { commonCounts, commonTerms } from "../store/common-terms.ts";
import { keywordCandidates, passagesInScope } from "../store/keyword.ts";
import type { Index, KeywordCandidate, KeywordMatch, KeywordPhrase, Scope } from "../store/types.ts";
import { bestByCounts } from "./common-words.ts";
import { enough, type LegScope } from "./leg.ts";
import type { ParsedQuery, QueryTerm } from "./query.ts";
import { type Rarity, termWeights } from "./rarity.ts";

/** A term in more than this share of the passages is common: finding by it means reading much of the index for little. */
const COMMON_SHARE = 1 / 8;
/** Of what counts find, so many times as many are looked at where the first are out of scope. */
const MORE_COUNTED = 8;

type CountedScope = Scope & { limit: number };

/**
 * What can be the best, pre-ranked: FTS5 finds it, its best first. Where the rarer terms fill the pool, common ones only add to the
 * score of what was found: what holds common terms alone would rank below, and a list of half the index is what takes long. Else that
 * follows. Where all terms are common, passages that hold every one of them come first, if these fill the pool. What common terms find
 * is told by the counts that the index keeps of them, if it does. A common part of an identifier that the index knows as a whole never
 * finds: every note may hold the `note` of `NOTE-4711`.
 */
export function candidatesOf(
  index: Index,
  parsed: ParsedQuery,
  match: KeywordMatch,
  rarity: Rarity,
  scope: LegScope,
): KeywordCandidate[] {
  const { frequencies, passages, synonyms } = rarity;
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
  const isPlain = (match.all ?? []).length + (match.none ?? []).length === 0;
  const counted = isPlain && common.length > 0 ? countedTerms(index, common, termWeights(parsed, rarity)) : null;
  return enough(index, scope, (within) => {
    const { limit } = within;
    if (common.length === 0) return find(finding, within);
    const byCounts = (every: boolean, wanted = limit): KeywordCandidate[] | null =>
      counted && foundByCounts(index, counted, { every, meanBody: rarity.meanBody }, { ...within, limit: wanted });
    if (rarer.length > 0) {
      const found = find(rarer, within);
      if (found.length >= limit) return found;
      const others = byCounts(false, limit + found.length);
      return others === null ? find(finding, within) : together(found, others).slice(0, limit);
    }
    const all = common.length > 1 ? (byCounts(true) ?? findAll(common, within)) : [];
    return all.length >= limit ? all : (byCounts(false) ?? find(finding, within));
  });
}

/** What the index keeps of terms: the numbers of their counts, and what each weighs. */
type CountedTerms = { numbers: number[]; weights: number[] };

/** Null unless the index keeps counts of all of them. */
function countedTerms(index: Index, terms: QueryTerm[], weightOf: (term: QueryTerm) => number): CountedTerms | null {
  const distinct = new Map(terms.map((term) => [term.term, term]));
  const kept = commonTerms(index, [...distinct.keys()]);
  if (kept.size < distinct.size) return null;
  const numbers = [...distinct.keys()].map((term) => kept.get(term)!.number);
  return { numbers, weights: [...distinct.values()].map(weightOf) };
}

/** The best in scope that hold every or any of the terms; null when so many others are better that they can't be told. */
function foundByCounts(
  index: Index,
  { numbers, weights }: CountedTerms,
  wanted: { every: boolean; meanBody: number },
  scope: CountedScope,
): KeywordCandidate[] | null {
  const chunks = commonCounts(index, numbers);
  for (const limit of [scope.limit, scope.limit * MORE_COUNTED]) {
    const best = bestByCounts(chunks, weights, { ...wanted, limit });
    const documents = passagesInScope(
      index,
      best.map(({ passageId }) => passageId),
      scope,
    );
    const inScope = best.filter(({ passageId }) => documents.has(passageId)).slice(0, scope.limit);
    if (inScope.length === scope.limit || best.length < limit)
      return inScope.map(({ passageId, score }) => ({
        passageId,
        documentId: documents.get(passageId)!,
        rank: -score,
      }));
  }
  return null;
}

/** One after the other, each passage once. */
function together(first: readonly KeywordCandidate[], then: readonly KeywordCandidate[]): KeywordCandidate[] {
  const known = new Set(first.map(({ passageId }) => passageId));
  return [...first, ...then.filter(({ passageId }) => !known.has(passageId))];
}

/** Passages with a phrase that is preferred, not demanded: too many others may hold its words oftener. */
export function holdingPhrases(index: Index, parsed: ParsedQuery, scope: CountedScope): KeywordCandidate[] {
  if (parsed.demandPhrases || parsed.phrases.length === 0) return [];
  const any = parsed.phrases.map((tokens) => ({ tokens }));
  return keywordCandidates(index, { any }, scope);
}

import { documentFrequencies, type PassageTokens, tokensOf } from "../store/keyword.ts";
import type { Index, KeywordCandidate } from "../store/types.ts";
import { lengthNorm, saturated } from "./bm25.ts";
import { candidatesOf, holdingPhrases } from "./keyword-candidates.ts";
import type { LegScope } from "./leg.ts";
import { charactersBefore, endsOf, type PackedTexts, packedTexts, tokenPlaces } from "./packed.ts";
import type { ParsedQuery, QueryTerm } from "./query.ts";
import { MIN_PASSAGES, type Rarity, rarityOf, termWeights } from "./rarity.ts";
import { knownRunScorer, runScorer } from "./runs.ts";
import { turnReader } from "./turns.ts";

/** A passage with its BM25 score, positive and unbounded. */
export type KeywordHit = {
  passageId: number;
  documentId: number;
  bm25: number;
  /** Holds a quoted phrase, or a rare identifier or sole word of the query: no looser match may stand before it. */
  exact: boolean;
};

/** A word in the note's title or path counts as much as one in its text. */
const NAME_WEIGHT = 1;
/** Words of the query that stand within this many tokens belong together, and what that adds to the score. */
const WINDOW_TOKENS = 16;
const CLOSENESS = 0.4;
/** What a word that a conversation tells of a person the query names counts more. */
const TOLD = 0.7;
/** What a word that is like another counts of it, if both mean nothing else. */
const ALIKE = 0.3;
/** What every word counts in closeness besides its rarity: in a small home a person's name stands in each passage. */
const PRESENCE = 1;
/** A term is rare in at most this share of the passages (and one more). */
const RARE_SHARE = 1 / 500;
/** A query is a look-up of an identifier that weighs at least this share of what else it asks for; a long claim is none. */
const LOOKUP_SHARE = 0.5;
/** So many of FTS5's best are scored closely; what ranks below them hardly ever rises to the first ten. */
const SCORED = 100;
/** A query of more terms is searched by the rarest of them. */
const MAX_TERMS = 256;

/**
 * The passages in scope that hold words of the query, best first, at most `limit` and those with a quoted phrase or, beside a date, with words: FTS5 finds and
 * pre-ranks them, the best are scored by BM25 with Lucene's inverse document frequency `ln(1 + (N − n + 0.5) / (n + 0.5))`, which
 * is never zero, by closeness and by runs of characters. The rest keeps FTS5's BM25, below them.
 */
export function keywordLeg(index: Index, query: ParsedQuery, scope: LegScope): KeywordHit[] {
  const parsed = withFewTerms(index, query);
  if (parsed.match === null) return [];
  const rarity = rarityOf(index, parsed);
  const candidates = candidatesOf(index, parsed, parsed.match, rarity, scope);
  const closely = [
    ...candidates.slice(0, SCORED),
    // Of fewer all are here and are scored closely.
    ...(candidates.length >= Math.min(scope.limit, SCORED)
      ? undatedCandidates(index, parsed, rarity, scope).slice(0, SCORED)
      : []),
    ...holdingPhrases(index, parsed, { ...scope, limit: SCORED }),
  ];
  const documents = new Map(closely.map(({ passageId, documentId }) => [passageId, documentId]));
  const tokens = tokensOf(index, [...documents.keys()]);
  const texts = [...tokens.values()];
  const bodies = texts.map(({ body }) => body);
  const packed = packedTexts(bodies);
  const scores = scoresOf(parsed, rarity, texts, packed);
  const runs = runScorer(query, bodies, packed);
  const hits = new Map<number, KeywordHit>();
  let least = Infinity;
  for (const [place, passageId] of [...tokens.keys()].entries()) {
    const { bm25, exact } = scores[place]!;
    const hit = { passageId, documentId: documents.get(passageId)!, bm25: bm25 + runs(bodies[place]!), exact };
    hits.set(passageId, hit);
    least = Math.min(least, hit.bm25);
  }
  for (const { passageId, documentId, rank } of candidates.slice(SCORED)) {
    if (!hits.has(passageId))
      hits.set(passageId, { passageId, documentId, bm25: Math.min(least, -rank), exact: false });
  }
  return [...hits.values()].sort((a, b) => b.bm25 - a.bm25 || a.passageId - b.passageId);
}

/** What the words of a query with a date find by themselves: the notes of a month are many, and may hold none of them. */
function undatedCandidates(index: Index, parsed: ParsedQuery, rarity: Rarity, scope: LegScope): KeywordCandidate[] {
  const terms = parsed.terms.filter(({ alternative }) => alternative === undefined);
  const any = terms.filter(({ finds }) => finds).map(({ term }) => ({ tokens: [term] }));
  if (terms.length === parsed.terms.length || any.length === 0) return [];
  return candidatesOf(index, { ...parsed, terms }, { ...parsed.match, any }, rarity, scope);
}

/** BM25 of passages that another leg found; those that hold no word of the query are left out. */
export function scoreByKeyword(index: Index, query: ParsedQuery, passageIds: readonly number[]): Map<number, number> {
  const parsed = withFewTerms(index, query);
  const scores = new Map<number, number>();
  if (parsed.match === null || passageIds.length === 0) return scores;
  const tokens = tokensOf(index, passageIds);
  const texts = [...tokens.values()];
  const bodies = texts.map(({ body }) => body);
  const packed = packedTexts(bodies);
  const found = scoresOf(parsed, rarityOf(index, parsed), texts, packed);
  const runs = knownRunScorer(query) ?? runScorer(query, bodies, packed);
  for (const [place, passageId] of [...tokens.keys()].entries()) {
    const { bm25 } = found[place]!;
    if (bm25 > 0) scores.set(passageId, bm25 + runs(bodies[place]!));
  }
  return scores;
}

/** Texts that stand in no index: how many there are, how many tokens they have together, and how many of them hold a term. */
export type LooseTexts = { passages: number; tokens: number; frequencyOf: (term: string) => number };

/** BM25 of texts that stand in no index, given by their tokens, among all that stand beside them; 0 for one without a word of the query. */
export function scoreTexts(parsed: ParsedQuery, texts: readonly string[][], among: LooseTexts): number[] {
  const frequencies = new Map(parsed.terms.map(({ term }) => [term, among.frequencyOf(term)]));
  const { passages } = among;
  const meanBody = among.tokens / Math.max(1, passages);
  const joined = texts.map((tokens) => ({ body: tokens.join(" "), name: "", length: tokens.length }));
  const bodies = packedTexts(joined.map(({ body }) => body));
  return scoresOf(parsed, { frequencies, passages, meanBody, synonyms: [], neighbours: [] }, joined, bodies).map(
    ({ bm25 }) => bm25,
  );
}

/**
 * The query with the rarest of its terms that occur at all: what FTS5 does for alternatives grows with their number times the
 * passages that hold any, and common words next to hundreds of others decide nothing.
 */
function withFewTerms(index: Index, parsed: ParsedQuery): ParsedQuery {
  if (parsed.match === null || parsed.terms.length <= MAX_TERMS) return parsed;
  const frequencies = documentFrequencies(
    index,
    parsed.terms.map(({ term }) => term),
    parsed.held,
  );
  const frequencyOf = ({ term }: QueryTerm): number => frequencies.get(term) ?? 0;
  const terms = parsed.terms
    .filter((term) => frequencyOf(term) > 0)
    .sort((a, b) => frequencyOf(a) - frequencyOf(b))
    .slice(0, MAX_TERMS);
  const any = terms.filter(({ finds }) => finds).map(({ term }) => ({ tokens: [term] }));
  return { ...parsed, terms, match: any.length === 0 ? null : { ...parsed.match, any } };
}

/** What words and phrases are worth in a passage. */
type Score = { bm25: number; exact: boolean };

type ScoredTerm = {
  term: string;
  /** Inverse document frequency times the term's weight in the query. */
  weight: number;
  /** Stands in the order of the text (words and pairs do), so that closeness means something. */
  placed: boolean;
  exact: boolean;
  alternative: number | undefined;
};

/** The scores of texts, in their order; `bodies` are theirs. Loops are plain ones: most processes ask once and compile none of this. */
function scoresOf(parsed: ParsedQuery, rarity: Rarity, texts: readonly PassageTokens[], bodies: PackedTexts): Score[] {
  const { meanBody } = rarity;
  const likeOthers = Map.groupBy([...rarity.neighbours, ...rarity.synonyms], ({ term }) => term);
  const meanings = [...likeOthers.values()];
  const terms = scoredTerms(parsed, rarity);
  const own = terms.length;
  const numbers = new Map([...terms.map(({ term }) => term), ...likeOthers.keys()].map((term, at) => [term, at]));
  const [tokens, termOf] = [[...numbers.keys()], [...numbers.values()]];
  const found = tokenPlaces(bodies, tokens);
  const ends = endsOf(bodies);
  const packedNames = packedTexts(texts.map(({ name }) => name));
  const named = tokenPlaces(
    packedNames,
    terms.map(({ term }) => term),
  );
  const nameEnds = endsOf(packedNames);
  const isClosenessKnown = terms.filter(({ placed }) => placed).length > 1;
  const phrases = parsed.phrases.map((phrase) => phrase.join(" "));
  const readTurns = turnReader(terms.map(({ term }) => term));
  const counts = terms.map(() => 0);
  const alike = terms.map(() => 0);
  const told = terms.map(() => 0);
  const best: number[] = [];
  let next = 0;
  let nextName = 0;
  return texts.map(({ body, name, length }, text) => {
    const isTold = readTurns(body);
    const window = isClosenessKnown ? new Window(terms) : null;
    for (; found.at[next]! < ends[text]!; next++) {
      const at = found.at[next]!;
      const term = termOf[found.token[next]!]!;
      const isToldThere = isTold?.(charactersBefore(bodies, text, at) + 2) === true;
      if (term >= own) {
        for (const { place: meant, likeness } of meanings[term - own]!) {
          alike[meant]! += ALIKE * likeness;
          if (isToldThere) told[meant]! += ALIKE * likeness;
        }
        continue;
      }
      counts[term]!++;
      if (isToldThere) told[term]!++;
      if (window !== null && terms[term]!.placed) window.add(term, at, bodies.text);
    }
    for (; named.at[nextName]! < nameEnds[text]!; nextName++) {
      counts[named.token[nextName]!]! += NAME_WEIGHT;
    }
    const norm = lengthNorm(length, meanBody);
    let bm25 = window === null ? 0 : CLOSENESS * window.closeness();
    let exact = phrases.some((phrase) => holdsRun(body, phrase) || holdsRun(name, phrase));
    for (let term = 0; term < own; term++) {
      const frequency = counts[term]! + alike[term]!;
      if (frequency === 0) continue;
      const { weight, exact: decides, alternative } = terms[term]!;
      const score = saturated(weight, frequency, norm) + TOLD * saturated(weight, told[term]!, norm);
      if (alternative === undefined) bm25 += score;
      else best[alternative] = Math.max(best[alternative] ?? 0, score);
      exact ||= decides && counts[term]! > 0;
      counts[term] = alike[term] = told[term] = 0;
    }
    return { bm25: bm25 + sumTaken(best), exact };
  });
}

/** The sum of the scores of dates, by their numbers from 1 on, which are emptied for the next text. */
function sumTaken(scores: number[]): number {
  let sum = 0;
  for (const score of scores) sum += score ?? 0;
  scores.length = 0;
  return sum;
}

function scoredTerms(parsed: ParsedQuery, rarity: Rarity): ScoredTerm[] {
  const total = Math.max(rarity.passages, MIN_PASSAGES);
  const frequencyOf = (term: string): number => rarity.frequencies.get(term) ?? 0;
  const weightOf = termWeights(parsed, rarity);
  // What finds nothing by itself is not asked for: the days that follow one would outweigh it together.
  const asked = new Map<string | number, number>();
  for (const term of parsed.terms) {
    if (!term.finds || term.identifier || term.part || frequencyOf(term.term) === 0) continue;
    const what = term.alternative ?? term.term;
    asked.set(what, Math.max(asked.get(what) ?? 0, weightOf(term)));
  }
  const askedInAll = [...asked.values()].reduce((sum, weight) => sum + weight, 0);
  return parsed.terms.map((term) => {
    const weight = weightOf(term);
    const rare = frequencyOf(term.term) <= 1 + total * RARE_SHARE;
    const decides = term.identifier ? weight >= askedInAll * LOOKUP_SHARE : parsed.terms.length === 1;
    const placed = term.kind === "word" || term.kind === "pair";
    return { term: term.term, weight, placed, exact: rare && decides, alternative: term.alternative };
  });
}

/** As many tokens as the window is wide, each behind its blank. */
const WINDOW_LONG = new RegExp(" [^ ]*".repeat(WINDOW_TOKENS), "y");

/** How many tokens stand from one blank to another, counted up to the width of the window; what is far away is told by one expression. */
function tokensBetween(text: string, from: number, to: number): number {
  WINDOW_LONG.lastIndex = from;
  if (to - from >= 2 * WINDOW_TOKENS && WINDOW_LONG.test(text) && WINDOW_LONG.lastIndex <= to) return WINDOW_TOKENS;
  let count = 0;
  for (let at = from; at < to && count < WINDOW_TOKENS; at = text.indexOf(" ", at + 1)) count++;
  return count;
}

/** Whether tokens stand side by side in a string of tokens. */
function holdsRun(tokens: string, run: string): boolean {
  return ` ${tokens} `.includes(` ${run} `);
}

/** The matches of a passage seen through a window that moves over it. */
class Window {
  private readonly places: number[] = [];
  private readonly found: number[] = [];
  private readonly counts: number[];
  private sum = 0;
  private first = 0;
  private heaviest = 0;
  private best = 0;
  /** The last match: its term, its offset and its place among the tokens; whether the window has it. */
  private term = 0;
  private at = -1;
  private place = 0;
  private isIn = false;

  constructor(private readonly terms: readonly ScoredTerm[]) {
    this.counts = terms.map(() => 0);
  }

  /** Takes the next match, in the order of the text. What stands alone is only as heavy as it is. */
  add(term: number, at: number, text: string): void {
    const weight = this.terms[term]!.weight + PRESENCE;
    if (weight > this.heaviest) this.heaviest = weight;
    const gap = this.at < 0 ? WINDOW_TOKENS : tokensBetween(text, this.at, at);
    const isNear = gap < WINDOW_TOKENS;
    if (isNear && !this.isIn) this.enter(this.term, this.place);
    this.term = term;
    this.at = at;
    this.place += gap;
    this.isIn = isNear;
    if (isNear) this.enter(term, this.place);
  }

  private enter(term: number, place: number): void {
    if (this.counts[term]!++ === 0) this.sum += this.terms[term]!.weight + PRESENCE;
    this.places.push(place);
    this.found.push(term);
    while (place - this.places[this.first]! >= WINDOW_TOKENS) {
      const left = this.found[this.first++]!;
      if (--this.counts[left]! === 0) this.sum -= this.terms[left]!.weight + PRESENCE;
    }
    if (this.sum > this.best) this.best = this.sum;
  }

  /** What the distinct terms that stand closest together weigh, beyond the heaviest of them: nothing for a single word. */
  closeness(): number {
    return Math.max(0, this.best - this.heaviest);
  }
}

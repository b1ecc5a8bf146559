import { corpusStats, documentFrequencies, keywordCandidates, tokensOf } from "../store/keyword.ts";
import type { Index, Scope } from "../store/types.ts";
import type { ParsedQuery } from "./query.ts";

/** A passage with its BM25 score, positive and unbounded. */
export type KeywordHit = {
  passageId: number;
  documentId: number;
  bm25: number;
  /** Holds a quoted phrase, or a rare identifier or sole word of the query: no looser match may stand before it. */
  exact: boolean;
};

/** Term frequency saturation and length normalisation, Robertson's defaults. */
const K1 = 1.2;
const B = 0.75;
/** A word in the note's title or path counts as much as one in its text. */
const NAME_WEIGHT = Number(process.env.NAMEW ?? 1);
/** Words of the query that stand within this many tokens belong together, and what that adds to the score. */
const WINDOW_TOKENS = Number(process.env.WIN ?? 16);
const CLOSENESS = Number(process.env.CLO ?? 0.3);
/** Two notes must score as sensibly as many: below this, rarity says nothing. */
const MIN_PASSAGES = 24;

/**
 * The passages in scope that hold words of the query, best first, at most `limit`: FTS5 finds and pre-ranks them, then each
 * is scored by BM25 with Lucene's inverse document frequency `ln(1 + (N − n + 0.5) / (n + 0.5))`, which is never zero.
 */
export function keywordLeg(index: Index, parsed: ParsedQuery, scope: Scope & { limit: number }): KeywordHit[] {
  if (parsed.match === null) return [];
  const candidates = keywordCandidates(index, parsed.match, scope);
  if (candidates.length === 0) return [];
  const score = scorer(index, parsed);
  return candidates
    .map(({ passageId, documentId, body, name }) => Object.assign(score(body, name), { passageId, documentId }))
    .sort((a, b) => b.bm25 - a.bm25 || a.passageId - b.passageId);
}

/** BM25 of passages that another leg found; those that hold no word of the query are left out. */
export function scoreByKeyword(index: Index, parsed: ParsedQuery, passageIds: readonly number[]): Map<number, number> {
  const scores = new Map<number, number>();
  if (parsed.match === null || passageIds.length === 0) return scores;
  const score = scorer(index, parsed);
  for (const [passageId, { body, name }] of tokensOf(index, passageIds)) {
    const { bm25 } = score(body, name);
    if (bm25 > 0) scores.set(passageId, bm25);
  }
  return scores;
}

type Scorer = (body: string, name: string) => { bm25: number; exact: boolean };

function scorer(index: Index, parsed: ParsedQuery): Scorer {
  const { passages, meanBody } = corpusStats(index);
  const total = Math.max(passages, MIN_PASSAGES);
  const frequencies = documentFrequencies(
    index,
    parsed.terms.map((term) => term.term),
  );
  const terms = parsed.terms.map(({ term, weight, kind }) => {
    const frequency = frequencies.get(term) ?? 0;
    const idf = Math.log(1 + (total - frequency + 0.5) / (frequency + 0.5));
    const rare = frequency <= 1 + total / 500;
    // Only words and pairs stand in the order of the text.
    const placed = kind === "word" || kind === "pair";
    return { term, weight: weight * idf, placed, exact: rare && (kind === "whole" || parsed.terms.length === 1) };
  });
  const phrases = parsed.phrases.map((phrase) => phrase.join(" "));
  return (body, name) => {
    let bm25 = 0;
    let exact = phrases.some((phrase) => occurrences(body, phrase).length + occurrences(name, phrase).length > 0);
    const length = tokenCount(body);
    const norm = K1 * (1 - B + (B * length) / Math.max(meanBody, 1));
    const matches: Match[] = [];
    for (const { term, weight, placed, exact: decides } of terms) {
      const places = occurrences(body, term);
      const frequency = places.length + NAME_WEIGHT * occurrences(name, term).length;
      if (frequency === 0) continue;
      bm25 += (weight * frequency * (K1 + 1)) / (frequency + norm);
      exact ||= decides;
      if (placed) for (const at of places) matches.push({ at, term, weight });
    }
    const windowChars = (WINDOW_TOKENS * body.length) / Math.max(length, 1);
    return { bm25: bm25 + CLOSENESS * closeness(matches, windowChars), exact };
  };
}

type Match = { at: number; term: string; weight: number };

/** What the terms that stand closest together weigh, beyond the heaviest of them: the best window's sum over distinct terms. */
function closeness(matches: Match[], windowChars: number): number {
  matches.sort((a, b) => a.at - b.at);
  const counts = new Map<string, number>();
  let best = 0;
  let sum = 0;
  let first = 0;
  for (const { at, term, weight } of matches) {
    const count = counts.get(term) ?? 0;
    counts.set(term, count + 1);
    if (count === 0) sum += weight;
    for (let left = matches[first]!; at - left.at > windowChars; left = matches[first]!) {
      const remaining = (counts.get(left.term) ?? 0) - 1;
      counts.set(left.term, remaining);
      if (remaining === 0) sum -= left.weight;
      first++;
    }
    if (sum > best) best = sum;
  }
  return Math.max(0, best - Math.max(0, ...matches.map((match) => match.weight)));
}

const BLANK = 32;

/** Where a run of terms stands in a string of tokens. */
function occurrences(tokens: string, run: string): number[] {
  const places: number[] = [];
  for (let at = tokens.indexOf(run); at >= 0; at = tokens.indexOf(run, at + run.length)) {
    const end = at + run.length;
    const begins = at === 0 || tokens.charCodeAt(at - 1) === BLANK;
    if (begins && (end === tokens.length || tokens.charCodeAt(end) === BLANK)) places.push(at);
  }
  return places;
}

function tokenCount(tokens: string): number {
  if (tokens === "") return 0;
  let count = 1;
  for (let at = tokens.indexOf(" "); at >= 0; at = tokens.indexOf(" ", at + 1)) count++;
  return count;
}

import type { Collection, SearchProfile } from "../home/types.ts";
import type { RankingFacts } from "../store/passages.ts";
import { type Fused, type LegScores, levelTimes } from "./fuse.ts";
import { importanceFactor } from "./importance.ts";
import { type Diversity, diversify } from "./mmr.ts";
import { fadesFrom, recencyFactor } from "./recency.ts";
import { splitAtMinimum } from "./threshold.ts";
import type { SearchRequest } from "./types.ts";

/** A passage that some leg found, before it is weighed. */
export type Candidate = LegScores & {
  documentId: number;
  fromKeyword: boolean;
  fromVector: boolean;
  /** Holds the query's exact rare word or quoted phrase. */
  exact: boolean;
  nameTier: 0 | 1 | 2 | 3;
};

/** What is known of a passage before any leg speaks of it. */
export const UNFOUND = {
  bm25: null,
  cosine: null,
  fromKeyword: false,
  fromVector: false,
  exact: false,
  nameTier: 0,
} as const satisfies Omit<Candidate, "passageId" | "documentId">;

/** A candidate with everything that decides its place. */
export type Ranked = Fused<Candidate> & {
  recency: number;
  importance: number;
  /** Key times recency and importance: the order within a tier. */
  merit: number;
  score: number;
};

/**
 * Applies recency and importance and sorts: name tiers, exact words and phrases, merit; ties by place in the home. Where neither age nor
 * importance counts, facts are read of ties alone; a passage that is gone then leaves when it is cited.
 */
export function weighed(
  fused: Fused<Candidate>[],
  readFacts: (passageIds: number[]) => Map<number, RankingFacts>,
  request: SearchRequest,
  collections: Map<string, Collection>,
): Ranked[] {
  const { recency, importance } = request.profile;
  if (recency.mode === "off" && !importance) {
    const ranked = fused.map((candidate) => weighedBy(candidate, 1, 1)).sort(compareMerit);
    const tied = ranked.filter((row, at) => isTied(row, ranked[at - 1]) || isTied(row, ranked[at + 1]));
    return tied.length === 0 ? ranked : ranked.sort(comparison(readFacts(idsOf(tied)), request));
  }
  const facts = readFacts(idsOf(fused));
  const ranked: Ranked[] = [];
  for (const candidate of fused) {
    const known = facts.get(candidate.passageId);
    const source = known && collections.get(known.collection)?.source;
    if (!known || !source) continue;
    const age =
      recency.mode === "off" ? 1 : recencyFactor(fadesFrom(known, source, recency.undated), request.asOf, recency);
    ranked.push(weighedBy(candidate, age, importance ? importanceFactor(known.importance) : 1));
  }
  return ranked.sort(comparison(facts, request));
}

function idsOf(candidates: readonly Candidate[]): number[] {
  return candidates.map(({ passageId }) => passageId);
}

function weighedBy(candidate: Fused<Candidate>, recency: number, importance: number): Ranked {
  const factor = recency * importance;
  const score = candidate.nameTier > 0 ? 1 : levelTimes(candidate, factor);
  return { ...candidate, recency, importance, merit: candidate.key * factor, score };
}

function compareMerit(a: Ranked, b: Ranked): number {
  return (
    b.nameTier - a.nameTier || Number(b.exact) - Number(a.exact) || b.merit - a.merit || (b.bm25 ?? 0) - (a.bm25 ?? 0)
  );
}

function isTied(row: Ranked, other: Ranked | undefined): boolean {
  return other !== undefined && compareMerit(row, other) === 0;
}

function comparison(facts: Map<number, RankingFacts>, request: SearchRequest): (a: Ranked, b: Ranked) => number {
  const place = new Map(request.collections.map((name, index) => [name, index]));
  const compareFacts = (a: RankingFacts, b: RankingFacts): number =>
    (place.get(a.collection) ?? 0) - (place.get(b.collection) ?? 0) || compareText(a.path, b.path) || a.seq - b.seq;
  return (a, b) => {
    const byMerit = compareMerit(a, b);
    if (byMerit !== 0) return byMerit;
    const [one, other] = [facts.get(a.passageId), facts.get(b.passageId)];
    return (one && other ? compareFacts(one, other) : 0) || a.passageId - b.passageId;
  };
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The first row of each document. */
export function bestPerDocument(rows: Ranked[]): Ranked[] {
  const seen = new Set<number>();
  return rows.filter((row) => !seen.has(row.documentId) && seen.add(row.documentId));
}

/**
 * The rows in the order in which they are answered, one by one, since more are needed only when a file turns out to be gone: those
 * that reach the minimum score, made diverse within each tier, then keyword hits that fill up.
 */
export function* answered(
  ranked: Ranked[],
  request: SearchRequest,
  tokens: (row: Ranked) => string,
): Generator<Ranked> {
  const { profile } = request;
  const strict = request.minScore !== undefined;
  const { passing, fillers } = splitAtMinimum(ranked, request.minScore ?? profile.minScore, strict);
  const groups = [...tiersOf(passing), fillers];
  if (!profile.mmr.enabled) {
    for (const group of groups) yield* group;
    return;
  }
  yield* diversify(groups, diversityOf(ranked, profile, tokens));
}

function tiersOf(rows: Ranked[]): Ranked[][] {
  const tiers: Ranked[][] = [];
  let last: Ranked | undefined;
  for (const row of rows) {
    if (last?.nameTier === row.nameTier && last.exact === row.exact) tiers.at(-1)?.push(row);
    else tiers.push([row]);
    last = row;
  }
  return tiers;
}

/** Relevance for diversity is merit as a share of the best one's: it depends on no other row, and stays what fusion made it. */
function diversityOf(ranked: Ranked[], profile: SearchProfile, tokens: (row: Ranked) => string): Diversity<Ranked> {
  const best = ranked.reduce((most, row) => Math.max(most, row.merit), 0);
  return {
    lambda: profile.mmr.lambda,
    relevance: (row) => (best > 0 ? Math.max(0, row.merit / best) : 1),
    tokens,
  };
}

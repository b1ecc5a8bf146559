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

/** A candidate with everything that decides its place. */
export type Ranked = Fused<Candidate> & {
  facts: RankingFacts;
  recency: number;
  importance: number;
  /** Key times recency and importance: the order within a tier. */
  merit: number;
  score: number;
};

/** Applies recency and importance and sorts: name tiers, exact words and phrases, merit; ties by place in the home. */
export function weighed(
  fused: Fused<Candidate>[],
  factsById: Map<number, RankingFacts>,
  request: SearchRequest,
  collections: Map<string, Collection>,
): Ranked[] {
  const { profile, asOf } = request;
  const place = new Map(request.collections.map((name, index) => [name, index]));
  const ranked: Ranked[] = [];
  for (const candidate of fused) {
    const facts = factsById.get(candidate.passageId);
    const source = facts && collections.get(facts.collection)?.source;
    if (!facts || !source) continue;
    const { recency: rule } = profile;
    const recency = rule.mode === "off" ? 1 : recencyFactor(fadesFrom(facts, source, rule.undated), asOf, rule);
    const importance = profile.importance ? importanceFactor(facts.importance) : 1;
    const factor = recency * importance;
    const score = candidate.nameTier > 0 ? 1 : levelTimes(candidate, factor);
    ranked.push({ ...candidate, facts, recency, importance, merit: candidate.key * factor, score });
  }
  return ranked.sort(
    (a, b) =>
      b.nameTier - a.nameTier ||
      Number(b.exact) - Number(a.exact) ||
      b.merit - a.merit ||
      (b.bm25 ?? 0) - (a.bm25 ?? 0) ||
      (place.get(a.facts.collection) ?? 0) - (place.get(b.facts.collection) ?? 0) ||
      compareText(a.facts.path, b.facts.path) ||
      a.facts.seq - b.facts.seq ||
      a.passageId - b.passageId,
  );
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

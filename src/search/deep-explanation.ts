import { RRF_K, textScoreOf, topRankBonus } from "./fuse.ts";
import type { QueryList } from "./lists.ts";
import { retrievalShare } from "./rerank.ts";
import type { Hit } from "./types.ts";

/** The rule by which the lists of a query were fused. */
export type FusionName = "relative" | "weighted" | "rrf";

/** Where a document stood before reranking. */
type Standing = {
  /** Its place, from 1. */
  rank: number;
  /** 1 / rank. */
  positionScore: number;
  /** Share of the place in the final score. */
  weight: number;
};

/**
 * How a document of `query` came to its score, in qmd's words and shape. `rrf` is what reciprocal rank fusion makes of the places in
 * the lists, whatever the rule was, since readers of qmd's JSON look there; `fusion` names the rule that was used and its score.
 */
export type DeepExplanation = {
  ftsScores: number[];
  vectorScores: number[];
  rrf: Standing & {
    baseScore: number;
    topRankBonus: number;
    totalScore: number;
    contributions: Contribution[];
  };
  fusion: { rule: FusionName; totalScore: number };
  rerankScore: number;
  blendedScore: number;
};

/** Which list found the document at which place. */
type Contribution = {
  listIndex: number;
  source: "fts" | "vec";
  queryType: QueryList["queryType"];
  query: string;
  rank: number;
  weight: number;
  backendScore: number;
  /** weight / (60 + rank) */
  rrfContribution: number;
};

/** Explains each hit: `before` and `after` reranking. */
export function explainHits(
  before: readonly Hit[],
  after: readonly Hit[],
  lists: readonly QueryList[],
  rule: FusionName,
): Map<number, DeepExplanation> {
  const places = lists.map(placesOf);
  const final = new Map(after.map((hit) => [hit.documentId, hit]));
  return new Map(
    before.map((hit, at): [number, DeepExplanation] => {
      const rank = at + 1;
      const contributions = lists.flatMap((list, listIndex) => contributionOf(list, listIndex, places[listIndex], hit));
      const scores = (source: "fts" | "vec"): number[] =>
        contributions.filter((one) => one.source === source).map(({ backendScore }) => backendScore);
      const standing = { rank, positionScore: 1 / rank, weight: retrievalShare(rank) };
      const rrf = { ...standing, ...summed(contributions) };
      const explanation: DeepExplanation = {
        ftsScores: scores("fts"),
        vectorScores: scores("vec"),
        rrf,
        fusion: { rule, totalScore: rule === "rrf" ? rrf.totalScore : hit.score },
        rerankScore: final.get(hit.documentId)?.explain?.rerank ?? 0,
        blendedScore: final.get(hit.documentId)?.score ?? hit.score,
      };
      return [hit.documentId, explanation];
    }),
  );
}

/** The sum that orders hits under reciprocal rank fusion, with its parts. */
function summed(contributions: Contribution[]) {
  const baseScore = contributions.reduce((sum, { rrfContribution }) => sum + rrfContribution, 0);
  const bestRank = Math.min(...contributions.map((one) => one.rank));
  const bonus = topRankBonus(bestRank);
  return { baseScore, topRankBonus: bonus, totalScore: baseScore + bonus, contributions };
}

type Places = Map<number, { rank: number; score: number }>;

/** Per document its place in a list and its best score there. */
function placesOf({ hits }: QueryList): Places {
  const places: Places = new Map();
  for (const { documentId, score } of hits) {
    if (!places.has(documentId)) places.set(documentId, { rank: places.size + 1, score });
  }
  return places;
}

function contributionOf(list: QueryList, listIndex: number, places: Places | undefined, hit: Hit): Contribution[] {
  const place = places?.get(hit.documentId);
  if (place === undefined) return [];
  const { source, queryType, query } = list;
  const weight = list.weight * 2;
  const backendScore = source === "fts" ? textScoreOf(place.score, "bm25") : place.score;
  const { rank } = place;
  return [
    { listIndex, source, queryType, query, rank, weight, backendScore, rrfContribution: weight / (RRF_K + rank) },
  ];
}

/** The explanation in lines for people. */
export function explanationLines(explanation: DeepExplanation): string[] {
  const { ftsScores, vectorScores, rrf, fusion, rerankScore, blendedScore } = explanation;
  const list = (scores: number[]): string => (scores.length === 0 ? "none" : scores.map(four).join(", "));
  const first = `Explain: fts=[${list(ftsScores)}] vec=[${list(vectorScores)}]`;
  const { baseScore, topRankBonus, rank, weight, contributions } = rrf;
  const share = Math.round(weight * 100);
  const blend = `  Blend: ${share}%*${four(rrf.positionScore)} + ${100 - share}%*${four(rerankScore)} = ${four(blendedScore)}`;
  if (fusion.rule === "rrf") {
    const sum = `total=${four(rrf.totalScore)} base=${four(baseScore)} bonus=${four(topRankBonus)} rank=${rank}`;
    const top = topParts(contributions, (one) => one.rrfContribution);
    return [first, `  RRF: ${sum}`, blend, `  Top RRF contributions: ${top}`];
  }
  return [
    first,
    `  Fusion: ${fusion.rule} total=${four(fusion.totalScore)} rank=${rank}`,
    // Without a reranker the fused score is the score.
    ...(rerankScore > 0 ? [blend] : []),
    `  Top lists: ${topParts(contributions, (one) => one.backendScore)}`,
  ];
}

function topParts(contributions: readonly Contribution[], partOf: (one: Contribution) => number): string {
  const top = contributions
    .toSorted((a, b) => partOf(b) - partOf(a))
    .slice(0, 3)
    .map((one) => `${one.source}/${one.queryType}#${one.rank}:${four(partOf(one))}`);
  return top.length === 0 ? "none" : top.join(" | ");
}

function four(value: number): string {
  return value.toFixed(4);
}

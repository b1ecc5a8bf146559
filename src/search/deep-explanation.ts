import { textScoreOf } from "./fuse.ts";
import type { QueryList } from "./lists.ts";
import { retrievalShare } from "./rerank.ts";
import type { Hit } from "./types.ts";

/** How a document of `query` came to its score, in qmd's words. */
export type DeepExplanation = {
  ftsScores: number[];
  vectorScores: number[];
  rrf: {
    /** Place before reranking, from 1. */
    rank: number;
    /** 1 / rank. */
    positionScore: number;
    /** Share of the place in the final score. */
    weight: number;
    baseScore: number;
    topRankBonus: number;
    totalScore: number;
    contributions: Contribution[];
  };
  rerankScore: number;
  blendedScore: number;
};

type Contribution = {
  listIndex: number;
  source: "fts" | "vec";
  queryType: QueryList["queryType"];
  query: string;
  rank: number;
  weight: number;
  backendScore: number;
  rrfContribution: number;
};

/** The constant of reciprocal rank fusion. */
const K = 60;

/**
 * Explains each hit. Contributions are those of reciprocal rank fusion, whatever rule was used: they tell which list found a document
 * at which place. `totalScore` is what the hits were ordered by: the sum of contributions and bonus, or the fused score.
 */
export function explainHits(
  before: readonly Hit[],
  after: readonly Hit[],
  lists: readonly QueryList[],
  rrf: boolean,
): Map<number, DeepExplanation> {
  const places = lists.map(placesOf);
  const final = new Map(after.map((hit) => [hit.documentId, hit]));
  return new Map(
    before.map((hit, at): [number, DeepExplanation] => {
      const rank = at + 1;
      const contributions = lists.flatMap((list, listIndex) => contributionOf(list, listIndex, places[listIndex], hit));
      const summed = contributions.reduce((sum, { rrfContribution }) => sum + rrfContribution, 0);
      const bestRank = Math.min(...contributions.map((one) => one.rank));
      const bonus = bestRank === 1 ? 0.05 : bestRank <= 3 ? 0.02 : 0;
      const scores = (source: "fts" | "vec"): number[] =>
        contributions.filter((one) => one.source === source).map(({ backendScore }) => backendScore);
      const explanation: DeepExplanation = {
        ftsScores: scores("fts"),
        vectorScores: scores("vec"),
        rrf: {
          rank,
          positionScore: 1 / rank,
          weight: retrievalShare(rank),
          baseScore: rrf ? summed : hit.score,
          topRankBonus: rrf ? bonus : 0,
          totalScore: rrf ? summed + bonus : hit.score,
          contributions,
        },
        rerankScore: final.get(hit.documentId)?.explain?.rerank ?? 0,
        blendedScore: final.get(hit.documentId)?.score ?? hit.score,
      };
      return [hit.documentId, explanation];
    }),
  );
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
  const rrfContribution = weight / (K + place.rank);
  return [{ listIndex, source, queryType, query, rank: place.rank, weight, backendScore, rrfContribution }];
}

/** The explanation in lines for people. */
export function explanationLines({
  ftsScores,
  vectorScores,
  rrf,
  rerankScore,
  blendedScore,
}: DeepExplanation): string[] {
  const four = (value: number): string => value.toFixed(4);
  const list = (scores: number[]): string => (scores.length === 0 ? "none" : scores.map(four).join(", "));
  const share = Math.round(rrf.weight * 100);
  const top = rrf.contributions
    .toSorted((a, b) => b.rrfContribution - a.rrfContribution)
    .slice(0, 3)
    .map(({ source, queryType, rank, rrfContribution }) => `${source}/${queryType}#${rank}:${four(rrfContribution)}`);
  return [
    `Explain: fts=[${list(ftsScores)}] vec=[${list(vectorScores)}]`,
    `  RRF: total=${four(rrf.totalScore)} base=${four(rrf.baseScore)} bonus=${four(rrf.topRankBonus)} rank=${rrf.rank}`,
    `  Blend: ${share}%*${four(rrf.positionScore)} + ${100 - share}%*${four(rerankScore)} = ${four(blendedScore)}`,
    `  Top RRF contributions: ${top.length === 0 ? "none" : top.join(" | ")}`,
  ];
}

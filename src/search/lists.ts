import { type Candidate, UNFOUND } from "./rank.ts";

/** What one part of a query found by one leg, best first, and how to score what it did not find. */
export type QueryList = {
  source: "fts" | "vec";
  queryType: "original" | "lex" | "vec" | "hyde";
  query: string;
  /** How much it counts beside the other lists of its leg. */
  weight: number;
  /** `score`: BM25 or cosine. */
  hits: { passageId: number; documentId: number; score: number; exact: boolean }[];
  scoresOf: (passageIds: number[]) => Map<number, number>;
};

/** Of a leg's candidates all lists score as many as so many of them hold: where there are more, the rest is far from being answered. */
const LISTS_FILLED = 4;

/**
 * One candidate per passage that any list holds, its scores averaged over the lists of each leg by their weights. Words: each list's
 * scores as shares of its best, times the best of the heaviest list, so that with one list BM25 stays what it is. With `fill` a
 * list also scores what it did not find; otherwise that counts 0 there.
 */
export function candidatesOfLists(lists: readonly QueryList[], fill: boolean): Candidate[] {
  const candidates = new Map<number, Candidate>();
  for (const { source, hits } of lists) {
    for (const { passageId, documentId, exact } of hits) {
      const candidate = candidates.get(passageId) ?? { ...UNFOUND, passageId, documentId };
      if (source === "fts") candidate.fromKeyword = true;
      else candidate.fromVector = true;
      if (exact) candidate.exact = true;
      candidates.set(passageId, candidate);
    }
  }
  const legs = (["fts", "vec"] as const).map((source): Leg => {
    const own = lists.filter((list) => list.source === source);
    return { lists: own, scaleOf: source === "fts" ? (list) => 1 / bestOf(list) : () => 1 };
  });
  const filled = fill ? [...new Set(legs.flatMap(bestOfLeg))] : [];
  const [words, meanings] = legs.map((leg) => averages(leg, filled));
  const scale = bestOf(heaviest(legs[0]!.lists));
  for (const candidate of candidates.values()) {
    const share = words!.get(candidate.passageId);
    candidate.bm25 = share === undefined ? null : share * scale;
    candidate.cosine = meanings!.get(candidate.passageId) ?? null;
  }
  return [...candidates.values()];
}

/** The lists of one leg, and what makes their scores comparable. */
type Leg = { lists: readonly QueryList[]; scaleOf: (list: QueryList) => number };

function bestOf(list: QueryList | undefined): number {
  return list?.hits.reduce((best, { score }) => Math.max(best, score), 0) || 1;
}

function heaviest(lists: readonly QueryList[]): QueryList | undefined {
  return lists.filter(({ hits }) => hits.length > 0).toSorted((a, b) => b.weight - a.weight)[0];
}

/** The passages that the lists of a leg hold; where that is too many, those with the best means. */
function bestOfLeg(leg: Leg): number[] {
  const most = LISTS_FILLED * Math.max(0, ...leg.lists.map(({ hits }) => hits.length));
  const means = [...averages(leg, [])];
  if (means.length > most) means.sort((a, b) => b[1] - a[1]);
  return means.slice(0, most).map(([id]) => id);
}

/** Weighted means over the lists that found anything, each of which scores the `filled` passages; what none can score is absent. */
function averages({ lists, scaleOf }: Leg, filled: readonly number[]): Map<number, number> {
  const sums = new Map<number, number>();
  const used = lists.filter(({ hits }) => hits.length > 0);
  const weights = used.reduce((sum, { weight }) => sum + weight, 0);
  for (const list of used) {
    const own = new Map(list.hits.map(({ passageId, score }) => [passageId, score]));
    const others = filled.filter((id) => !own.has(id));
    const part = (list.weight / weights) * scaleOf(list);
    for (const scores of others.length === 0 ? [own] : [own, list.scoresOf(others)]) {
      for (const [id, score] of scores) sums.set(id, (sums.get(id) ?? 0) + part * score);
    }
  }
  return sums;
}

import type { Candidate } from "./rank.ts";

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

/**
 * One candidate per passage that any list holds, its scores averaged over the lists of each leg by their weights. Words: each list's
 * scores as shares of its best, times the best of the heaviest list, so that with one list BM25 stays what it is. With `fill` a
 * list also scores what it did not find; otherwise that counts 0 there.
 */
export function candidatesOf(lists: readonly QueryList[], fill: boolean): Candidate[] {
  const candidates = new Map<number, Candidate>();
  for (const { source, hits } of lists) {
    for (const { passageId, documentId, exact } of hits) {
      const candidate = candidates.get(passageId) ?? { ...BLANK, passageId, documentId };
      if (source === "fts") candidate.fromKeyword = true;
      else candidate.fromVector = true;
      if (exact) candidate.exact = true;
      candidates.set(passageId, candidate);
    }
  }
  const ids = [...candidates.keys()];
  const words = averages(
    lists.filter(({ source }) => source === "fts"),
    ids,
    fill,
    (list) => 1 / bestOf(list),
  );
  const scale = bestOf(heaviest(lists.filter(({ source }) => source === "fts")));
  const meanings = averages(
    lists.filter(({ source }) => source === "vec"),
    ids,
    fill,
    () => 1,
  );
  for (const candidate of candidates.values()) {
    const share = words.get(candidate.passageId);
    candidate.bm25 = share === undefined ? null : share * scale;
    candidate.cosine = meanings.get(candidate.passageId) ?? null;
  }
  return [...candidates.values()];
}

const BLANK = { bm25: null, cosine: null, fromKeyword: false, fromVector: false, exact: false, nameTier: 0 as const };

function bestOf(list: QueryList | undefined): number {
  return list?.hits.reduce((best, { score }) => Math.max(best, score), 0) || 1;
}

function heaviest(lists: readonly QueryList[]): QueryList | undefined {
  return lists.filter(({ hits }) => hits.length > 0).toSorted((a, b) => b.weight - a.weight)[0];
}

/** Weighted means over the lists that found anything; passages that none can score are absent. */
function averages(
  lists: readonly QueryList[],
  ids: readonly number[],
  fill: boolean,
  scaleOf: (list: QueryList) => number,
): Map<number, number> {
  const sums = new Map<number, number>();
  const used = lists.filter(({ hits }) => hits.length > 0);
  const weights = used.reduce((sum, { weight }) => sum + weight, 0);
  for (const list of used) {
    const own = new Map(list.hits.map(({ passageId, score }) => [passageId, score]));
    const filled = fill ? list.scoresOf(ids.filter((id) => !own.has(id))) : new Map<number, number>();
    const part = (list.weight / weights) * scaleOf(list);
    for (const scores of [own, filled]) {
      for (const [id, score] of scores) sums.set(id, (sums.get(id) ?? 0) + part * score);
    }
  }
  return sums;
}

/** What one question's answer is worth; all in [0, 1]. */
export type Measures = { ndcg10: number; recall5: number; recall10: number; mrr10: number; empty: number };

export const MEASURES = ["ndcg10", "recall5", "recall10", "mrr10", "empty"] as const;

/** Judges a ranking of note paths, best first; relevance is binary, nDCG as by Järvelin and Kekäläinen with `log2(rank + 1)`. */
export function judge(ranking: readonly string[], relevant: readonly string[]): Measures {
  const wanted = new Set(relevant);
  const found = ranking.slice(0, 10).map((path) => wanted.has(path));
  const gain = (hits: boolean[]): number => hits.reduce((sum, hit, i) => sum + (hit ? 1 / Math.log2(i + 2) : 0), 0);
  const ideal = gain(Array.from({ length: Math.min(10, wanted.size) }, () => true));
  const count = (hits: boolean[]): number => hits.filter(Boolean).length;
  const first = found.indexOf(true);
  return {
    ndcg10: ideal === 0 ? 0 : gain(found) / ideal,
    recall5: wanted.size === 0 ? 0 : count(found.slice(0, 5)) / wanted.size,
    recall10: wanted.size === 0 ? 0 : count(found) / wanted.size,
    mrr10: first < 0 ? 0 : 1 / (first + 1),
    empty: ranking.length === 0 ? 1 : 0,
  };
}

/** Each measure's mean over questions; all 0 where there are none. */
export function meanOf(all: readonly Measures[]): Measures {
  const mean = { ndcg10: 0, recall5: 0, recall10: 0, mrr10: 0, empty: 0 };
  for (const measures of all) for (const name of MEASURES) mean[name] += measures[name] / all.length;
  return mean;
}

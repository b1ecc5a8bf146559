import type { SearchProfile } from "../home/types.ts";

/** What the legs say of one passage; null: that leg has nothing to say. */
export type LegScores = {
  passageId: number;
  /** BM25, positive, unbounded. */
  bm25: number | null;
  cosine: number | null;
};

/**
 * `key` orders the candidates of this query, `level` is what is reported and compared with a minimum. `saturating`: the level is
 * r/(1+r) of an r that the key is a multiple of; else it is a multiple of the key itself.
 */
export type Fused<T extends LegScores> = T & { key: number; level: number; saturating: boolean };

export type FusionRule = Pick<SearchProfile, "fusion" | "textScore" | "vectorWeight" | "textWeight"> &
  Partial<Pick<SearchProfile, "hybrid">>;

/**
 * A BM25 score as a number in [0, 1): `r / (1 + r)`. `legacy` is the older documented `1 / (1 + max(0, rank))` over FTS5's negative
 * rank, which makes every match 1.
 */
export function textScoreOf(bm25: number, kind: SearchProfile["textScore"]): number {
  if (!Number.isFinite(bm25)) return 0.001;
  return kind === "legacy" ? 1 / (1 + Math.max(0, -bm25)) : Math.max(0, bm25) / (1 + Math.max(0, bm25));
}

/**
 * Gives every candidate its key and level, in the order they came.
 *
 * `relative`: key `w · cosine + (1 − w) · r / r_max`, r_max the best BM25 of this query; level `key · max(best cosine, best
 * r/(1+r))`, so that it stays comparable between queries. Both scores of each candidate are expected to be filled in.
 * `weighted`: `w_v · cosine + w_t · textScore`, a leg without the candidate counting 0.
 * Where only one leg has candidates at all, its own score is the level, whole; but in a `hybrid` search by `weighted` words were asked
 * for too, and count 0 where none of them was found.
 */
export function fuse<T extends LegScores>(candidates: T[], rule: FusionRule): Fused<T>[] {
  let bestBm25 = 0;
  let bestCosine = 0;
  let vectors = false;
  for (const { bm25, cosine } of candidates) {
    if (bm25 !== null && bm25 > bestBm25) bestBm25 = bm25;
    if (cosine !== null) {
      vectors = true;
      if (cosine > bestCosine) bestCosine = cosine;
    }
  }
  const { vectorShare, textShare } = shares(rule);
  const relative = rule.fusion === "relative";
  const best = Math.max(bestCosine, bestBm25 / (1 + bestBm25));
  return candidates.map((candidate) => {
    const bm25 = candidate.bm25 ?? 0;
    const cosine = candidate.cosine ?? 0;
    const text = candidate.bm25 === null ? 0 : textScoreOf(bm25, relative ? "bm25" : rule.textScore);
    if (bestBm25 === 0 && (relative || !rule.hybrid)) return withScores(candidate, cosine, cosine);
    if (!vectors && relative) return { ...withScores(candidate, bm25 / bestBm25, text), saturating: true };
    if (!vectors) return withScores(candidate, text, text);
    if (!relative) {
      const score = vectorShare * cosine + textShare * text;
      return withScores(candidate, score, score);
    }
    const key = vectorShare * cosine + textShare * (bm25 / bestBm25);
    return withScores(candidate, key, key * best);
  });
}

function withScores<T extends LegScores>(candidate: T, key: number, level: number): Fused<T> {
  return { ...candidate, key, level: Math.max(0, level), saturating: false };
}

/** The level of a candidate whose key is multiplied by `factor`: whatever multiplies keys, levels stay in the order of the keys. */
export function levelTimes({ level, saturating }: Fused<LegScores>, factor: number): number {
  return saturating ? (level * factor) / (1 - level + level * factor) : level * factor;
}

function shares(rule: FusionRule): { vectorShare: number; textShare: number } {
  const sum = rule.vectorWeight + rule.textWeight;
  if (!(sum > 0)) return { vectorShare: 0.5, textShare: 0.5 };
  return { vectorShare: rule.vectorWeight / sum, textShare: rule.textWeight / sum };
}

/** The constant of reciprocal rank fusion. */
export const RRF_K = 60;

/** What qmd's reciprocal rank fusion adds for the best rank, from 1, that any list gives. */
export function topRankBonus(bestRank: number): number {
  if (bestRank === 1) return 0.05;
  return bestRank <= 3 ? 0.02 : 0;
}

/** One ranked list of passage or document ids, best first. */
export type RankedList = { ids: number[]; weight: number };

/**
 * qmd's published reciprocal rank fusion over the lists of its `query`: the sum of `weight / (60 + rank)`, rank counted from 1, plus
 * a bonus for the best rank in any list. Best first; equal scores keep the order of appearance.
 */
export function reciprocalRankFusion(lists: RankedList[]): { id: number; score: number }[] {
  const sums = new Map<number, { score: number; bestRank: number }>();
  for (const { ids, weight } of lists) {
    for (const [index, id] of ids.entries()) {
      const entry = sums.get(id);
      const part = weight / (RRF_K + index + 1);
      if (entry) {
        entry.score += part;
        entry.bestRank = Math.min(entry.bestRank, index + 1);
      } else sums.set(id, { score: part, bestRank: index + 1 });
    }
  }
  return [...sums]
    .map(([id, { score, bestRank }]) => ({ id, score: score + topRankBonus(bestRank) }))
    .sort((a, b) => b.score - a.score);
}

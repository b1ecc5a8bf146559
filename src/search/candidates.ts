import type { KeywordHit } from "./keyword.ts";
import { type Candidate, UNFOUND } from "./rank.ts";

/** Scores of passages that one leg did not find, asked of the other. */
export type Fill = {
  bm25: (passageIds: number[]) => Map<number, number>;
  cosine: (passageIds: number[]) => Map<number, number>;
};

export type LegHits = {
  keyword: KeywordHit[];
  vector: { passageId: number; documentId: number; cosine: number }[];
};

/**
 * One candidate per passage that either leg found. With `fill` each gets both scores (what a leg has nothing to say of stays null);
 * without, a score is there only where the leg itself found the passage.
 */
export function gather(legs: LegHits, fill: Fill | null): Candidate[] {
  const candidates = new Map<number, Candidate>();
  for (const { passageId, documentId, bm25, exact } of legs.keyword) {
    candidates.set(passageId, { ...UNFOUND, passageId, documentId, bm25, exact, fromKeyword: true });
  }
  for (const { passageId, documentId, cosine } of legs.vector) {
    const known = candidates.get(passageId);
    if (known) Object.assign(known, { cosine, fromVector: true });
    else candidates.set(passageId, { ...UNFOUND, passageId, documentId, cosine, fromVector: true });
  }
  const all = [...candidates.values()];
  if (fill) fillScores(all, fill, legs);
  return all;
}

/** Asks a leg only when it took part at all: otherwise the other one stands alone. */
export function fillScores(candidates: Candidate[], fill: Fill, legs: LegHits): void {
  const without = (score: "bm25" | "cosine"): number[] =>
    candidates.filter((candidate) => candidate[score] === null).map((candidate) => candidate.passageId);
  if (legs.keyword.length > 0) {
    const found = fill.bm25(without("bm25"));
    for (const candidate of candidates) candidate.bm25 ??= found.get(candidate.passageId) ?? null;
  }
  if (legs.vector.length > 0) {
    const found = fill.cosine(without("cosine"));
    for (const candidate of candidates) candidate.cosine ??= found.get(candidate.passageId) ?? null;
  }
}

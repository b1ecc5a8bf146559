import { sentenceOf } from "../errors.ts";
import type { Hit, Reranker } from "./types.ts";

export const NOT_RERANKED = "Not reranked: the reranker was not done in time.";

/** How many of the first hits are judged again where nobody says how many, as with qmd. */
export const RERANKED = 40;

/**
 * The share of the retrieval's own order in a blended score, by rank from 1: qmd's rule, under which a reranker may reorder the
 * middle freely and has to be sure of itself to move the first three.
 */
export function retrievalShare(rank: number): number {
  if (rank <= 3) return 0.75;
  return rank <= 10 ? 0.6 : 0.4;
}

/**
 * Orders the first hits by `share / rank + (1 − share) · rerank score`, which becomes their score; what was not judged follows.
 * A sentence instead when the reranker is not done by the deadline (milliseconds since 1970) or fails.
 */
export async function reranked(
  query: string,
  hits: Hit[],
  rerank: Reranker,
  deadline: number,
  most = RERANKED,
): Promise<Hit[] | string> {
  const head = hits.slice(0, most);
  if (head.length === 0) return hits;
  const signal = AbortSignal.timeout(Math.max(1, deadline - Date.now()));
  const late = new Promise<string>((resolve) =>
    signal.addEventListener("abort", () => resolve(NOT_RERANKED), { once: true }),
  );
  const texts = head.map((hit) => hit.text);
  const failed = (error: unknown): string => (signal.aborted ? NOT_RERANKED : `Not reranked: ${sentenceOf(error)}`);
  const scores = await Promise.race([rerank(query, texts, signal).catch(failed), late]);
  if (typeof scores === "string") return scores;
  const blended: Hit[] = [];
  for (const [index, hit] of head.entries()) {
    const judged = scores[index] ?? 0;
    const share = retrievalShare(index + 1);
    const explain = hit.explain && { ...hit.explain, rerank: judged };
    blended.push({ ...hit, score: share / (index + 1) + (1 - share) * judged, ...(explain ? { explain } : {}) });
  }
  return [...blended.sort((a, b) => b.score - a.score), ...hits.slice(most)];
}

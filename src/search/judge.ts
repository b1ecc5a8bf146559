import { stripped } from "../home/stripped.ts";

/** How well a list of found files answers a question whose right files are known; everything from 0 to 1 but `hits_at_k`. */
export type Judgement = {
  precision_at_k: number;
  recall: number;
  recall_at_1: number;
  recall_at_3: number;
  recall_at_5: number;
  mrr: number;
  f1: number;
  hits_at_k: number;
  total_expected: number;
  top_files: string[];
  matched_files: string[];
  unmatched_expected_files: string[];
};

/**
 * Judges found files (best first) against those expected. `k` is how many of the expected should stand at the top; a found path
 * answers an expected one when either ends with the other at a path boundary, whatever their case.
 */
export function judged(found: readonly string[], expected: readonly string[], k: number): Judgement {
  const rankOf = (file: string): number => found.findIndex((one) => isSameFile(one, file));
  const ranks = new Map(expected.map((file) => [file, rankOf(file)]));
  const within = (top: number): number => expected.filter((file) => isRanked(ranks.get(file), top)).length;
  const share = (count: number): number => (expected.length === 0 ? 0 : count / expected.length);
  const hits = within(k);
  const precision = k > 0 ? hits / k : 0;
  const matched = within(Infinity);
  const recall = share(matched);
  const first = found.findIndex((one) => expected.some((file) => isSameFile(one, file)));
  return {
    precision_at_k: precision,
    recall,
    recall_at_1: share(within(1)),
    recall_at_3: share(within(3)),
    recall_at_5: share(within(5)),
    mrr: first < 0 ? 0 : 1 / (first + 1),
    f1: precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall),
    hits_at_k: hits,
    total_expected: expected.length,
    top_files: found.slice(0, 10),
    matched_files: expected.filter((file) => isRanked(ranks.get(file), Infinity)),
    unmatched_expected_files: expected.filter((file) => !isRanked(ranks.get(file), Infinity)),
  };
}

function isRanked(rank: number | undefined, top: number): boolean {
  return rank !== undefined && rank >= 0 && rank < top;
}

function isSameFile(a: string, b: string): boolean {
  const [left, right] = [a, b].map((path) => `/${stripped(path.replace(/^qmd:\/\//, ""), "/")}`.toLowerCase());
  return left !== undefined && right !== undefined && (left.endsWith(right) || right.endsWith(left));
}

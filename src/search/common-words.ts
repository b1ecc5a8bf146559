import { CHUNK_PASSAGES, type CountChunk, lengthOfCode } from "../store/common-terms.ts";
import { lengthNorm, saturated } from "./bm25.ts";

/** Passages by the counts that the index keeps of common terms, and the BM25 of these alone. */
export type CountedPassage = { passageId: number; score: number };

/** Whether a passage must hold `every` term or any, the mean length of bodies, and how many of the best are wanted. */
export type Wanted = { every: boolean; meanBody: number; limit: number };

/** Scores are told apart in steps of this; ids count from the first chunk on. Together they fill the 53 bits of a number. */
const SCORE_STEPS = 2 ** 16;
const IDS = 2 ** 26;
/** Lowest bits of eight counts. */
const ONES = 0x11111111;
/** No count is higher. */
const MOST_COUNTED = 15;

/**
 * The best of the passages that hold terms, equal ones by their id, by the counts of each term and what each weighs. Most processes
 * search once and compile none of this, so eight passages are asked at a time whether they hold the terms; where any term will do, those
 * that alone can't lift a passage among the best are not asked (MaxScore, Turtle and Flood 1995).
 */
export function bestByCounts(
  chunks: readonly CountChunk[],
  weights: readonly number[],
  { every, meanBody, limit }: Wanted,
): CountedPassage[] {
  const norms = Float64Array.from({ length: 256 }, (_, code) => lengthNorm(lengthOfCode(code), meanBody));
  const best = bestKeys(limit);
  const base = chunks[0]?.first ?? 0;
  const terms = weights.length;
  // The heaviest first: they find.
  const order = [...weights.keys()].sort((a, b) => weights[b]! - weights[a]!);
  const gains = order.map((term) => saturated(weights[term]!, 1, 0));
  for (const { first, lengths, counts: unordered } of chunks) {
    const counts = order.map((term) => unordered[term]!);
    const finding = every ? terms : findingTerms(gains, best.least);
    for (let word = 0; word < CHUNK_PASSAGES / 8; word++) {
      let holding = every ? heldByEvery(counts, word) : heldByAny(counts, finding, word);
      for (; holding !== 0; holding &= holding - 1) {
        const shift = 31 - Math.clz32(holding & -holding);
        const place = word * 8 + (shift >>> 2);
        const norm = norms[lengths[place]!]!;
        let score = 0;
        for (let term = 0; term < terms; term++) {
          const count = (counts[term]![word]! >>> shift) & MOST_COUNTED;
          score += (gains[term]! * count) / (count + norm);
        }
        if (score > best.least) best.add(Math.round(score * SCORE_STEPS) * IDS + IDS - 1 - (first - base + place));
      }
    }
  }
  return best.highest().map((key) => {
    const rest = key % IDS;
    return { passageId: base + IDS - 1 - rest, score: (key - rest) / IDS / SCORE_STEPS };
  });
}

/** Which of eight passages hold every term: the lowest bit of each one's four. */
function heldByEvery(counts: readonly Int32Array[], word: number): number {
  let holding = ONES;
  for (let term = 0; term < counts.length && holding !== 0; term++) holding &= nonZero(counts[term]![word]!);
  return holding;
}

/** Which of eight passages hold any of the first terms. */
function heldByAny(counts: readonly Int32Array[], terms: number, word: number): number {
  let together = 0;
  for (let term = 0; term < terms; term++) together |= counts[term]![word]!;
  return nonZero(together);
}

function nonZero(eight: number): number {
  const pairs = eight | (eight >>> 1);
  return (pairs | (pairs >>> 2)) & ONES;
}

/** How many of the heaviest terms have to be asked: the others together stay below the least of the best. */
function findingTerms(gains: readonly number[], least: number): number {
  let finding = gains.length;
  for (let rest = 0; finding > 0 && rest + gains[finding - 1]! <= least; finding--) rest += gains[finding - 1]!;
  return finding;
}

/** Collects the highest keys; what scores no more than `least` is none of them. Numbers are sorted in native code. */
function bestKeys(limit: number): { least: number; add: (key: number) => void; highest: () => number[] } {
  const keys = new Float64Array(Math.max(512, 4 * limit));
  let count = 0;
  const highest = (): Float64Array =>
    keys
      .subarray(0, count)
      .sort()
      .subarray(Math.max(0, count - limit));
  const best = {
    least: 0,
    add(key: number): void {
      keys[count++] = key;
      if (count < keys.length) return;
      keys.set(highest());
      count = limit;
      best.least = Math.floor(keys[0]! / IDS) / SCORE_STEPS;
    },
    highest: () => [...highest()].reverse(),
  };
  return best;
}

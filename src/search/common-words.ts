import { BIT_WORDS, type CountChunk, lengthOfCode } from "../store/common-terms.ts";
import { lengthNorm, saturated } from "./bm25.ts";

/** Passages by the counts that the index keeps of common terms, and the BM25 of these alone. */
export type CountedPassage = { passageId: number; score: number };

/** Whether a passage must hold `every` term or any, the mean length of bodies, and how many of the best are wanted. */
export type Wanted = { every: boolean; meanBody: number; limit: number };

/** Scores are told apart in steps of this; ids count from the first chunk on. Together they fill the 53 bits of a number. */
const SCORE_STEPS = 2 ** 16;
const IDS = 2 ** 26;
/** So many are collected before the best of them are told for the first time. */
const LEAST_KEYS = 256;

/** The number of the only bit of a number, by its remainder when divided by 37. */
const BITS = new Uint8Array(37);
for (let bit = 0; bit < 32; bit++) BITS[2 ** bit % 37] = bit;

/**
 * The best of the passages that hold terms, equal ones by their id, by the counts of each term and what each weighs. Most processes
 * search once and compile none of this: so 32 passages are asked at a time whether they hold the terms, nothing is called in the loops,
 * and numbers are sorted in native code. Where any term will do, those that alone can't lift a passage among the best are not asked
 * (MaxScore, Turtle and Flood 1995).
 */
export function bestByCounts(
  chunks: readonly CountChunk[],
  weights: readonly number[],
  { every, meanBody, limit }: Wanted,
): CountedPassage[] {
  const norms = new Float64Array(256);
  for (let code = 0; code < 256; code++) norms[code] = lengthNorm(lengthOfCode(code), meanBody);
  const base = chunks[0]?.first ?? 0;
  const terms = weights.length;
  // The heaviest first: they find.
  const order = [...weights.keys()].sort((a, b) => weights[b]! - weights[a]!);
  const gains = Float64Array.from(order, (term) => saturated(weights[term]!, 1, 0));
  const keys = new Float64Array(Math.max(LEAST_KEYS, 2 * limit));
  let found = 0;
  let least = 0;
  for (const { first, lengths, counts: unordered } of chunks) {
    const counts = order.map((term) => unordered[term]!);
    const finding = every ? terms : findingTerms(gains, least);
    for (let word = 0; word < BIT_WORDS; word++) {
      let holding = finding === 0 ? 0 : counts[0]![word]!;
      if (every) for (let term = 1; term < terms; term++) holding &= counts[term]![word]!;
      else for (let term = 1; term < finding; term++) holding |= counts[term]![word]!;
      for (; holding !== 0; holding &= holding - 1) {
        const bit = BITS[((holding & -holding) >>> 0) % 37]!;
        const place = (word << 5) + bit;
        const eight = BIT_WORDS + (place >>> 3);
        const shift = (bit & 7) << 2;
        const norm = norms[lengths[place]!]!;
        let score = 0;
        for (let term = 0; term < terms; term++) {
          const count = (counts[term]![eight]! >>> shift) & 15;
          score += (gains[term]! * count) / (count + norm);
        }
        if (score <= least) continue;
        keys[found++] = ((score * SCORE_STEPS) | 0) * IDS + IDS - 1 - (first - base + place);
        if (found < keys.length) continue;
        keys.set(keys.sort().subarray(found - limit));
        found = limit;
        least = (keys[0]! - (keys[0]! % IDS)) / IDS / SCORE_STEPS;
      }
    }
  }
  const best = [...keys.subarray(0, found).sort()].reverse().slice(0, limit);
  return best.map((key) => {
    const rest = key % IDS;
    return { passageId: base + IDS - 1 - rest, score: (key - rest) / IDS / SCORE_STEPS };
  });
}

/** How many of the heaviest terms have to be asked: the others together stay below the least of the best. */
function findingTerms(gains: Float64Array, least: number): number {
  let finding = gains.length;
  for (let rest = 0; finding > 0 && rest + gains[finding - 1]! <= least; finding--) rest += gains[finding - 1]!;
  return finding;
}

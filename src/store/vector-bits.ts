import { lengthOf } from "./ranking.ts";

/** One code after the other, `words` words each. */
type Codes = { codes: Int32Array; words: number };

/** Differing bits are counted in bytes, which can take ten times three words before they overflow. */
const WORDS_AT_ONCE = 30;

/** Marks a distance as out of scope. */
export const OUTSIDE = 0xffff;

/** Sets a bit for each dimension in which the vector, brought to length 1, lies above the mean. */
export function writeCode(vector: Float32Array, mean: Float32Array, codes: Int32Array, offset: number): void {
  const length = lengthOf(vector) || 1;
  for (let i = 0; i < vector.length; i++) {
    if (vector[i]! > mean[i]! * length) codes[offset + (i >> 5)]! |= 1 << (i & 31);
  }
}

/**
 * Bits in which each code differs from `code`. Three words at a time go through a full adder (a bit of weight one, one of
 * weight two), which halves the counting.
 */
export function differingBits({ codes, words, length }: Codes & { length: number }, code: Int32Array): Uint16Array {
  const distances = new Uint16Array(length);
  for (let start = 0; start < words; start += WORDS_AT_ONCE) {
    const end = Math.min(start + WORDS_AT_ONCE, words);
    for (let entry = 0; entry < length; entry++) {
      let bytes = 0;
      let at = entry * words + start;
      for (let word = start; word < end; word += 3, at += 3) {
        const a = codes[at]! ^ code[word]!;
        const b = codes[at + 1]! ^ code[word + 1]!;
        const c = codes[at + 2]! ^ code[word + 2]!;
        const either = a ^ b;
        let ones = either ^ c;
        let twos = (a & b) | (either & c);
        ones -= (ones >>> 1) & 0x55555555;
        ones = (ones & 0x33333333) + ((ones >>> 2) & 0x33333333);
        twos -= (twos >>> 1) & 0x55555555;
        twos = (twos & 0x33333333) + ((twos >>> 2) & 0x33333333);
        const nibbles = ones + (twos << 1);
        bytes = (bytes + (nibbles & 0x0f0f0f0f) + ((nibbles >>> 4) & 0x0f0f0f0f)) | 0;
      }
      distances[entry]! += (bytes >>> 24) + ((bytes >>> 16) & 255) + ((bytes >>> 8) & 255) + (bytes & 255);
    }
  }
  return distances;
}

/** Entries of the lowest distances, about `count` of them: all of the last distance that is needed are taken. */
export function lowest(distances: Uint16Array, length: number, count: number): number[] {
  const tally = new Uint32Array(OUTSIDE + 1);
  for (let at = 0; at < length; at++) tally[distances[at]!]!++;
  let limit = 0;
  for (let seen = tally[0]!; seen < count && limit < OUTSIDE - 1;) seen += tally[++limit]!;
  const found: number[] = [];
  for (let at = 0; at < length; at++) if (distances[at]! <= limit) found.push(at);
  return found;
}

/**
 * For each entry the sum over all dimensions of the query's distance from the mean, taken away where the entry's bit is not
 * set. Sums for each possible byte are made first, so that an entry costs one addition for eight dimensions.
 */
export function innerProducts(
  { codes, words }: Codes,
  mean: Float32Array,
  query: Float32Array,
  entries: readonly number[],
): Float64Array {
  const length = lengthOf(query) || 1;
  const perEntry = words * 4;
  const sums = new Float32Array(perEntry * 256);
  for (let byte = 0; byte < perEntry; byte++) {
    const at = byte * 256;
    for (let bit = 0; bit < 8; bit++) {
      const i = byte * 8 + bit;
      const value = i < query.length ? query[i]! / length - mean[i]! : 0;
      for (let low = 0, high = 1 << bit; low < high; low++) {
        sums[at + high + low] = sums[at + low]! + value;
        sums[at + low]! -= value;
      }
    }
  }
  const bytes = new Uint8Array(codes.buffer, codes.byteOffset, codes.byteLength);
  return Float64Array.from(entries, (entry) => {
    let sum = 0;
    for (let byte = 0, at = entry * perEntry; byte < perEntry; byte++, at++) sum += sums[byte * 256 + bytes[at]!]!;
    return sum;
  });
}

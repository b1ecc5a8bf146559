/** Cosine of two vectors of one length, 0 when either is all zero. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let dot = 0;
  let aa = 0;
  let bb = 0;
  for (let i = 0; i < a.length; i++) {
    const x = a[i]!;
    const y = b[i]!;
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  return aa === 0 || bb === 0 ? 0 : dot / Math.sqrt(aa * bb);
}

/** Euclidean length of a vector. */
export function lengthOf(vector: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < vector.length; i++) sum += vector[i]! * vector[i]!;
  return Math.sqrt(sum);
}

/** Positions of scores from the highest down, sorted in growing portions since seldom more than the first is needed. */
export function* descending(scores: Float64Array): Generator<number> {
  const sorted = scores.slice().sort();
  let above = Infinity;
  for (let portion = 512; above > -Infinity; portion *= 8) {
    const from = portion >= sorted.length ? -Infinity : (sorted[sorted.length - portion] ?? -Infinity);
    const part: number[] = [];
    for (let i = 0; i < scores.length; i++) if (scores[i]! >= from && scores[i]! < above) part.push(i);
    yield* part.sort((a, b) => scores[b]! - scores[a]! || a - b);
    above = from;
  }
}

/** Term frequency saturation and length normalisation, Robertson's defaults. */
const K1 = 1.2;
const B = 0.75;

/** What a passage of `length` tokens adds to a term's frequency where it stands below the line. */
export function lengthNorm(length: number, meanLength: number): number {
  return K1 * (1 - B + (B * length) / Math.max(meanLength, 1));
}

/** BM25 of one term: more of it counts ever less. */
export function saturated(weight: number, frequency: number, norm: number): number {
  return (weight * frequency * (K1 + 1)) / (frequency + norm);
}

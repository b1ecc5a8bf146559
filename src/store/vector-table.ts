import { MemqError } from "../errors.ts";
import { loadVec } from "./vec-extension.ts";
import { deletePacked, getPacked, isPackedEmpty, packedDimensions, putPacked, scanPacked } from "./vector-packed.ts";
import { getManyShadow, getShadow, isShadowEmpty, shadowLayout } from "./vector-shadow.ts";
import { createVec0, deleteVec0, dropVec0, getVec0, putVec0 } from "./vector-vec0.ts";
import type { Index } from "./types.ts";

/** Chunks up to this size are read whole for one vector; from larger ones the extension, if there, reads a single vector faster. */
const SMALL_CHUNK = 64;

/*
 * The vectors that searches use, whichever form they are in: `vectors_vec` where sqlite-vec loads, else rows of
 * `memq_vectors`, which come before what `vectors_vec` may still hold for the same key.
 */

/** Length of the stored vectors, null when there are none. */
export function vectorDimensions(index: Index): number | null {
  return (
    packedDimensions(index, "memq_vectors") ?? (isShadowEmpty(index) ? null : (shadowLayout(index)?.dimensions ?? null))
  );
}

/** Throws `VECTOR_DIMENSIONS` when a vector of this length does not fit those stored. */
export function checkDimensions(index: Index, length: number): void {
  const stored = vectorDimensions(index);
  if (stored === null || stored === length) return;
  throw new MemqError(
    "VECTOR_DIMENSIONS",
    `Embedding dimension mismatch: existing vectors are ${stored}d but the current model produces ${length}d.`,
    { hint: "Run 'embed -f' to embed again with the new model." },
  );
}

/** Stores a vector under its key; the caller is in a transaction and has checked its length. */
export function putVector(index: Index, vectorKey: string, vector: Float32Array): void {
  if (loadVec(index) === "packed") return putPacked(index, "memq_vectors", vectorKey, vector);
  if (shadowLayout(index)?.dimensions !== vector.length) {
    if (isShadowEmpty(index)) dropVec0(index);
    createVec0(index, vector.length);
  }
  putVec0(index, vectorKey, vector);
  deletePacked(index, "memq_vectors", vectorKey);
}

/** Deletes a vector; without the extension one that stands in `vectors_vec` stays there, for `cleanup` elsewhere to find. */
export function deleteVector(index: Index, vectorKey: string): void {
  deletePacked(index, "memq_vectors", vectorKey);
  if (shadowLayout(index) !== null && loadVec(index) === "vec0") deleteVec0(index, vectorKey);
}

/** Vectors by key; keys without one are absent. */
export function getVectors(index: Index, keys: readonly string[]): Map<string, Float32Array> {
  const found = new Map<string, Float32Array>();
  if (!isPackedEmpty(index, "memq_vectors")) {
    for (const key of keys) {
      const vector = getPacked(index, "memq_vectors", key);
      if (vector !== null) found.set(key, vector);
    }
  }
  const layout = shadowLayout(index);
  const rest = keys.filter((key) => !found.has(key));
  if (layout === null || rest.length === 0) return found;
  const large = layout.chunkSize > SMALL_CHUNK;
  if (large && loadVec(index) === "packed") {
    for (const [key, vector] of getManyShadow(index, layout, rest)) found.set(key, vector);
    return found;
  }
  for (const key of rest) {
    const vector = large ? getVec0(index, key) : getShadow(index, layout, key);
    if (vector !== null) found.set(key, vector);
  }
  return found;
}

/** Moves vectors that were stored without the extension into `vectors_vec`, so that each stands once. */
export function absorbPacked(index: Index): void {
  if (isPackedEmpty(index, "memq_vectors") || loadVec(index) === "packed") return;
  const layout = shadowLayout(index);
  const dimensions = packedDimensions(index, "memq_vectors") ?? 0;
  if (layout !== null && layout.dimensions !== dimensions) dropVec0(index);
  createVec0(index, dimensions);
  scanPacked(index, "memq_vectors", 0, (_, key, vector) => putVec0(index, key, vector));
  index.db.run("DELETE FROM memq_vectors");
}

/** Drops every vector. Without the extension `vectors_vec` can't be dropped, so its ordinary tables are emptied. */
export function clearVectorTable(index: Index): void {
  index.db.run("DELETE FROM memq_vectors");
  if (shadowLayout(index) === null) return;
  if (loadVec(index) === "vec0") return dropVec0(index);
  for (const table of ["rowids", "chunks", "vector_chunks00"]) index.db.run(`DELETE FROM vectors_vec_${table}`);
}

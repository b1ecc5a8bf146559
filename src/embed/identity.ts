import type { Cutting } from "../notes/types.ts";
import type { VectorIdentity } from "../store/types.ts";
import { sha256 } from "../sha256.ts";
import type { PromptForm } from "./prompts.ts";
import type { EmbeddingProvider } from "./types.ts";

type Space = Pick<EmbeddingProvider, "id" | "model" | "endpoint" | "dimensions" | "documentInputType" | "promptForm">;

/** What a provider says of the vectors it makes. */
export type VectorSpace = Space & Pick<EmbeddingProvider, "fingerprint" | "weights">;

/** How a home's documents are cut, in one word. */
export function cuttingName(cutting: Cutting): string {
  return cutting.kind === "breakpoints"
    ? `breakpoints:${cutting.maxChars}/${cutting.overlapChars}/${cutting.windowChars}`
    : `${cutting.kind}:${cutting.maxWeight}/${cutting.overlapWeight}`;
}

/**
 * What identifies the vectors that `provider` makes of passages cut by `cutting`. Keys, headers, batch sizes and limits are no
 * part of it. A fingerprint of qmd's already stands for its cutting; ours is made of all other fields but the weights, which no
 * fingerprint knows.
 */
export function identityOf(provider: VectorSpace, cutting: Cutting): VectorIdentity {
  const cut = cuttingName(cutting);
  const weights = provider.weights?.();
  return {
    provider: provider.id,
    model: provider.model,
    endpoint: provider.endpoint,
    dimensions: provider.dimensions,
    documentInputType: provider.documentInputType,
    promptForm: provider.promptForm,
    cutting: cut,
    ...(weights === undefined ? {} : { weights }),
    fingerprint: isQmdForm(provider.promptForm) ? provider.fingerprint : sixDigits([...spaceParts(provider), cut]),
  };
}

/** Six hexadecimal digits that stand for the space a provider's vectors live in, however passages are cut. */
export function fingerprintOf(space: Space): string {
  return sixDigits(spaceParts(space));
}

/**
 * qmd's fingerprint of a GGUF model: SHA-256 over the model's URI, its two prompts around fixed probes, and qmd's cutting in
 * tokens; the first six hexadecimal digits.
 */
export function qmdFingerprint(uri: string, form: PromptForm): string {
  const lines = [
    `model:${uri}`,
    `query:${form.query("__qmd_embedding_query_probe__")}`,
    `doc:${form.document("__qmd_embedding_document_probe__", "__qmd_embedding_title_probe__")}`,
    "chunk_tokens:900",
    "chunk_overlap_tokens:135",
  ];
  return sha256(lines.join("\n")).slice(0, 6);
}

function isQmdForm(promptForm: string): boolean {
  return promptForm.startsWith("qmd/");
}

function spaceParts(space: Space): unknown[] {
  return [space.id, space.model, space.endpoint, space.dimensions, space.documentInputType, space.promptForm];
}

function sixDigits(parts: unknown[]): string {
  return sha256(JSON.stringify(parts)).slice(0, 6);
}

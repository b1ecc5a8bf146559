/** A text, or a picture or sound with a label. */
export type EmbedInput = { text: string; media?: { mimeType: string; data: Uint8Array } };

/**
 * Where embeddings come from. Implementations throw `MemqError` with code `EMBED_UNAVAILABLE` (refused, unauthorised, out of
 * quota, model missing: say it), `EMBED_REJECTED` (this very input) or `EMBED_TIMEOUT` (no answer).
 */
export type EmbeddingProvider = {
  /** `openai`, `local`, … */
  id: string;
  /** Whether it runs on this machine under our control (GGUF): its failure never makes a search unavailable. */
  local: boolean;
  model: string;
  /** Part of the vectors' identity: normalised endpoint, "" for local models. */
  endpoint: string;
  /** Configured output length, null when the model decides. */
  dimensions: number | null;
  /** Input type or prompt form used for documents; part of the vectors' identity. */
  documentInputType: string | null;
  promptForm: string;
  /** qmd's fingerprint for GGUF models in a qmd home, else one of ours; six hex digits. */
  fingerprint: string;
  /** Upper bound for one text, in UTF-8 bytes (a safe upper bound for tokens). */
  maxInputBytes: number;
  /** One vector; empty or all-zero means "no vector leg". */
  embedQuery(text: string, signal: AbortSignal): Promise<Float32Array>;
  /** One vector per input, in order, all of one length, finite; whole batches, retries and limits are inside. */
  embedDocuments(inputs: EmbedInput[], signal: AbortSignal): Promise<Float32Array[]>;
  close(): Promise<void>;
};

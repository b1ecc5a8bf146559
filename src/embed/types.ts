/** A text, or a picture or sound with a label. `title` is used only by prompt forms that name the document. */
export type EmbedInput = { text: string; title?: string; media?: { mimeType: string; data: Uint8Array } };

/** What happens on the way, so that work already done is kept when the rest fails. */
export type EmbedReport = {
  /** Called as each request's vectors arrive, with the positions of their inputs; awaited, so it may write. */
  onVectors?: (indices: number[], vectors: Float32Array[]) => void | Promise<void>;
  /** An input the provider refuses whatever it is sent with; its vector is empty. Without this the call throws instead. */
  onRejected?: (index: number, error: Error) => void;
  /** Called when nothing has come for a while, with a sentence that says what is waited for. */
  onWait?: ((sentence: string) => void) | undefined;
};

/** How asynchronous batch jobs fare in this process; after `limit` failures they are off (`enabled`). */
export type BatchStatus = {
  enabled: boolean;
  failures: number;
  limit: number;
  wait: boolean;
  concurrency: number;
  pollIntervalMs: number;
  timeoutMs: number;
  lastError?: string;
  lastProvider?: string;
};

/**
 * Where embeddings come from. Implementations throw `MemqError` with code `EMBED_UNAVAILABLE` (refused, unauthorised, out of
 * quota, model missing: say it), `EMBED_REJECTED` (this very input), `EMBED_TIMEOUT` (no answer) or `EMBED_PENDING` (a batch
 * job was submitted and is not awaited: ask again later).
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
  /** Of a GGUF model what tells its file from others of its name, as it is now; undefined while it is not here. */
  weights?: () => string | undefined;
  /** qmd's fingerprint for GGUF models in a qmd home, else one of ours; six hex digits. */
  fingerprint: string;
  /** Upper bound for one text, in UTF-8 bytes (a safe upper bound for tokens). A longer document goes in pieces, a longer query is cut. */
  maxInputBytes: number;
  /** Whether pictures and sounds can be embedded. */
  media: boolean;
  /** One vector; empty or all-zero means "no vector leg". */
  embedQuery(text: string, signal: AbortSignal): Promise<Float32Array>;
  /**
   * One vector per input, in order, all of one length, finite; batches, retries and limits are inside. A blank input, and one
   * that is reported as rejected, has an empty vector.
   */
  embedDocuments(inputs: EmbedInput[], signal: AbortSignal, report?: EmbedReport): Promise<Float32Array[]>;
  /** Only where asynchronous batch jobs exist. */
  batchStatus?: () => BatchStatus;
  close(): Promise<void>;
};

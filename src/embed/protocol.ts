import type { JobService } from "./batch-jobs/types.ts";
import type { ExchangeContext } from "./exchange.ts";
import type { EmbedInput } from "./types.ts";

export type Purpose = "query" | "document";

/** What is peculiar to one provider; packing, retries, limits and checks are the sender's and the same for all. */
export type Protocol = {
  id: string;
  model: string;
  /** Normalised, without credentials. */
  endpoint: string;
  /** Length asked for, null when the model decides. */
  dimensions: number | null;
  documentInputType: string | null;
  promptForm: string;
  maxInputBytes: number;
  /** Texts that one request may carry. */
  maxItems: number;
  /** Requests under way at the same time, unless configured. */
  concurrency: number;
  /** Whether vectors are scaled to length 1 here. */
  normalise: boolean;
  media: boolean;
  /** A server that may run on this machine's processor: longer time limits. */
  slow: boolean;
  /** Begins the sentence of a failure: `openai embeddings failed:`. */
  failure: string;
  /** The service's asynchronous batch jobs, where it has them. */
  jobs?: () => Promise<JobService>;
  /** One attempt: the raw vectors of `inputs`, in their order. Throws `EmbedError`. */
  embed(
    inputs: readonly EmbedInput[],
    purpose: Purpose,
    signal: AbortSignal,
    context: ExchangeContext,
  ): Promise<unknown[]>;
};

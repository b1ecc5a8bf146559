import type { EmbeddingSettings } from "../home/types.ts";
import type { JobStore } from "./batch-jobs/types.ts";
import { cutToBytes } from "./batches.ts";
import { collectVectors } from "./collect.ts";
import type { ExchangeContext } from "./exchange.ts";
import { fingerprintOf } from "./identity.ts";
import type { Protocol } from "./protocol.ts";
import { createSender, type Patience, type Sender } from "./send.ts";
import type { EmbeddingProvider } from "./types.ts";

export type RemoteOptions = {
  context: ExchangeContext;
  patience: { query: Patience; document: Patience };
  /** Requests under way at the same time; the protocol's own number unless configured. */
  concurrency?: number;
  batch: EmbeddingSettings["batch"];
  /** Where submitted batch jobs are kept; in memory unless given. */
  jobStore?: JobStore;
  /** Whether a call waits for its jobs where `batch.wait` says so; else it ends in `EMBED_PENDING`. On unless false. */
  awaitsJobs?: boolean;
};

/** A provider that speaks `protocol`; with batch jobs where they are enabled and the service has them. */
export async function createRemoteProvider(protocol: Protocol, options: RemoteOptions): Promise<EmbeddingProvider> {
  const sender = createSender(protocol, options.patience, options.context);
  const fingerprint = fingerprintOf(protocol);
  const jobs = await jobSender(protocol, fingerprint, sender, options);
  const width = options.concurrency ?? protocol.concurrency;
  const { id, model, endpoint, dimensions, documentInputType, promptForm, maxInputBytes, media } = protocol;
  return {
    id,
    local: false,
    model,
    endpoint,
    dimensions,
    documentInputType,
    promptForm,
    maxInputBytes,
    media,
    fingerprint,
    async embedQuery(text, signal) {
      if (text.trim() === "") return new Float32Array(0);
      return sender.query(cutToBytes(text, maxInputBytes), signal);
    },
    embedDocuments: (inputs, signal, report = {}) =>
      collectVectors(inputs, protocol, report, (items, sending) =>
        (jobs ?? sender).documents(items, width, signal, sending),
      ),
    batchStatus: jobs?.status,
    close: async () => {},
  };
}

async function jobSender(protocol: Protocol, fingerprint: string, sender: Sender, options: RemoteOptions) {
  const { batch, context, patience, jobStore, awaitsJobs = true } = options;
  if (!batch.enabled || protocol.jobs === undefined) return null;
  const [{ createJobSender }, { memoryJobStore }] = await Promise.all([
    import("./batch-jobs/run.ts"),
    import("./batch-jobs/types.ts"),
  ]);
  return createJobSender({
    protocol,
    fingerprint,
    service: await protocol.jobs(),
    store: jobStore ?? memoryJobStore(),
    batch,
    awaitsJobs,
    inline: sender.documents,
    patience: patience.document,
    context,
  });
}

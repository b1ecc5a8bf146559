import { cutToBytes, inputBytes, type Item } from "./batches.ts";
import { EmbedError } from "./errors.ts";
import type { ExchangeContext } from "./exchange.ts";
import { fingerprintOf } from "./identity.ts";
import type { Protocol } from "./protocol.ts";
import { createSender, type Patience, type Sender, type SendReport } from "./send.ts";
import type { EmbedInput, EmbeddingProvider } from "./types.ts";

export type RemoteOptions = {
  context: ExchangeContext;
  patience: { query: Patience; document: Patience };
  /** Requests under way at the same time; the protocol's own number unless configured. */
  concurrency?: number;
};

/** A provider that speaks `protocol`. */
export function createRemoteProvider(protocol: Protocol, options: RemoteOptions): EmbeddingProvider {
  const sender = createSender(protocol, options.patience, options.context);
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
    fingerprint: fingerprintOf(protocol),
    async embedQuery(text, signal) {
      if (text.trim() === "") return new Float32Array(0);
      return sender.query(cutToBytes(text, maxInputBytes), signal);
    },
    embedDocuments: (inputs, signal, report = {}) =>
      collectVectors(inputs, protocol, report, (items, sending) => sendAll(sender, items, width, signal, sending)),
    close: async () => {},
  };
}

const sendAll = (
  sender: Sender,
  items: Item[],
  width: number,
  signal: AbortSignal,
  report: SendReport,
): Promise<void> => sender.documents(items, width, signal, report);

/** The vectors of `inputs` in order, empty for blank and rejected ones, whatever order `send` reports them in. */
export async function collectVectors(
  inputs: readonly EmbedInput[],
  protocol: Pick<Protocol, "id" | "model" | "maxInputBytes" | "media">,
  report: Parameters<EmbeddingProvider["embedDocuments"]>[2],
  send: (items: Item[], report: SendReport) => Promise<void>,
): Promise<Float32Array[]> {
  const vectors = inputs.map(() => new Float32Array(0));
  const rejected: EmbedError[] = [];
  const onRejected = (index: number, error: EmbedError): void => {
    if (report?.onRejected) report.onRejected(index, error);
    else rejected.push(error);
  };
  const items: Item[] = [];
  for (const [index, input] of inputs.entries()) {
    const noMedia = input.media !== undefined && !protocol.media;
    if (noMedia) onRejected(index, new EmbedError("refused", `${protocol.model} embeds no pictures or sounds.`));
    else if (input.media !== undefined || input.text.trim() !== "")
      items.push(itemOf(index, input, protocol.maxInputBytes));
  }
  await send(items, {
    async onVectors(done, made) {
      const indices = done.map((item) => item.index);
      for (const [i, index] of indices.entries()) vectors[index] = made[i] as Float32Array<ArrayBuffer>;
      await report?.onVectors?.(indices, made);
    },
    onRejected: (item, error) => onRejected(item.index, error),
  });
  if (rejected[0] !== undefined) throw rejected[0];
  return vectors;
}

function itemOf(index: number, input: EmbedInput, maxBytes: number): Item {
  const cut = { ...input, text: cutToBytes(input.text, maxBytes) };
  return { index, input: cut, bytes: inputBytes(cut) };
}

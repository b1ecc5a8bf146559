import { inputBytes, pieces, type Item } from "./batches.ts";
import { EmbedError } from "./errors.ts";
import type { Protocol } from "./protocol.ts";
import type { SendReport } from "./send.ts";
import type { EmbedInput, EmbedReport } from "./types.ts";
import { normalised } from "./vectors.ts";

/** What is still missing of an input's vector, and the positions of all inputs with the same words. */
type Pending = { missing: number; sum: Float32Array | null; indices: number[] };

/**
 * The vectors of `inputs` in order, whatever order `send` reports them in; empty for blank and rejected ones. A text above the
 * provider's limit is embedded in even pieces, and its vector is their mean by length: nothing of it is lost. The same text is
 * sent once. Rejections go to `report.onRejected`; without it the first one is thrown after all else is done.
 */
export async function collectVectors(
  inputs: readonly EmbedInput[],
  protocol: Pick<Protocol, "model" | "maxInputBytes" | "media">,
  report: EmbedReport,
  send: (items: Item[], report: SendReport) => Promise<void>,
): Promise<Float32Array[]> {
  const vectors: Float32Array[] = inputs.map(() => new Float32Array(0));
  const pending = new Map<number, Pending>();
  const rejected = new Map<number, EmbedError>();
  const reject = (index: number, error: EmbedError): void => {
    if (rejected.has(index)) return;
    for (const same of pending.get(index)?.indices ?? [index]) {
      rejected.set(same, error);
      report.onRejected?.(same, error);
    }
  };
  const firsts = new Map<string, number>();
  const items: Item[] = [];
  for (const [index, input] of inputs.entries()) {
    if (input.media && !protocol.media) {
      reject(index, new EmbedError("refused", `${protocol.model} embeds no pictures or sounds.`));
      continue;
    }
    const words = JSON.stringify([input.title, input.text]);
    const first = input.media ? undefined : firsts.get(words);
    if (first !== undefined) {
      pending.get(first)?.indices.push(index);
      continue;
    }
    if (!input.media) firsts.set(words, index);
    const parts = itemsOf(index, input, protocol.maxInputBytes);
    pending.set(index, { missing: parts.length, sum: null, indices: [index] });
    items.push(...parts);
  }
  await send(items, {
    async onVectors(done, made) {
      const finished: number[] = [];
      for (const [i, item] of done.entries()) {
        const input = pending.get(item.index);
        const vector = addPiece(input, item, made[i] as Float32Array);
        if (vector === null || rejected.has(item.index)) continue;
        for (const index of input?.indices ?? []) {
          vectors[index] = vector;
          finished.push(index);
        }
      }
      const complete = finished.map((index) => vectors[index] as Float32Array);
      if (finished.length > 0) await report.onVectors?.(finished, complete);
    },
    onRejected: (item, error) => reject(item.index, error),
    onWait: report.onWait,
  });
  const [first] = rejected.values();
  if (first !== undefined && !report.onRejected) throw first;
  return vectors;
}

function itemsOf(index: number, input: EmbedInput, maxBytes: number): Item[] {
  if (input.media) return [{ index, input, bytes: inputBytes(input), pieces: 1 }];
  if (input.text.trim() === "") return [];
  const texts = pieces(input.text, maxBytes);
  return texts.map((text) => {
    const piece = { ...input, text };
    return { index, input: piece, bytes: inputBytes(piece), pieces: texts.length };
  });
}

/** The input's vector once its last piece is there, null before. */
function addPiece(pending: Pending | undefined, item: Item, vector: Float32Array): Float32Array | null {
  if (item.pieces === 1 || pending === undefined) return vector;
  pending.sum ??= new Float32Array(vector.length);
  for (const [i, value] of vector.entries()) pending.sum[i] = (pending.sum[i] ?? 0) + value * item.bytes;
  return --pending.missing === 0 ? normalised(pending.sum) : null;
}

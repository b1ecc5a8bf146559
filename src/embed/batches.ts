import type { EmbedInput } from "./types.ts";

/** Texts of one request together: up to this many UTF-8 bytes, which bounds their tokens from above. */
export const REQUEST_BYTES = 8000;

/** An input, or one of several pieces of it, with the input's position in the call and its own size in a request. */
export type Item = { index: number; input: EmbedInput; bytes: number; pieces: number };

/** UTF-8 bytes an input takes in a request; media counts as base64. */
export function inputBytes(input: EmbedInput): number {
  const text = Buffer.byteLength(input.text) + Buffer.byteLength(input.title ?? "");
  return input.media ? text + input.media.mimeType.length + Math.ceil(input.media.data.length / 3) * 4 : text;
}

/**
 * Items in order, packed into requests of at most `maxItems` items and `REQUEST_BYTES` bytes; a larger single item goes
 * alone.
 */
export function packed(items: readonly Item[], maxItems: number): Item[][] {
  const batches: Item[][] = [];
  let batch: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    if (batch.length > 0 && (batch.length >= maxItems || bytes + item.bytes > REQUEST_BYTES)) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += item.bytes;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/** The longest beginning of `text` that takes at most `maxBytes` in UTF-8 and ends between two characters. */
export function cutToBytes(text: string, maxBytes: number): string {
  // A UTF-16 unit never takes more than three bytes.
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}

/** `text` in pieces of about the same size, each of at most `maxBytes` in UTF-8, cut at blanks where there are any. */
export function pieces(text: string, maxBytes: number): string[] {
  const bytes = Buffer.byteLength(text);
  const target = Math.min(maxBytes, Math.ceil(bytes / Math.ceil(bytes / maxBytes)) + 16);
  const found: string[] = [];
  for (let rest = text; rest !== "";) {
    let piece = cutToBytes(rest, target);
    const blank = piece.length < rest.length ? piece.search(/\s\S*$/) : -1;
    if (blank > piece.length * 0.8) piece = piece.slice(0, blank + 1);
    // A limit below one character's bytes would never get on.
    if (piece === "") piece = String.fromCodePoint(rest.codePointAt(0) ?? 0);
    found.push(piece);
    rest = rest.slice(piece.length);
  }
  return found;
}

/** Runs `work` over `tasks`, at most `width` at a time. After a failure nothing new is begun; the first one is thrown. */
export async function pooled<T>(tasks: readonly T[], width: number, work: (task: T) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < tasks.length && failures.length === 0) {
      const task = tasks[next++] as T;
      await work(task).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(width, tasks.length)) }, worker));
  if (failures.length > 0) throw failures[0];
}

import { open, stat } from "node:fs/promises";

export type DeltaThresholds = { deltaBytes: number; deltaMessages: number };

/** Growth of transcripts since they were last indexed. */
export type TranscriptDeltas = {
  /**
   * Looks at a transcript that grew; true when, since the last true, it grew by `deltaBytes` or by `deltaMessages` lines. A
   * threshold of 0 or less is reached by any growth. A file seen for the first time counts from `indexedBytes`. True of a folder too:
   * it came, with transcripts in it; and of a transcript that was indexed and is gone, since what was deleted must not be found.
   */
  grown(path: string, indexedBytes: number): Promise<boolean>;
};

type Counter = { size: number; bytes: number; messages: number };

/** Counts the growth of transcripts in this process, in which nothing is known at first. */
export function transcriptDeltas(thresholds: DeltaThresholds): TranscriptDeltas {
  const counters = new Map<string, Counter>();
  /** Looks come one after another: two at once would not add up, and the older size of two would seem a file that shrank. */
  let last: Promise<unknown> = Promise.resolve();

  async function look(path: string, indexedBytes: number): Promise<boolean> {
    const stats = await stat(path).catch(() => null);
    if (stats === null) {
      counters.delete(path);
      return indexedBytes > 0;
    }
    if (stats.isDirectory()) return true;
    const { size } = stats;
    const counter = counters.get(path) ?? { size: indexedBytes, bytes: 0, messages: 0 };
    counters.set(path, counter);
    // A file that shrank was rotated or rewritten: all of it is new.
    if (size < counter.size) Object.assign(counter, { size: 0, bytes: 0, messages: 0 });
    const from = counter.size;
    if (size === from) return false;
    counter.size = size;
    counter.bytes += size - from;
    if (counter.bytes < thresholds.deltaBytes) counter.messages += await countNewlines(path, from, size);
    if (counter.bytes < thresholds.deltaBytes && counter.messages < thresholds.deltaMessages) return false;
    counter.bytes = 0;
    counter.messages = 0;
    return true;
  }

  return {
    grown(path, indexedBytes) {
      const next = last.catch(() => {}).then(() => look(path, indexedBytes));
      last = next;
      return next;
    },
  };
}

async function countNewlines(path: string, from: number, to: number): Promise<number> {
  const file = await open(path, "r");
  try {
    const buffer = Buffer.alloc(64 * 1024);
    let count = 0;
    for (let at = from; at < to;) {
      const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, to - at), at);
      if (bytesRead === 0) break;
      for (let i = 0; i < bytesRead; i++) if (buffer[i] === 10) count += 1;
      at += bytesRead;
    }
    return count;
  } finally {
    await file.close();
  }
}

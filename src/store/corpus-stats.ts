import type { Index } from "./types.ts";

/** Number of passages, and the mean number of tokens in their bodies. */
export type CorpusStats = { passages: number; meanBody: number };

/** Reads FTS5's own running totals (the "averages" record, row 1 of its data table): no scan, whatever the size. */
export function corpusStats(index: Index): CorpusStats {
  const record = index.db.query<{ block: Uint8Array }, []>("SELECT block FROM memq_fts_data WHERE id = 1").get()?.block;
  const [passages = 0, body = 0] = varints(record ?? new Uint8Array());
  return { passages, meanBody: passages === 0 ? 0 : body / passages };
}

/** SQLite's variable-length integers: seven bits a byte, most significant first. */
export function varints(bytes: Uint8Array): number[] {
  const numbers: number[] = [];
  let value = 0;
  // To interpreted code an iterator of bytes costs twice as much.
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      numbers.push(value);
      value = 0;
    }
  }
  return numbers;
}

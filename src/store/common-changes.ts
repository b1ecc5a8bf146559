import {
  addCount,
  CHUNK_PASSAGES,
  codeOfLength,
  commonState,
  countsRow,
  GONE,
  ROW_BYTES,
  writeCommonState,
} from "./common-terms.ts";
import { lastPassageId } from "./corpus-stats.ts";
import { TermCounter } from "./term-counter.ts";
import type { Index } from "./types.ts";

/** Index tokens of a passage, each kind joined by blanks. */
type Tokens = { body: string; name: string };

/** Keeps the tables of common terms right while a batch of passages is written: told of each, `write` ends it in the same transaction. */
export type CommonChanges = {
  removed(passageId: number, tokens: Tokens): void;
  added(passageId: number, tokens: Tokens): void;
  write(): void;
};

/** Null where nothing is kept, or where so much has changed since that the next sync builds the tables anew. */
export function commonChanges(index: Index): CommonChanges | null {
  const state = commonState(index);
  if (state === null) return null;
  if (isOutgrown(state)) {
    writeCommonState(index, null);
    return null;
  }
  const { db } = index;
  const terms = db.query("SELECT term, number FROM memq_common_terms ORDER BY number").values() as [string, number][];
  const counter = new TermCounter(terms.map(([term]) => term));
  const held = new Int32Array(terms.length);
  const rows = new ChangedRows(db);
  let [removed, added] = [0, 0];
  const count = ({ body, name }: Tokens, by: 1 | -1): number => {
    counter.reset();
    const length = counter.count(body);
    counter.count(name);
    for (let nth = 0; nth < counter.held; nth++) held[counter.found[nth]!]! += by;
    return length;
  };
  return {
    removed(passageId, tokens) {
      removed++;
      count(tokens, -1);
      // Its counts stay: a passage without a length scores nothing.
      rows.of(0, passageId)[passageId % CHUNK_PASSAGES] = GONE;
    },
    added(passageId, tokens) {
      added++;
      rows.of(0, passageId)[passageId % CHUNK_PASSAGES] = codeOfLength(count(tokens, 1));
      const known = rows.ofPassage(passageId);
      for (let nth = 0; nth < counter.held; nth++) {
        const term = counter.found[nth]!;
        const number = terms[term]![1];
        addCount(known[number] ?? rows.of(number, passageId), 0, passageId, counter.counts[term]!);
      }
    },
    write() {
      if (removed + added === 0) return;
      rows.write();
      const add = db.query("UPDATE memq_common_terms SET passages = passages + ? WHERE term = ?");
      for (const [term, by] of held.entries()) if (by !== 0) add.run(by, terms[term]![0]);
      const last = lastPassageId(index);
      const passages = state.passages + added - removed;
      writeCommonState(index, { ...state, passages, last, removed: state.removed + removed });
    },
  };
}

/** Whether the tables are better built anew than kept up: other terms may be common, or most counts are those of gone passages. */
export function isOutgrown({
  passages,
  built,
  removed,
}: {
  passages: number;
  built: number;
  removed: number;
}): boolean {
  return passages > 2 * built || passages < built / 2 || removed > passages / 2;
}

/** Rows of counts that change, each read once and written once. */
class ChangedRows {
  /** By chunk, then by number. */
  private readonly chunks = new Map<number, (Uint8Array | undefined)[]>();

  constructor(private readonly db: Index["db"]) {}

  /** The rows that hold the passage, those that were asked for already. */
  ofPassage(passageId: number): (Uint8Array | undefined)[] {
    const chunk = Math.floor(passageId / CHUNK_PASSAGES);
    let rows = this.chunks.get(chunk);
    if (rows === undefined) this.chunks.set(chunk, (rows = []));
    return rows;
  }

  /** A row of a term for the passage; number 0: the lengths. */
  of(number: number, passageId: number): Uint8Array {
    const stored = this.db.query<{ counts: Uint8Array }, [number]>(
      "SELECT counts FROM memq_common_counts WHERE id = ?",
    );
    return (this.ofPassage(passageId)[number] ??= stored.get(countsRow(number, passageId))?.counts ?? emptyRow(number));
  }

  write(): void {
    const write = this.db.query("INSERT OR REPLACE INTO memq_common_counts(id, counts) VALUES (?, ?)");
    for (const [chunk, rows] of this.chunks)
      for (const [number, row] of rows.entries())
        if (row !== undefined) write.run(countsRow(number, chunk * CHUNK_PASSAGES), row);
  }
}

function emptyRow(number: number): Uint8Array {
  return new Uint8Array(number === 0 ? CHUNK_PASSAGES : ROW_BYTES);
}

import type { Index, PassageRow, PassageToStore } from "./types.ts";

type StoredPassage = Omit<PassageRow, "triggers" | "projects"> & { triggers: string | null; projects: string | null };

const SELECT_PASSAGE = `SELECT id, document_id AS documentId, seq, start_line AS startLine, end_line AS endLine, pos, length,
  text_hash AS textHash, vector_key AS vectorKey, importance, triggers, projects FROM memq_passages`;

function toRow(stored: StoredPassage): PassageRow {
  return { ...stored, triggers: fromJson(stored.triggers), projects: fromJson(stored.projects) };
}

function fromJson(list: string | null): string[] | null {
  return list === null ? null : (JSON.parse(list) as string[]);
}

function toJson(list: string[] | undefined): string | null {
  return list === undefined ? null : JSON.stringify(list);
}

/** The passages of a document, in order. */
export function passagesOf(index: Index, documentId: number): PassageRow[] {
  return index.db
    .query<StoredPassage, [number]>(`${SELECT_PASSAGE} WHERE document_id = ? ORDER BY seq`)
    .all(documentId)
    .map(toRow);
}

/** Passages by id; ids that are gone are absent. */
export function passagesById(index: Index, ids: readonly number[]): Map<number, PassageRow> {
  const rows = index.db
    .query<StoredPassage, [string]>(`${SELECT_PASSAGE} WHERE id IN (SELECT value FROM json_each(?))`)
    .all(JSON.stringify(ids));
  return new Map(rows.map((row) => [row.id, toRow(row)]));
}

/** What ranking needs to know of a passage, and no more: it asks for hundreds at a time. */
export type RankingFacts = {
  passageId: number;
  documentId: number;
  seq: number;
  importance: number | null;
  collection: string;
  path: string;
  /** −1 when another program wrote the document. */
  mtimeMs: number;
  /** `YYYY-MM-DD` of front matter, or of a transcript's last message. */
  date: string | null;
};

/** Ranking facts by passage id; passages that are gone, or whose document is, are absent. */
export function rankingFacts(index: Index, passageIds: readonly number[]): Map<number, RankingFacts> {
  const rows = index.db
    .query<RankingFacts, [string]>(
      `SELECT p.id AS passageId, p.document_id AS documentId, p.seq, p.importance, d.collection, d.path,
       coalesce(f.mtime_ms, -1) AS mtimeMs, f.date FROM memq_passages p CROSS JOIN documents d ON d.id = p.document_id
       LEFT JOIN memq_files f ON f.document_id = d.id WHERE d.active = 1 AND p.id IN (SELECT value FROM json_each(?))`,
    )
    .all(JSON.stringify(passageIds));
  return new Map(rows.map((row) => [row.passageId, row]));
}

/** Passages per collection. */
export function passageCounts(index: Index): Map<string, number> {
  const rows = index.db
    .query<{ collection: string; n: number }, []>(
      `SELECT d.collection, count(*) AS n FROM memq_passages p JOIN documents d ON d.id = p.document_id
       WHERE d.active = 1 GROUP BY d.collection`,
    )
    .all();
  return new Map(rows.map((row) => [row.collection, row.n]));
}

/** Number of passages of these collections. */
export function passagesIn(index: Index, collections: readonly string[]): number {
  const held = index.db.query<{ name: string }, []>(
    "SELECT DISTINCT collection AS name FROM documents WHERE active = 1",
  );
  // Counting all is many times quicker, and mostly nothing else is there.
  const wanted = new Set(collections);
  if (held.all().every(({ name }) => wanted.has(name))) return passageTotal(index);
  const counts = passageCounts(index);
  return collections.reduce((sum, name) => sum + (counts.get(name) ?? 0), 0);
}

/** The id of the passage that was written last, 0 before the first; ids only grow. */
export function lastPassageId(index: Index): number {
  return index.db.query<{ id: number | null }, []>("SELECT max(id) AS id FROM memq_passages").get()?.id ?? 0;
}

/** Number of passages with a greater id. */
export function passagesAfter(index: Index, id: number): number {
  return (
    index.db.query<{ n: number }, [number]>("SELECT count(*) AS n FROM memq_passages WHERE id > ?").get(id)?.n ?? 0
  );
}

/** Number of passages in the index. */
export function passageTotal(index: Index): number {
  return index.db.query<{ n: number }, []>("SELECT count(*) AS n FROM memq_passages").get()?.n ?? 0;
}

/** Keys of what the passages of a document refer to. */
export function readPassageKeys(index: Index, documentId: number): { vectorKey: string; textHash: string }[] {
  return index.db
    .query<{ vectorKey: string; textHash: string }, [number]>(
      "SELECT vector_key AS vectorKey, text_hash AS textHash FROM memq_passages WHERE document_id = ?",
    )
    .all(documentId);
}

/** Deletes the passages of documents from the table and from the full-text index. */
export function removePassages(index: Index, documentIds: readonly number[]): void {
  const { db } = index;
  const ofDocument = db.query<{ id: number }, [number]>("SELECT id FROM memq_passages WHERE document_id = ?");
  const ids = documentIds.flatMap((documentId) => ofDocument.all(documentId).map(({ id }) => id));
  // The full-text index writes its buffer out whenever a row id is below the last one: in order, that happens once.
  const fromIndex = db.query("DELETE FROM memq_fts WHERE rowid = ?");
  for (const id of ids.sort((a, b) => a - b)) fromIndex.run(id);
  const fromTable = db.query("DELETE FROM memq_passages WHERE document_id = ?");
  if (ids.length > 0) for (const documentId of documentIds) fromTable.run(documentId);
}

/** Inserts the passages of a document; `documentHash` decides which existing vectors they take over. */
export function writePassages(
  index: Index,
  documentId: number,
  documentHash: string,
  passages: readonly PassageToStore[],
): void {
  const { db } = index;
  const keys = vectorKeys(index, documentHash, passages);
  const insert = db.query(
    `INSERT INTO memq_passages(document_id, seq, start_line, end_line, pos, length, text_hash, vector_key, importance, triggers,
      projects) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertTokens = db.query("INSERT INTO memq_fts(rowid, body, name) VALUES (?, ?, ?)");
  passages.forEach((passage, i) => {
    const { lastInsertRowid } = insert.run(
      documentId,
      passage.seq,
      passage.startLine,
      passage.endLine,
      passage.pos,
      passage.length,
      passage.textHash,
      keys[i] ?? passage.vectorKey,
      passage.importance ?? null,
      toJson(passage.triggers),
      toJson(passage.projects),
    );
    insertTokens.run(lastInsertRowid, passage.tokens, passage.nameTokens);
  });
}

/**
 * The vector keys of a document's passages. Where vectors are keyed by the document's hash, qmd may have made them with
 * other boundaries: each of its vectors goes to the passage that holds its `pos`, and a passage left without one takes a
 * number that no vector has, so that none is ever read for another's text.
 */
function vectorKeys(index: Index, documentHash: string, passages: readonly PassageToStore[]): string[] {
  const wanted = passages.map((passage) => passage.vectorKey);
  if (!wanted[0]?.startsWith(`${documentHash}_`)) return wanted;
  const existing = index.db
    .query<{ seq: number; pos: number }, [string]>("SELECT seq, pos FROM content_vectors WHERE hash = ? ORDER BY seq")
    .all(documentHash);
  if (existing.length === 0) return wanted;
  const keys: (string | undefined)[] = passages.map(() => undefined);
  for (const { seq, pos } of existing) {
    const holder = passages.findLastIndex((passage) => passage.pos <= pos);
    if (holder >= 0) keys[holder] ??= `${documentHash}_${seq}`;
  }
  let next = Math.max(passages.length, ...existing.map((row) => row.seq + 1));
  const taken = new Set(existing.map((row) => `${documentHash}_${row.seq}`));
  return keys.map((key, i) => {
    if (key !== undefined) return key;
    const own = wanted[i] ?? "";
    return taken.has(own) ? `${documentHash}_${next++}` : own;
  });
}

import type { DocumentPath, DocumentRow, Index, KnownDocument } from "./types.ts";

type StoredDocument = Omit<DocumentRow, "tags"> & { tags: string | null };

// A document that another program wrote has no size and time of ours: −1 matches no file, so the next sync reads it.
const SELECT_DOCUMENT = `SELECT d.id, d.collection, d.path, d.title, d.hash, coalesce(f.mtime_ms, -1) AS mtimeMs,
  coalesce(f.size, -1) AS size, f.date, f.tags
  FROM documents d LEFT JOIN memq_files f ON f.document_id = d.id AND f.hash = d.hash WHERE d.active = 1`;

function toRow(stored: StoredDocument): DocumentRow {
  return { ...stored, tags: stored.tags === null ? [] : (JSON.parse(stored.tags) as string[]) };
}

function select(index: Index, condition: string, ...values: (string | number)[]): DocumentRow[] {
  return index.db
    .query<StoredDocument, (string | number)[]>(`${SELECT_DOCUMENT} ${condition}`)
    .all(...values)
    .map(toRow);
}

/** The active documents of a collection, ordered by path (binary). */
export function documentsOf(index: Index, collection: string): DocumentRow[] {
  return select(index, "AND d.collection = ? ORDER BY d.path", collection);
}

/** The active documents of a collection in no order, with what tells whether their files have changed: thousands at each sync. */
export function knownDocuments(index: Index, collection: string): KnownDocument[] {
  return index.db
    .query<KnownDocument, [string]>(
      `SELECT d.id, d.path, d.hash, coalesce(f.mtime_ms, -1) AS mtimeMs, coalesce(f.size, -1) AS size
       FROM documents d LEFT JOIN memq_files f ON f.document_id = d.id AND f.hash = d.hash
       WHERE d.active = 1 AND d.collection = ?`,
    )
    .all(collection);
}

/** The active documents of several collections, ordered by collection and path. */
export function documentsIn(index: Index, collections: readonly string[]): DocumentRow[] {
  return select(
    index,
    "AND d.collection IN (SELECT value FROM json_each(?)) ORDER BY d.collection, d.path",
    JSON.stringify(collections),
  );
}

/** The most commas that the path of an active document holds. */
export function mostCommas(index: Index): number {
  const row = index.db
    .query<{ most: number | null }, []>(
      "SELECT max(length(path) - length(replace(path, ',', ''))) AS most FROM documents WHERE active = 1",
    )
    .get();
  return row?.most ?? 0;
}

/** Where every active document is: no more than that, so that a process can afford to remember them all. */
export function documentPaths(index: Index): DocumentPath[] {
  return index.db
    .query<DocumentPath, []>("SELECT id, collection, path FROM documents WHERE active = 1 ORDER BY id")
    .all();
}

/**
 * Changes whenever documents come, go or move to another collection, and not when their texts change: paths belong to their ids for
 * good. One look at an index of a few bytes per document.
 */
export function documentRoster(index: Index): string {
  const rows = index.db
    .query(
      "SELECT collection, count(*), max(id), sum(id), sum(id * id) FROM documents WHERE active = 1 GROUP BY collection",
    )
    .values();
  return JSON.stringify(rows);
}

/** The longest path that a system knows; SQLite refuses patterns of ten times this length. */
const MAX_PATH = 4096;

/**
 * As `documentPaths`, without those that hold `text` (lower-case ASCII) in no spelling; a few of the rest don't either. Any character
 * may stand for a slash, which may be written as a backslash, and for what Unicode writes in other ways too (the kelvin sign is a `k`).
 */
export function documentPathsHolding(index: Index, text: string): DocumentPath[] {
  if (text.length > MAX_PATH) return [];
  const pattern = `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`).replaceAll(/[k;`/]/gi, "_")}%`;
  // The inner query is answered by the index of paths, a fifth of the table.
  return index.db
    .query<DocumentPath, [string]>(
      String.raw`SELECT id, collection, path FROM documents WHERE id IN (
         SELECT id FROM documents WHERE active = 1 AND path LIKE ? ESCAPE '\') ORDER BY id`,
    )
    .all(pattern);
}

/** The active document at exactly this path. */
export function findDocument(index: Index, collection: string, path: string): DocumentRow | null {
  return select(index, "AND d.collection = ? AND d.path = ?", collection, path)[0] ?? null;
}

/** The active documents at exactly this path in any collection. */
export function documentsByPath(index: Index, path: string): DocumentRow[] {
  return select(index, "AND d.path = ? ORDER BY d.collection", path);
}

/** The active documents of a collection as a listing shows them, ordered by path (binary); `characters` are code points. */
export function listedDocuments(
  index: Index,
  collection: string,
): { path: string; characters: number; modifiedAt: string }[] {
  return index.db
    .query<{ path: string; characters: number; modifiedAt: string }, [string]>(
      `SELECT d.path, coalesce(length(c.doc), 0) AS characters, d.modified_at AS modifiedAt
       FROM documents d LEFT JOIN content c ON c.hash = d.hash WHERE d.active = 1 AND d.collection = ? ORDER BY d.path`,
    )
    .all(collection);
}

/** Active documents by id; ids that are gone are absent. */
export function documentsById(index: Index, ids: readonly number[]): Map<number, DocumentRow> {
  const rows = select(index, "AND d.id IN (SELECT value FROM json_each(?))", JSON.stringify(ids));
  return new Map(rows.map((row) => [row.id, row]));
}

/** Active documents whose hash begins with these hex digits (a docid is the first six), in order of their id. */
export function documentsByHashPrefix(index: Index, prefix: string): DocumentRow[] {
  const start = prefix.toLowerCase();
  if (!/^[0-9a-f]+$/.test(start)) return [];
  // "g" follows every hex digit, so this range is the prefix and can use the index.
  return select(index, "AND d.hash >= ? AND d.hash < ? ORDER BY d.id", start, `${start}g`);
}

/** Active documents whose `collection/path` ends with `suffix` at a path boundary, in order of collection and path. */
export function documentsBySuffix(index: Index, suffix: string): DocumentRow[] {
  const tail = `/${suffix.replace(/^\/+/, "")}`;
  return select(
    index,
    "AND substr('/' || d.collection || '/' || d.path, -length(?1)) = ?1 ORDER BY d.collection, d.path",
    tail,
  );
}

/** Active documents that another program wrote or changed since we cut them: cut them from `contentText`. */
export function documentsWithoutPassages(index: Index): DocumentRow[] {
  return select(index, "AND f.document_id IS NULL ORDER BY d.collection, d.path");
}

/** How many active documents of some collections have no passages, or those of an older text. */
export function countWithoutPassages(index: Index, collections: readonly string[]): number {
  const row = index.db
    .query<{ n: number }, [string]>(
      `SELECT count(*) AS n FROM documents d LEFT JOIN memq_files f ON f.document_id = d.id AND f.hash = d.hash
       WHERE d.active = 1 AND f.document_id IS NULL AND d.collection IN (SELECT value FROM json_each(?))`,
    )
    .get(JSON.stringify(collections));
  return row?.n ?? 0;
}

/** The text that a hash stands for, or null. */
export function contentText(index: Index, hash: string): string | null {
  return index.db.query<{ doc: string }, [string]>("SELECT doc FROM content WHERE hash = ?").get(hash)?.doc ?? null;
}

/** Decoded texts by hash; those that are not kept are absent. */
export function contentTexts(index: Index, hashes: readonly string[]): Map<string, string> {
  const rows = index.db
    .query<{ hash: string; doc: string }, [string]>(
      "SELECT hash, doc FROM content WHERE hash IN (SELECT value FROM json_each(?))",
    )
    .all(JSON.stringify(hashes));
  return new Map(rows.map(({ hash, doc }) => [hash, doc]));
}

/** Whether the index holds a document at all. */
export function hasDocuments(index: Index): boolean {
  return index.db.query("SELECT 1 FROM documents WHERE active = 1 LIMIT 1").get() !== null;
}

/** Active documents per collection, with the newest `modified_at` (ISO), ordered by name; each counts once per path. */
export function documentCounts(index: Index): { collection: string; count: number; updatedAt: string }[] {
  return index.db
    .query<{ collection: string; count: number; updatedAt: string }, []>(
      `SELECT collection, count(*) AS count, max(modified_at) AS updatedAt FROM documents WHERE active = 1
       GROUP BY collection ORDER BY collection`,
    )
    .all();
}

/** The newest `modified_at` (ISO) of each collection, documents that are gone included. */
export function newestChanges(index: Index): Map<string, string> {
  const rows = index.db
    .query<{ collection: string; at: string }, []>(
      "SELECT collection, max(modified_at) AS at FROM documents GROUP BY collection",
    )
    .all();
  return new Map(rows.map(({ collection, at }) => [collection, at]));
}

import type { Database } from "bun:sqlite";
import { APPLICATION_ID } from "./damage.ts";

/**
 * Version of the tables below; stands in `memq_meta` since `user_version` belongs to qmd. A table that only makes searches faster
 * does not raise it: readers do without, writers add it, and older programs go on using the file.
 */
export const SCHEMA_VERSION = 1;

/**
 * qmd 2.8.3's tables: names, columns and declared types are read by other programs and by people's scripts.
 * Its full-text table is created empty and never kept up: qmd rebuilds it when it finds `user_version` 0 and no stamp.
 */
const QMD_TABLES = `
CREATE TABLE IF NOT EXISTS content (hash TEXT PRIMARY KEY, doc TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS documents (
  id INTEGER PRIMARY KEY AUTOINCREMENT, collection TEXT NOT NULL, path TEXT NOT NULL, title TEXT NOT NULL,
  hash TEXT NOT NULL, created_at TEXT NOT NULL, modified_at TEXT NOT NULL, active INTEGER NOT NULL DEFAULT 1,
  FOREIGN KEY (hash) REFERENCES content(hash) ON DELETE CASCADE, UNIQUE(collection, path));
CREATE INDEX IF NOT EXISTS idx_documents_collection ON documents(collection, active);
CREATE INDEX IF NOT EXISTS idx_documents_hash ON documents(hash);
CREATE INDEX IF NOT EXISTS idx_documents_path ON documents(path, active);
CREATE TABLE IF NOT EXISTS llm_cache (hash TEXT PRIMARY KEY, result TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS content_vectors (
  hash TEXT NOT NULL, seq INTEGER NOT NULL DEFAULT 0, pos INTEGER NOT NULL DEFAULT 0, model TEXT NOT NULL,
  embed_fingerprint TEXT NOT NULL DEFAULT '', total_chunks INTEGER NOT NULL DEFAULT 1, embedded_at TEXT NOT NULL,
  PRIMARY KEY (hash, seq));
CREATE TABLE IF NOT EXISTS store_collections (
  name TEXT PRIMARY KEY, path TEXT NOT NULL, pattern TEXT NOT NULL DEFAULT '**/*.md', ignore_patterns TEXT,
  include_by_default INTEGER DEFAULT 1, update_command TEXT, context TEXT);
CREATE TABLE IF NOT EXISTS store_config (key TEXT PRIMARY KEY, value TEXT);
CREATE VIRTUAL TABLE IF NOT EXISTS documents_fts USING fts5(filepath, title, body, tokenize='porter unicode61');
`;

const QMD_VECTOR_INDEX = `CREATE INDEX IF NOT EXISTS idx_content_vectors_model_fingerprint
  ON content_vectors(model, embed_fingerprint, hash, total_chunks);`;

const QMD_TRIGGERS = ["documents_ai", "documents_ad", "documents_au"];

/** A text as an SQL string literal. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/**
 * The FTS5 tokenizer. Our tokens are folded already: with every printable ASCII character that is neither letter nor digit among
 * the token characters it splits only at blanks.
 */
function tokenizer(): string {
  const printable = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).join("");
  return sqlText(`ascii tokenchars ${sqlText(printable.replaceAll(/[A-Za-z0-9]/g, ""))}`);
}

/**
 * Our own tables, `TEMP` ones for a reader that meets a file without them. Passage ids are never used twice, so a living
 * process can tell new passages by their id; a passage's text is cut out of `content.doc` again by `pos` and `length`.
 */
export function memqTables(scope: "main" | "temp"): string {
  const create = (rest: string): string =>
    scope === "temp" ? `CREATE TEMP TABLE IF NOT EXISTS ${rest};` : `CREATE TABLE IF NOT EXISTS ${rest};`;
  const indexOn = (name: string, rest: string): string => `CREATE INDEX IF NOT EXISTS ${scope}.${name} ON ${rest};`;
  return [
    create("memq_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"),
    create(`memq_files (document_id INTEGER PRIMARY KEY, hash TEXT NOT NULL, size INTEGER NOT NULL, mtime_ms REAL NOT NULL,
      date TEXT, tags TEXT)`),
    create(`memq_passages (id INTEGER PRIMARY KEY AUTOINCREMENT, document_id INTEGER NOT NULL, seq INTEGER NOT NULL,
      start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, pos INTEGER NOT NULL, length INTEGER NOT NULL,
      text_hash TEXT NOT NULL, vector_key TEXT NOT NULL, importance REAL, triggers TEXT, projects TEXT)`),
    indexOn("memq_passages_document", "memq_passages(document_id)"),
    indexOn("memq_passages_vector_key", "memq_passages(vector_key)"),
    create(
      "memq_vectors (id INTEGER PRIMARY KEY AUTOINCREMENT, vector_key TEXT NOT NULL UNIQUE, embedding BLOB NOT NULL)",
    ),
    create(
      "memq_next_vectors (id INTEGER PRIMARY KEY AUTOINCREMENT, vector_key TEXT NOT NULL UNIQUE, embedding BLOB NOT NULL)",
    ),
    create(`memq_embedding_cache (space TEXT NOT NULL, text_hash TEXT NOT NULL, embedding BLOB NOT NULL, stored_at INTEGER NOT NULL,
      PRIMARY KEY (space, text_hash))`),
    indexOn("memq_embedding_cache_age", "memq_embedding_cache(stored_at)"),
    create(
      "memq_flush (session_key TEXT PRIMARY KEY, compaction_count INTEGER NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID",
    ),
    `CREATE VIRTUAL TABLE IF NOT EXISTS ${scope}.memq_fts USING fts5(body, name, tokenize=${tokenizer()});`,
    `CREATE VIRTUAL TABLE IF NOT EXISTS ${scope}.memq_terms USING fts5vocab(${scope === "temp" ? "temp, " : ""}memq_fts, 'row');`,
  ].join("\n");
}

/** SQL: rows of a table of ours whose document another program has removed or taken out of use. */
function stale(table: string): string {
  return `document_id IN (SELECT document_id FROM ${table} EXCEPT SELECT id FROM documents WHERE active = 1)`;
}

const REMOVE_STALE = `
DELETE FROM memq_fts WHERE rowid IN (SELECT id FROM memq_passages WHERE ${stale("memq_passages")});
DELETE FROM memq_passages WHERE ${stale("memq_passages")};
DELETE FROM memq_files WHERE ${stale("memq_files")};`;

/**
 * FTS5 merges its segments sixteen at a time and not four, and a whole transaction becomes one segment (a 1 MB buffer would make it
 * several): a first index costs a third less.
 */
const FEW_MERGES = `INSERT INTO memq_fts(memq_fts, rank) VALUES ('automerge', 16);
INSERT INTO memq_fts(memq_fts, rank) VALUES ('hashsize', ${16 << 20});`;

/** Names of the tables, indexes and triggers that the file has. */
export function tableNames(db: Database): Set<string> {
  return new Set(
    db
      .query("SELECT name FROM main.sqlite_master")
      .values()
      .map((row) => String(row[0])),
  );
}

/** The version of our tables in a file, 0 when there are none, and whether documents that qmd wrote have not been cut yet. */
export type SchemaState = { version: number; isUncut: boolean };

/** Reads the state of our tables from a file whose tables have these names. */
export function schemaState(db: Database, tables: ReadonlySet<string>): SchemaState {
  if (!tables.has("memq_meta")) return { version: 0, isUncut: false };
  const rows = db.query("SELECT key, value FROM main.memq_meta WHERE key IN ('schema', 'uncut')").values();
  const values = new Map(rows as [string, string][]);
  return { version: Number(values.get("schema") ?? 0), isUncut: values.has(UNCUT) };
}

/** Stands in `memq_meta` from the moment that a file of qmd's gets our tables until its documents have been cut into passages. */
export const UNCUT = "uncut";

const MARK_UNCUT = `INSERT OR REPLACE INTO memq_meta(key, value) SELECT '${UNCUT}', '' WHERE NOT EXISTS (SELECT 1 FROM memq_files)
  AND EXISTS (SELECT 1 FROM documents WHERE active = 1)`;

/** Whether qmd has opened the file since we last wrote: its version stamp or its triggers are there. */
export function qmdWasHere(db: Database, tables: ReadonlySet<string>): boolean {
  const version = db.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
  return version !== 0 || hasQmdTriggers(tables);
}

/** Whether the triggers are there that qmd makes whenever it opens a file without them. */
export function hasQmdTriggers(tables: ReadonlySet<string>): boolean {
  return QMD_TRIGGERS.some((name) => tables.has(name));
}

/** Creates what is missing, and puts a file that qmd used back into the state in which qmd rebuilds its own full-text table. */
export function migrate(db: Database): void {
  db.run("BEGIN IMMEDIATE");
  try {
    db.run(QMD_TABLES);
    addMissingColumns(db);
    db.run(QMD_VECTOR_INDEX);
    db.run(memqTables("main"));
    for (const trigger of QMD_TRIGGERS) db.run(`DROP TRIGGER IF EXISTS ${trigger}`);
    db.run("DELETE FROM store_config WHERE key = 'fts_cjk_normalized_version'");
    db.run(`PRAGMA user_version = 0; PRAGMA application_id = ${APPLICATION_ID}`);
    db.run(REMOVE_STALE);
    db.run(MARK_UNCUT);
    db.run(FEW_MERGES);
    db.run("INSERT OR REPLACE INTO memq_meta(key, value) VALUES ('schema', ?)", [String(SCHEMA_VERSION)]);
    db.run("COMMIT");
  } catch (error) {
    if (db.inTransaction) db.run("ROLLBACK");
    throw error;
  }
}

/** Older qmd files lack two columns that qmd itself adds when it first needs them. */
function addMissingColumns(db: Database): void {
  const columns = new Set(db.query("SELECT name FROM pragma_table_info('content_vectors')").values().flat());
  if (!columns.has("embed_fingerprint"))
    db.run("ALTER TABLE content_vectors ADD COLUMN embed_fingerprint TEXT NOT NULL DEFAULT ''");
  if (!columns.has("total_chunks"))
    db.run("ALTER TABLE content_vectors ADD COLUMN total_chunks INTEGER NOT NULL DEFAULT 1");
}

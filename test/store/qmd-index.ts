import { Database } from "bun:sqlite";
import { loadVec } from "../../src/store/vec-extension.ts";
import type { Index } from "../../src/store/types.ts";
import { sha256 } from "./helpers.ts";

/** Text and its chunks' offsets as in a file that qmd 2.8.3 has indexed and embedded. */
export type QmdNote = {
  collection: string;
  path: string;
  text: string;
  chunks: { pos: number; vector: Float32Array }[];
};

/** Makes an index file as qmd 2.8.3 leaves it: its tables, indexes, triggers, stamps and vectors. */
export function makeQmdIndex(
  path: string,
  notes: readonly QmdNote[],
  fingerprint = "c37385",
  model = "hf:model",
): void {
  const db = new Database(path, { create: true, readwrite: true });
  loadVec({ db, engine: null } as unknown as Index);
  db.run("PRAGMA journal_mode = WAL");
  db.run(`
    CREATE TABLE content (hash TEXT PRIMARY KEY, doc TEXT NOT NULL, created_at TEXT NOT NULL);
    CREATE TABLE documents (id INTEGER PRIMARY KEY AUTOINCREMENT, collection TEXT NOT NULL, path TEXT NOT NULL, title TEXT NOT NULL,
      hash TEXT NOT NULL, created_at TEXT NOT NULL, modified_at TEXT NOT NULL, active INTEGER NOT NULL DEFAULT 1,
      FOREIGN KEY (hash) REFERENCES content(hash) ON DELETE CASCADE, UNIQUE(collection, path));
    CREATE INDEX idx_documents_collection ON documents(collection, active);
    CREATE INDEX idx_documents_hash ON documents(hash);
    CREATE INDEX idx_documents_path ON documents(path, active);
    CREATE TABLE llm_cache (hash TEXT PRIMARY KEY, result TEXT NOT NULL, created_at TEXT NOT NULL);
    CREATE TABLE content_vectors (hash TEXT NOT NULL, seq INTEGER NOT NULL DEFAULT 0, pos INTEGER NOT NULL DEFAULT 0,
      model TEXT NOT NULL, embed_fingerprint TEXT NOT NULL DEFAULT '', total_chunks INTEGER NOT NULL DEFAULT 1,
      embedded_at TEXT NOT NULL, PRIMARY KEY (hash, seq));
    CREATE TABLE store_collections (name TEXT PRIMARY KEY, path TEXT NOT NULL, pattern TEXT NOT NULL DEFAULT '**/*.md',
      ignore_patterns TEXT, include_by_default INTEGER DEFAULT 1, update_command TEXT, context TEXT);
    CREATE TABLE store_config (key TEXT PRIMARY KEY, value TEXT);
    CREATE VIRTUAL TABLE documents_fts USING fts5(filepath, title, body, tokenize='porter unicode61');
    CREATE TRIGGER documents_ai AFTER INSERT ON documents WHEN new.active = 1 BEGIN
      INSERT INTO documents_fts(rowid, filepath, title, body)
        SELECT new.id, new.collection || '/' || new.path, new.title, (SELECT doc FROM content WHERE hash = new.hash); END;
    CREATE TRIGGER documents_ad AFTER DELETE ON documents BEGIN DELETE FROM documents_fts WHERE rowid = old.id; END;
    CREATE TRIGGER documents_au AFTER UPDATE ON documents BEGIN
      DELETE FROM documents_fts WHERE rowid = old.id AND new.active = 0;
      INSERT OR REPLACE INTO documents_fts(rowid, filepath, title, body)
        SELECT new.id, new.collection || '/' || new.path, new.title, (SELECT doc FROM content WHERE hash = new.hash)
        WHERE new.active = 1; END;
    INSERT INTO store_config VALUES ('fts_cjk_normalized_version', '1'), ('config_hash', 'abc');
    PRAGMA user_version = 1;`);
  const dimensions = notes.flatMap((note) => note.chunks)[0]?.vector.length;
  if (dimensions !== undefined) {
    db.run(`CREATE VIRTUAL TABLE vectors_vec USING vec0(
      hash_seq TEXT PRIMARY KEY, embedding float[${dimensions}] distance_metric=cosine)`);
  }
  const now = new Date(1_700_000_000_000).toISOString();
  for (const { collection, path, text, chunks } of notes) {
    const hash = sha256(text);
    db.query("INSERT OR IGNORE INTO content VALUES (?, ?, ?)").run(hash, text, now);
    db.query(
      "INSERT INTO documents(collection, path, title, hash, created_at, modified_at) VALUES (?, ?, ?, ?, ?, ?)",
    ).run(collection, path, path, hash, now, now);
    chunks.forEach(({ pos, vector }, seq) => {
      db.query("INSERT INTO content_vectors VALUES (?, ?, ?, ?, ?, ?, ?)").run(
        hash,
        seq,
        pos,
        model,
        fingerprint,
        chunks.length,
        now,
      );
      db.query("INSERT INTO vectors_vec VALUES (?, ?)").run(`${hash}_${seq}`, new Uint8Array(vector.buffer));
    });
  }
  db.close();
}

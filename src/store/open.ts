import { constants, Database } from "bun:sqlite";
import { closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { hintOf, MemqError, reasonOf } from "../errors.ts";
import { damageMet, damageOf, isDamage, NO_DATABASE, rememberOpened, removeLeftBehind, setAside } from "./damage.ts";
import { isForeign, isOtherDatabase } from "./foreign.ts";
import { expectsMuchWork } from "../long-running.ts";
import { patienceMs } from "./patience.ts";
import { hasQmdTriggers, memqTables, migrate, qmdWasHere, SCHEMA_VERSION, schemaState, tableNames } from "./schema.ts";
import type { Index, VecExtension } from "./types.ts";

/** How long a reader waits for the short moments in which even WAL makes readers wait. */
const READER_BUSY_MS = 5000;
const WRITER_BUSY_MS = 120_000;

/** Pages that a reader keeps. One search reads most of its pages once: giving them new memory costs more than reading some again. */
const READER_CACHE_KB = 16_000;
const ONE_SEARCH_CACHE_KB = 500;

/** More than there are texts of SQL in the program. Of Bun's default, 20, a hybrid search needs more: each would be prepared again every time. */
Database.MAX_QUERY_CACHE_SIZE = 500;

/**
 * Opens an index.
 *
 * `write` creates the file and its folder, migrates its schema and rebuilds a damaged one beside (see `Index.warnings`).
 * `read` writes nothing: a missing, damaged or not yet migrated file answers as an index that holds nothing (`Index.state`).
 * `patienceMs` is how long a writer waits for another one's transaction, blocking its thread; `extension` what loads sqlite-vec, if
 * it is needed.
 * Throws `INDEX_FOREIGN` for OpenClaw's own index, `INDEX_NEWER` for a later version's file, `INDEX_UNREADABLE` otherwise.
 */
export function openIndex(
  path: string,
  options: { mode: "read" | "write"; patienceMs?: number; extension?: VecExtension | undefined },
): Index {
  const index =
    options.mode === "read"
      ? openForReading(path)
      : openForWriting(path, options.patienceMs ?? patienceMs(WRITER_BUSY_MS));
  return options.extension === undefined ? index : { ...index, extension: options.extension };
}

function openForReading(path: string): Index {
  try {
    const found = unreplaced(path, (inode) => {
      const damage = damageOf(path);
      return damage === null ? readerOf({ path, inode }) : damagedIndex(path, damage);
    });
    return found ?? emptyIndex(path, "missing", []);
  } catch (error) {
    if (!isDamage(error)) throw unreadable(path, error);
    return damagedIndex(path, damageMet(error));
  }
}

function readerOf(file: Pick<Index, "path" | "inode">): Index {
  const { db, frozenAt } = connectReadOnly(file.path, patienceMs(READER_BUSY_MS));
  try {
    const tables = tableNames(db);
    refuseUnusable(db, tables, file.path);
    const { version, isUncut } = schemaState(db, tables);
    const ready = version === SCHEMA_VERSION && !isUncut;
    if (!ready) {
      db.run("PRAGMA temp_store = MEMORY");
      db.run(memqTables("temp"));
      if (!tables.has("documents")) db.run(emptyQmdTables());
    }
    db.run("PRAGMA query_only = 1");
    db.run(`PRAGMA cache_size = -${expectsMuchWork() ? READER_CACHE_KB : ONE_SEARCH_CACHE_KB}`);
    return {
      ...indexOf(db, file, "read", ready ? "ready" : "unprepared", []),
      isShared: ready && hasQmdTriggers(tables),
      frozenAt,
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** How often a file that is replaced again and again is opened again. */
const REPLACEMENTS = 5;

/**
 * What `open` makes of the file with this inode, null where there is none. Once more when another process has replaced the file meanwhile,
 * as the writer does that sets a damaged one aside: what was opened then may be the one file with the other's journal.
 */
function unreplaced<T extends { close(): void } | string | null>(path: string, open: (inode: number) => T): T | null {
  for (let attempt = 1; ; attempt++) {
    const inode = inodeOf(path);
    if (inode === 0) return null;
    const isLast = attempt > REPLACEMENTS;
    try {
      const opened = open(inode);
      if (isLast || inodeOf(path) === inode) return opened;
      if (typeof opened === "object") opened?.close();
    } catch (error) {
      if (isLast || inodeOf(path) === inode) throw error;
    }
  }
}

function damagedIndex(path: string, damage: string): Index {
  return emptyIndex(path, "damaged", [`The index ${path} is damaged (${damage}); the next update rebuilds it.`]);
}

function openForWriting(path: string, patienceMs: number): Index {
  const warnings: string[] = [];
  const damage = existsSync(path) ? (damageOf(path) ?? damageBeforeWriting(path, patienceMs)) : null;
  if (damage === NO_DATABASE) refuseOtherFile(path);
  if (damage !== null) warnings.push(setAside(path, damage));
  try {
    removeLeftBehind(path);
    return connectForWriting(path, warnings, patienceMs);
  } catch (error) {
    if (!isDamage(error)) throw unreadable(path, error);
    warnings.push(setAside(path, "malformed"));
    return connectForWriting(path, warnings, patienceMs);
  }
}

/**
 * Opens an index for short transactions beside whoever holds the writer's lock: nothing is created, migrated or set aside. Null where
 * one of these would be needed first, which takes the lock; one that qmd has opened since is `isShared`. A file that is busy for longer
 * than `patienceMs` throws `INDEX_BUSY`.
 */
export function openReadyIndex(path: string, options: { patienceMs?: number } = {}): Index | null {
  const patience = options.patienceMs ?? patienceMs(WRITER_BUSY_MS);
  return unreplaced(path, (inode) => {
    if ((damageOf(path) ?? damageBeforeWriting(path, patience)) !== null) return null;
    let db: Database | undefined;
    try {
      db = new Database(path, { readwrite: true });
      db.run(`PRAGMA busy_timeout = ${patience}`);
      setUpWriter(db);
      const tables = tableNames(db);
      refuseUnusable(db, tables, path);
      if (schemaState(db, tables).version === SCHEMA_VERSION)
        return {
          ...indexOf(db, { path, inode }, "write", "ready", []),
          isShared: qmdWasHere(db, tables),
        };
      db.close();
      return null;
    } catch (error) {
      db?.close();
      if (isDamage(error)) return null;
      throw unreadable(path, error);
    }
  });
}

/** A configured path may name a note or any other file by mistake: only what is called like an index is set aside. */
function refuseOtherFile(path: string): void {
  if (/\.(sqlite3?|db)$/i.test(path)) return;
  throw new MemqError("INDEX_FOREIGN", `${path} is not an index and is left alone.`, {
    hint: "Set store.path to another file, called like `index.sqlite`.",
  });
}

/**
 * The damage that shows on a first look, or null. Throws what `openIndex` does for another program's file, before a connection that may
 * write is made to it: where the file has a journal, the last such connection to close changes both. `patienceMs` is how long to wait
 * for whoever has the file to himself.
 */
export function damageBeforeWriting(path: string, patienceMs: number): string | null {
  return unreplaced(path, () => {
    let db: Database | undefined;
    try {
      db = connectReadOnly(path, patienceMs).db;
      refuseUnusable(db, tableNames(db), path);
      return null;
    } catch (error) {
      if (isDamage(error)) return damageMet(error);
      throw unreadable(path, error);
    } finally {
      db?.close();
    }
  });
}

function connectForWriting(path: string, warnings: string[], patienceMs: number): Index {
  createPrivately(path);
  const inode = inodeOf(path);
  const db = new Database(path, { readwrite: true, create: true });
  try {
    db.run(`PRAGMA busy_timeout = ${patienceMs}`);
    // Before anything is written: another program's file is left exactly as it is.
    const tables = tableNames(db);
    refuseUnusable(db, tables, path);
    switchToWal(db, patienceMs);
    setUpWriter(db);
    if (schemaState(db, tables).version !== SCHEMA_VERSION || qmdWasHere(db, tables)) migrate(db);
    probe(db);
    return indexOf(db, { path, inode }, "write", "ready", warnings);
  } catch (error) {
    db.close();
    throw error;
  }
}

function setUpWriter(db: Database): void {
  db.run(
    "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32000",
  );
  // The journal may hold 32 MB before it is written back: each time the disk is waited for twice.
  db.run("PRAGMA wal_autocheckpoint = 8000");
}

/** Reads a row of each table, so that damage in a root page shows now and not in the middle of a sync. */
function probe(db: Database): void {
  for (const table of [
    "content",
    "documents",
    "content_vectors",
    "memq_files",
    "memq_passages",
    "memq_fts_data",
    "memq_vectors",
  ]) {
    db.query(`SELECT 1 FROM ${table} LIMIT 1`).get();
  }
}

/**
 * Whether another program has changed the file under a connection that can't see it: where nothing may be written, as in a container
 * that has the folder read-only, others still may.
 */
export function isBehindFile({ path, frozenAt }: Index): boolean {
  return frozenAt !== null && frozenAt !== stateOf(path);
}

function stateOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? "" : `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
}

/**
 * Apple's SQLite can't open a WAL file read-only unless `-shm` exists, and none can in a read-only folder: each has its way. A file that
 * somebody is just writing (who makes it, or closes it last) is waited for: the last way would read it half written.
 */
function connectReadOnly(path: string, patienceMs: number): { db: Database; frozenAt: string | null } {
  const uri = `file:${encodeURI(path).replaceAll("?", "%3f").replaceAll("#", "%23")}`;
  const ways: (() => Database)[] = [
    () => new Database(path, { readonly: true }),
    () => new Database(path, { readwrite: true }),
    () => new Database(`${uri}?immutable=1`, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI),
  ];
  let failure: unknown;
  for (const [at, way] of ways.entries()) {
    const frozenAt = at === ways.length - 1 ? stateOf(path) : null;
    let db: Database | undefined;
    try {
      db = way();
      db.run(`PRAGMA busy_timeout = ${patienceMs}`);
      db.query("SELECT count(*) FROM sqlite_master").get();
      db.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1);
      return { db, frozenAt };
    } catch (error) {
      db?.close();
      if (isDamage(error) || isBusy(error)) throw error;
      failure = error;
    }
  }
  throw failure;
}

function emptyIndex(path: string, state: "missing" | "damaged", warnings: string[]): Index {
  const db = new Database(":memory:");
  migrate(db);
  return indexOf(db, { path, inode: 0 }, "read", state, warnings);
}

/** For a file that holds only another program's tables: the queries of a reader find these, empty. */
function emptyQmdTables(): string {
  return `CREATE TEMP TABLE content (hash TEXT PRIMARY KEY, doc TEXT, created_at TEXT);
    CREATE TEMP TABLE documents (id INTEGER PRIMARY KEY, collection TEXT, path TEXT, title TEXT, hash TEXT, created_at TEXT,
      modified_at TEXT, active INTEGER);
    CREATE TEMP TABLE content_vectors (hash TEXT, seq INTEGER, pos INTEGER, model TEXT, embed_fingerprint TEXT,
      total_chunks INTEGER, embedded_at TEXT);
    CREATE TEMP TABLE llm_cache (hash TEXT PRIMARY KEY, result TEXT, created_at TEXT);
    CREATE TEMP TABLE store_config (key TEXT PRIMARY KEY, value TEXT);
    CREATE TEMP TABLE store_collections (name TEXT PRIMARY KEY, path TEXT, pattern TEXT, ignore_patterns TEXT,
      include_by_default INTEGER, update_command TEXT, context TEXT);`;
}

function indexOf(
  db: Database,
  file: Pick<Index, "path" | "inode">,
  mode: Index["mode"],
  state: Index["state"],
  warnings: string[],
): Index {
  if (state === "ready") rememberOpened(file.path, file.inode);
  return {
    db,
    ...file,
    mode,
    state,
    isShared: false,
    frozenAt: null,
    warnings,
    engine: null,
    codes: null,
    close: () => db.close(),
  };
}

function refuseUnusable(db: Database, tables: ReadonlySet<string>, path: string): void {
  if (isForeign(tables)) {
    throw new MemqError("INDEX_FOREIGN", `${path} is OpenClaw's own memory index and is left alone.`, {
      hint: "Set store.path to another file.",
    });
  }
  if (isOtherDatabase(db, tables)) {
    throw new MemqError("INDEX_FOREIGN", `${path} is another program's database and is left alone.`, {
      hint: "Choose another place for the index (INDEX_PATH, store.path), or move the file away: the next update makes a new one.",
    });
  }
  if (schemaState(db, tables).version > SCHEMA_VERSION) {
    throw new MemqError("INDEX_NEWER", `${path} was written by a newer memq.`, {
      hint: "Update memq, or move the file away: the next update rebuilds the index from your notes.",
    });
  }
}

function unreadable(path: string, error: unknown): Error {
  if (error instanceof MemqError) return error;
  if (isBusy(error)) {
    return new MemqError("INDEX_BUSY", `The index ${path} is in use by another process.`, {
      hint: "Try again; QMD_SQLITE_BUSY_TIMEOUT sets how many milliseconds to wait.",
      exitCode: 75,
      cause: error,
    });
  }
  return new MemqError("INDEX_UNREADABLE", `The index ${path} can't be opened: ${reasonOf(error)}.`, {
    hint: hintOf(error) ?? "Check the permissions of the file and its folder, and the free space.",
    cause: error,
  });
}

function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test((error as { code?: string } | null)?.code ?? "");
}

/** 0 where there is no file. */
function inodeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}

function createPrivately(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
}

/** The switch to WAL fails at once, without the busy handler, while another process does the same. */
function switchToWal(db: Database, patienceMs: number): void {
  const end = Date.now() + patienceMs;
  for (;;) {
    try {
      db.run("PRAGMA journal_mode = WAL");
      return;
    } catch (error) {
      if (!isBusy(error) || Date.now() > end) throw error;
      Bun.sleepSync(5);
    }
  }
}

/** Runs `work` in one write transaction, rolled back as a whole when it throws; nested calls join the outer one. */
export function inTransaction<T>(index: Index, work: () => T): T {
  const { db } = index;
  if (db.inTransaction) return work();
  db.run("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.run("COMMIT");
    return result;
  } catch (error) {
    if (db.inTransaction) db.run("ROLLBACK");
    throw error;
  }
}

/** Runs `work`, which only reads and does not wait, on one state of the index: the locks are taken once and not for each query. */
export function inSnapshot<T>({ db }: Index, work: () => T): T {
  if (db.inTransaction) return work();
  db.run("BEGIN");
  try {
    return work();
  } finally {
    if (db.inTransaction) db.run("COMMIT");
  }
}

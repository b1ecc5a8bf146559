import { constants, Database } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { reasonOf } from "../errors.ts";
import { clearLlmCache } from "./cache.ts";
import { inTransaction, damageBeforeWriting } from "./open.ts";
import { loadVec } from "./vec-extension.ts";
import { shadowLayout } from "./vector-shadow.ts";
import { deleteVec0 } from "./vector-vec0.ts";
import type { Index } from "./types.ts";

/** How long a checkpoint waits for readers: the next one will do as well. */
const CHECKPOINT_PATIENCE_MS = 250;

/** What `cleanup` would remove or has removed. */
export type CleanupCounts = {
  cachedAnswers: number;
  orphanedVectors: number;
  inactiveDocuments: number;
  orphanedContents: number;
};

// A vector's books and the vector may each outlive the other when a program was stopped in between: both are orphans.
const ORPHANED_BOOKS = `SELECT hash || '_' || seq AS key FROM content_vectors c
  WHERE NOT EXISTS (SELECT 1 FROM memq_passages p WHERE p.vector_key = c.hash || '_' || c.seq)
  AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.hash = c.hash AND d.active = 1)`;
const ORPHANED_CONTENTS = "SELECT hash FROM content WHERE hash NOT IN (SELECT hash FROM documents WHERE active = 1)";

/** What `cleanup` would do now. */
export function cleanupCounts(index: Index): CleanupCounts {
  const count = (sql: string): number => index.db.query<{ n: number }, []>(sql).get()?.n ?? 0;
  return {
    cachedAnswers: count("SELECT count(*) AS n FROM llm_cache"),
    orphanedVectors: orphanedVectorKeys(index).length,
    inactiveDocuments: count("SELECT count(*) AS n FROM documents WHERE active = 0"),
    orphanedContents: count(`SELECT count(*) AS n FROM (${ORPHANED_CONTENTS})`),
  };
}

/** Vectors and their books that belong to no active document. */
export function orphanedVectorKeys(index: Index): string[] {
  const parts = [ORPHANED_BOOKS];
  const loose = (column: string, table: string): string =>
    `SELECT v.${column} AS key FROM ${table} v WHERE NOT EXISTS (SELECT 1 FROM memq_passages p WHERE p.vector_key = v.${column})
     AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.active = 1 AND d.hash = substr(v.${column}, 1, instr(v.${column}, '_') - 1))`;
  parts.push(loose("vector_key", "memq_vectors"));
  if (shadowLayout(index) !== null) parts.push(loose("id", "vectors_vec_rowids"));
  return index.db
    .query<{ key: string }, []>(parts.join(" UNION "))
    .all()
    .map((row) => row.key);
}

/**
 * Removes what no note needs any more, then compacts the full-text index and the file; returns what was removed, and why the rest was
 * left out where the disk has no room for it: what was removed is free for the index's own use all the same.
 */
export function cleanup(index: Index): { removed: CleanupCounts; notCompacted: string | null } {
  const removed = cleanupCounts(index);
  inTransaction(index, () => {
    clearLlmCache(index);
    removeOrphanedVectors(index);
    index.db.run("DELETE FROM documents WHERE active = 0");
    index.db.run(`DELETE FROM content WHERE hash IN (${ORPHANED_CONTENTS})`);
  });
  checkpoint(index);
  let notCompacted: string | null = null;
  try {
    index.db.run("INSERT INTO memq_fts(memq_fts) VALUES ('optimize')");
    index.db.run("VACUUM");
  } catch (error) {
    if (!isOutOfSpace(error)) throw error;
    notCompacted = reasonOf(error);
  }
  checkpoint(index);
  return { removed, notCompacted };
}

/** SQLite knows a full disk alone: a quota or a limit of the process is to it a write that failed. */
function isOutOfSpace(error: unknown): boolean {
  return /^SQLITE_(FULL|IOERR_WRITE)/.test((error as { code?: string } | null)?.code ?? "");
}

function removeOrphanedVectors(index: Index): void {
  const vec0 = shadowLayout(index) !== null && loadVec(index) === "vec0";
  const unbook = index.db.query(
    "DELETE FROM content_vectors WHERE hash || '_' || seq = ? AND hash = substr(?, 1, instr(?, '_') - 1)",
  );
  const unpack = index.db.query("DELETE FROM memq_vectors WHERE vector_key = ?");
  for (const key of orphanedVectorKeys(index)) {
    unbook.run(key, key, key);
    unpack.run(key);
    if (vec0) deleteVec0(index, key);
  }
}

/** Deletes contents that no document refers to, in use or not; returns how many. */
export function removeOrphanedContents(index: Index): number {
  // The inner scan walks the index of hashes, not the texts.
  const { changes } = index.db
    .query(
      `DELETE FROM content WHERE hash IN (SELECT c.hash FROM content c
       WHERE NOT EXISTS (SELECT 1 FROM documents d WHERE d.hash = c.hash))`,
    )
    .run();
  return changes;
}

/** Deletes the rows of documents that are gone, which a qmd home keeps for `cleanup`. */
export function forgetGoneDocuments(index: Index): void {
  index.db.run("DELETE FROM documents WHERE active = 0");
}

/** Vectors that are booked, whether or not a note still needs them. */
export function vectorCount(index: Index): number {
  return index.db.query<{ n: number }, []>("SELECT count(*) AS n FROM content_vectors").get()?.n ?? 0;
}

/** How many pages one call of a merge works through: some hundredths of a second. */
const MERGED_PAGES = 500;

/**
 * Merges segments of the full-text index where there are several of a size, for a writer with nothing else to do; says whether there
 * was something to merge. Each segment is one more place where a search looks for every word.
 */
export function mergeTokens(index: Index): boolean {
  return merged(index, MERGED_PAGES);
}

/** Begins to merge all segments into one, whatever their sizes; `mergeTokens` goes on with it. */
export function beginMergingAllTokens(index: Index): boolean {
  return merged(index, -MERGED_PAGES);
}

function merged(index: Index, pages: number): boolean {
  const total = (): number => index.db.query<{ n: number }, []>("SELECT total_changes() AS n").get()?.n ?? 0;
  const before = total();
  index.db.query("INSERT INTO memq_fts(memq_fts, rank) VALUES ('merge', ?)").run(pages);
  // As FTS5 documents it: a merge that found nothing to do changes fewer than two rows.
  return total() - before >= 2;
}

/** Writes the journal back into the file and empties it; says whether no reader was in the way for longer than a moment. */
export function checkpoint(index: Index): boolean {
  const { db } = index;
  const patience = db.query<{ timeout: number }, []>("PRAGMA busy_timeout").get()?.timeout ?? 0;
  db.run(`PRAGMA busy_timeout = ${Math.min(patience, CHECKPOINT_PATIENCE_MS)}`);
  try {
    return db.query<{ busy: number }, []>("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy === 0;
  } finally {
    db.run(`PRAGMA busy_timeout = ${patience}`);
  }
}

/** How long the last process waits to take the journal away: who has the file to himself does it too. */
const JOURNAL_PATIENCE_MS = 100;

/**
 * Takes the journal files of an index away when nobody uses it any more, as a process does that kept it open for long; readers
 * leave them. Nothing happens while another process has the index open, or to another program's file.
 */
export function removeJournal(path: string): void {
  if (!existsSync(`${path}-wal`)) return;
  try {
    damageBeforeWriting(path, JOURNAL_PATIENCE_MS);
    const db = new Database(path, { readwrite: true });
    try {
      db.run(`PRAGMA busy_timeout = ${JOURNAL_PATIENCE_MS}`);
      db.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 0);
      // The last connection that has read the file removes its journal as it closes.
      db.query("SELECT count(*) FROM sqlite_master").get();
    } finally {
      db.close();
    }
  } catch {
    // In use, read-only or damaged: the next writer has the same to do. Another program's: who opens it says so.
  }
}

/** Bytes of the index file and of its journal. */
export function indexSizes(path: string): { file: number; wal: number } {
  const size = (name: string): number => statSync(name, { throwIfNoEntry: false })?.size ?? 0;
  return { file: size(path), wal: size(`${path}-wal`) };
}

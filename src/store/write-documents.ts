import { inTransaction } from "./open.ts";
import { readPassageKeys, removePassages, writePassages } from "./passages.ts";
import type { DocumentDraft, Index } from "./types.ts";
import { releaseVectors, removeContentVectors } from "./vectors.ts";

/** Ids of what `writeDocuments` wrote, in the order of its drafts, and how many documents were new. */
export type WrittenDocuments = { ids: number[]; added: number };

/**
 * Writes new and changed documents with their passages in one transaction; the passages that they replace go. Vectors that
 * nothing refers to any more move to the embedding cache. A document that was removed before comes back under its old id.
 */
export function writeDocuments(index: Index, drafts: readonly DocumentDraft[]): WrittenDocuments {
  return inTransaction(index, () => {
    const ids: number[] = [];
    let added = 0;
    const released = new Map<string, string>();
    /** Replaced contents that only another program has embedded. */
    const uncut: string[] = [];
    for (const draft of drafts) {
      const written = writeDocument(index, draft);
      if (written.isNew) added++;
      ids.push(written.id);
      const keys = readPassageKeys(index, written.id);
      for (const { vectorKey, textHash } of keys) released.set(vectorKey, textHash);
      if (keys.length === 0 && written.replaced !== null) uncut.push(written.replaced);
    }
    removePassages(index, ids);
    for (const [i, draft] of drafts.entries()) writePassages(index, ids[i] ?? 0, draft.hash, draft.passages);
    releaseVectors(index, released);
    removeContentVectors(index, uncut);
    return { ids, added };
  });
}

/** `replaced`: hash of the content that the document had before, if it was another. */
type Written = { id: number; isNew: boolean; replaced: string | null };

function writeDocument(index: Index, draft: DocumentDraft): Written {
  const { db } = index;
  const now = new Date().toISOString();
  const created = isoTime(draft.birthtimeMs > 0 ? draft.birthtimeMs : draft.mtimeMs, now);
  const modified = isoTime(draft.mtimeMs, now);
  db.query("INSERT OR IGNORE INTO content(hash, doc, created_at) VALUES (?, ?, ?)").run(draft.hash, draft.text, now);
  const known = db
    .query<{ id: number; active: number; hash: string }, [string, string]>(
      "SELECT id, active, hash FROM documents WHERE collection = ? AND path = ?",
    )
    .get(draft.collection, draft.path);
  let id: number;
  if (known === null) {
    const inserted = db
      .query(
        "INSERT INTO documents(collection, path, title, hash, created_at, modified_at, active) VALUES (?, ?, ?, ?, ?, ?, 1)",
      )
      .run(draft.collection, draft.path, draft.title, draft.hash, created, modified);
    id = Number(inserted.lastInsertRowid);
  } else {
    id = known.id;
    db.query("UPDATE documents SET title = ?, hash = ?, modified_at = ?, active = 1 WHERE id = ?").run(
      draft.title,
      draft.hash,
      modified,
      id,
    );
  }
  db.query(
    "INSERT OR REPLACE INTO memq_files(document_id, hash, size, mtime_ms, date, tags) VALUES (?, ?, ?, ?, ?, ?)",
  ).run(
    id,
    draft.hash,
    draft.size,
    draft.mtimeMs,
    draft.date,
    draft.tags.length > 0 ? JSON.stringify(draft.tags) : null,
  );
  const replaced = known === null || known.hash === draft.hash ? null : known.hash;
  return { id, isNew: known === null || known.active === 0, replaced };
}

function isoTime(ms: number, otherwise: string): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? otherwise : date.toISOString();
}

/** Marks documents as gone, as qmd does: their rows and content stay for `cleanup`, their passages and vectors go. */
export function removeDocuments(index: Index, ids: readonly number[]): void {
  if (ids.length === 0) return;
  inTransaction(index, () => {
    const released = new Map<string, string>();
    const uncut: string[] = [];
    for (const id of ids) {
      const keys = readPassageKeys(index, id);
      for (const { vectorKey, textHash } of keys) released.set(vectorKey, textHash);
      const { hash } = index.db
        .query<{ hash: string }, [number]>("UPDATE documents SET active = 0 WHERE id = ? RETURNING hash")
        .get(id) ?? { hash: "" };
      if (keys.length === 0) uncut.push(hash);
      index.db.query("DELETE FROM memq_files WHERE document_id = ?").run(id);
    }
    removePassages(index, ids);
    releaseVectors(index, released);
    removeContentVectors(index, uncut);
  });
}

/** Records that a file was touched and not changed. */
export function touchDocument(index: Index, id: number, file: { mtimeMs: number; size: number }): void {
  index.db.query("UPDATE memq_files SET mtime_ms = ?, size = ? WHERE document_id = ?").run(file.mtimeMs, file.size, id);
}

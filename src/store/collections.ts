import { documentsOf } from "./documents.ts";
import { removeOrphanedContents } from "./maintenance.ts";
import { writeMeta } from "./meta.ts";
import { inTransaction } from "./open.ts";
import type { Index } from "./types.ts";
import { removeDocuments } from "./write-documents.ts";

/** A row of qmd's `store_collections`; contexts are texts by path prefix. */
export type StoredCollection = {
  name: string;
  path: string;
  pattern: string;
  ignore: string[] | null;
  includeByDefault: boolean;
  updateCommand: string | null;
  context: Record<string, string> | null;
};

/** Makes the index know exactly these collections; documents of others stay. */
export function replaceStoredCollections(index: Index, collections: readonly StoredCollection[]): void {
  inTransaction(index, () => {
    index.db.run("DELETE FROM store_collections");
    const insert = index.db.query(
      `INSERT INTO store_collections(name, path, pattern, ignore_patterns, include_by_default, update_command, context)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    );
    for (const { name, path, pattern, ignore, includeByDefault, updateCommand, context } of collections) {
      insert.run(
        name,
        path,
        pattern,
        ignore === null ? null : JSON.stringify(ignore),
        includeByDefault ? 1 : 0,
        updateCommand,
        context === null ? null : JSON.stringify(context),
      );
    }
  });
}

/** A value of qmd's `store_config` (`config_hash`, `global_context`), or null. */
export function readStoreConfig(index: Index, key: string): string | null {
  return (
    index.db.query<{ value: string | null }, [string]>("SELECT value FROM store_config WHERE key = ?").get(key)
      ?.value ?? null
  );
}

/** Sets a value of `store_config`, or removes it. */
export function writeStoreConfig(index: Index, key: string, value: string | null): void {
  if (value === null) index.db.query("DELETE FROM store_config WHERE key = ?").run(key);
  else index.db.query("INSERT OR REPLACE INTO store_config(key, value) VALUES (?, ?)").run(key, value);
}

/** Gives the documents of a collection to another name. What that name has already, left by a collection that was taken out, goes. */
export function renameDocumentsCollection(index: Index, from: string, to: string): void {
  inTransaction(index, () => {
    deleteCollectionDocuments(index, to);
    index.db.query("UPDATE documents SET collection = ? WHERE collection = ?").run(to, from);
    // In-memory copies can't see from ids alone that passages changed hands.
    writeMeta(index, "collections.renamed", new Date().toISOString());
  });
}

/** Deletes the documents of a collection, and the contents that no other document needs; returns how many there were. */
export function deleteCollectionDocuments(index: Index, collection: string): { documents: number; contents: number } {
  return inTransaction(index, () => {
    const active = documentsOf(index, collection).map(({ id }) => id);
    removeDocuments(index, active);
    index.db.query("DELETE FROM documents WHERE collection = ?").run(collection);
    return { documents: active.length, contents: removeOrphanedContents(index) };
  });
}

import type { Index } from "./types.ts";
import { loadVec } from "./vec-extension.ts";

/** The first thing that is wrong with the file's pages and tables, or null. Reads the whole file. */
export function integrityProblem(index: Index): string | null {
  const found = index.db.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get()?.quick_check ?? "ok";
  return found === "ok" ? null : found;
}

/** How vectors of this index are searched: by sqlite-vec, or in plain tables where it does not load. */
export function vectorEngine(index: Index): "vec0" | "packed" {
  return loadVec(index);
}

/** SQLite's version. */
export function sqliteVersion(index: Index): string {
  return index.db.query<{ v: string }, []>("SELECT sqlite_version() AS v").get()?.v ?? "";
}

/** Booked vectors by the model and fingerprint that they were made with, most first. */
export function vectorGroups(index: Index): { model: string; fingerprint: string; count: number }[] {
  return index.db
    .query<{ model: string; fingerprint: string; count: number }, []>(
      `SELECT model, embed_fingerprint AS fingerprint, count(*) AS count FROM content_vectors
       GROUP BY model, embed_fingerprint ORDER BY count DESC`,
    )
    .all();
}

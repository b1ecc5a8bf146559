import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { damageOf, hasMark } from "./damage.ts";
import { tableNames } from "./schema.ts";

/** Names of OpenClaw's own built-in index, of its older and its newer form. */
const OLD_FORM = ["chunks", "files", "meta"];
const NEW_FORM = ["memory_index_chunks", "memory_index_meta"];

/** Whether these tables are OpenClaw's own built-in index and not ours. */
export function isForeign(tables: ReadonlySet<string>): boolean {
  if (tables.has("memq_meta")) return false;
  return OLD_FORM.every((name) => tables.has(name)) || NEW_FORM.every((name) => tables.has(name));
}

/** Whether there are tables, and they are neither ours nor qmd's. */
function isUnknown(tables: ReadonlySet<string>): boolean {
  return tables.size > 0 && !tables.has("memq_meta") && !(tables.has("content") && tables.has("documents"));
}

/** Columns without which tables of these names are not qmd's, of whatever version. */
const QMD_COLUMNS = {
  content: ["hash", "doc"],
  documents: ["id", "collection", "path", "title", "hash", "active"],
  content_vectors: ["hash", "seq", "pos", "model"],
  store_collections: ["name", "path"],
  store_config: ["key", "value"],
  llm_cache: ["hash", "result"],
};

/** Whether a file without tables of ours has one that is called like qmd's and is another. */
export function isOtherDatabase(db: Database, tables: ReadonlySet<string>): boolean {
  if (tables.has("memq_meta")) return false;
  return Object.entries(QMD_COLUMNS).some(([table, columns]) => {
    if (!tables.has(table)) return false;
    const there = new Set(db.query("SELECT name FROM pragma_table_info(?)").values(table).flat());
    return columns.some((column) => !there.has(column));
  });
}

/**
 * Whether another program's database lies at `path`, most likely OpenClaw's own built-in index; ours then goes beside it. Missing,
 * empty and damaged files are not foreign, and neither are qmd's.
 */
export function isForeignIndex(path: string): boolean {
  // Opening a database only to look at its tables would cost as much as the search that follows.
  if (existsSync(path) && hasMark(path)) return false;
  return withForeign(path, (tables) => isForeign(tables) || isUnknown(tables), false);
}

/**
 * Vectors that OpenClaw has cached for texts (SHA-256 hex of each) by this provider and model; read-only, empty when it has none.
 * A cache that holds vectors of more than one set-up of the model (`provider_key`: address, length, headers) gives none, since
 * nothing says which of them fits.
 */
export function foreignCachedVectors(
  path: string,
  provider: string,
  model: string,
  hashes: readonly string[],
): Map<string, Float32Array> {
  return withForeign(
    path,
    (tables, db) => {
      const found = new Map<string, Float32Array>();
      for (const table of ["embedding_cache", "memory_embedding_cache"].filter((name) => tables.has(name))) {
        const rows = db
          .query<{ hash: string; embedding: unknown; dims: number | null }, [string, string, string]>(
            `SELECT hash, embedding, dims FROM ${table}
             WHERE provider = ?1 AND model = ?2 AND hash IN (SELECT value FROM json_each(?3))
             AND 1 = (SELECT COUNT(DISTINCT provider_key) FROM ${table} WHERE provider = ?1 AND model = ?2)`,
          )
          .all(provider, model, JSON.stringify(hashes));
        for (const row of rows) {
          const vector = decodeVector(row.embedding, row.dims);
          if (vector !== null) found.set(row.hash, vector);
        }
      }
      return found;
    },
    new Map<string, Float32Array>(),
  );
}

/** A vector as OpenClaw's versions wrote it: JSON text, little-endian float64, or little-endian float32; null if it is none. */
function decodeVector(stored: unknown, dims: number | null): Float32Array | null {
  const values =
    typeof stored === "string" ? parseNumbers(stored) : stored instanceof Uint8Array ? fromBytes(stored, dims) : null;
  if (values === null || values.length === 0 || (dims !== null && values.length !== dims)) return null;
  return values.every((value) => Number.isFinite(value)) ? values : null;
}

function parseNumbers(json: string): Float32Array | null {
  try {
    const parsed: unknown = JSON.parse(json);
    return Array.isArray(parsed) && parsed.every((n) => typeof n === "number") ? Float32Array.from(parsed) : null;
  } catch {
    return null;
  }
}

function fromBytes(bytes: Uint8Array, dims: number | null): Float32Array | null {
  const copy = bytes.slice().buffer;
  if (bytes.length % 8 === 0 && (dims === null || bytes.length === dims * 8))
    return Float32Array.from(new Float64Array(copy));
  return bytes.length % 4 === 0 ? new Float32Array(copy) : null;
}

function withForeign<T>(path: string, read: (tables: Set<string>, db: Database) => T, otherwise: T): T {
  if (!existsSync(path)) return otherwise;
  let db: Database | undefined;
  try {
    if (damageOf(path) !== null) return otherwise;
    db = new Database(path, { readonly: true });
    db.run("PRAGMA busy_timeout = 1000");
    return read(tableNames(db), db);
  } catch {
    // Another program's file, and only a source of savings: without it every text is embedded anew.
    return otherwise;
  } finally {
    db?.close();
  }
}

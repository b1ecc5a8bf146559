import type { Index } from "./types.ts";

/** A value of `memq_meta`, or null. */
export function readMeta(index: Index, key: string): string | null {
  return (
    index.db.query<{ value: string }, [string]>("SELECT value FROM memq_meta WHERE key = ?").get(key)?.value ?? null
  );
}

/** Sets a value of `memq_meta`, or removes it. */
export function writeMeta(index: Index, key: string, value: string | null): void {
  if (value === null) index.db.query("DELETE FROM memq_meta WHERE key = ?").run(key);
  else index.db.query("INSERT OR REPLACE INTO memq_meta(key, value) VALUES (?, ?)").run(key, value);
}

/** Where it stands how a collection was synced last. */
export function lastSyncKey(collection: string): string {
  return `sync:${collection}`;
}

/** Those of the collections that no sync has looked at yet. */
export function unsyncedCollections(index: Index, names: readonly string[]): string[] {
  return index.db
    .query<{ name: string }, [string, string]>(
      `SELECT value AS name FROM json_each(?) AS named WHERE NOT EXISTS (SELECT 1 FROM memq_meta WHERE key = ? || named.value)
         AND NOT EXISTS (SELECT 1 FROM documents WHERE collection = named.value AND active = 1)`,
    )
    .all(JSON.stringify(names), lastSyncKey(""))
    .map(({ name }) => name);
}

/** Where a renaming is noted of which the index does not know yet whether the configuration has it too. */
const RENAMING = "collections.renaming";

/** A collection's old and new name. */
export type Renaming = { from: string; to: string };

/** The renaming that is noted, or null. */
export function readRenaming(index: Index): Renaming | null {
  const noted = readMeta(index, RENAMING);
  return noted === null ? null : (JSON.parse(noted) as Renaming);
}

/** Notes a renaming, or that there is none. */
export function writeRenaming(index: Index, renaming: Renaming | null): void {
  writeMeta(index, RENAMING, renaming === null ? null : JSON.stringify(renaming));
}

/** Where it stands why the fallback made the vectors that the named provider could not make. */
const FALLBACK_REASON = "embed.fallbackReason";

/** Why the fallback embedded in place of the named provider, or null. */
export function readFallbackReason(index: Index): string | null {
  return readMeta(index, FALLBACK_REASON);
}

/** Notes why the fallback embeds, or that it no longer does. */
export function writeFallbackReason(index: Index, reason: string | null): void {
  writeMeta(index, FALLBACK_REASON, reason);
}

/**
 * Changes whenever the index was written, by any connection: for caches of a process that stays alive. Costs microseconds.
 */
export function changeStamp(index: Index): string {
  const { db } = index;
  const version = db.query<{ data_version: number }, []>("PRAGMA data_version").get()?.data_version ?? 0;
  const own = index.mode === "read" ? 0 : (db.query<{ n: number }, []>("SELECT total_changes() AS n").get()?.n ?? 0);
  return `${version}.${own}`;
}

/** Sets `compactionCount` as the last cycle of this session whose memory flush has run. */
export function writeFlush(index: Index, sessionKey: string, compactionCount: number, at: number): void {
  index.db
    .query("INSERT OR REPLACE INTO memq_flush(session_key, compaction_count, at) VALUES (?, ?, ?)")
    .run(sessionKey, compactionCount, at);
}

/** The last flush of a session: its compaction cycle, and when (milliseconds since 1970). */
export function readFlush(index: Index, sessionKey: string): { compactionCount: number; at: number } | null {
  return index.db
    .query<{ compactionCount: number; at: number }, [string]>(
      "SELECT compaction_count AS compactionCount, at FROM memq_flush WHERE session_key = ?",
    )
    .get(sessionKey);
}

import { asMemqError, MemqError } from "../errors.ts";
import type { Freshness } from "../sync/freshness.ts";
import type { SyncReport } from "../sync/report.ts";
import type { EngineOptions, IndexOptions } from "./engine.ts";
import type { IndexReader } from "./index-reader.ts";
import type { ProviderOpener } from "./provider.ts";
import type { QmdFreshness } from "./qmd-freshness.ts";

/** What became of the syncs of this process; times in milliseconds since 1970. */
export type SyncState = { last: SyncReport | null; error: string | null; endedAt: number };

/** What a sync tells of itself. */
export type SyncParts = { reader: IndexReader; provider: ProviderOpener };

/** One home's way of syncing. */
export type Keeper = {
  readonly freshness: Freshness | QmdFreshness | null;
  /** Everything, embedding included. */
  sync(wanted: IndexOptions): Promise<SyncReport>;
  /** The same in the background: `written` is called as soon as the notes are, since keywords find them then. */
  syncInBackground(written: () => void): Promise<void>;
};

/** What a keeper works with; `noted` remembers what a sync came to. */
export type KeeperTools = SyncParts & { state: SyncState; noted: (sync: Promise<SyncReport>) => Promise<SyncReport> };

/** The report of a sync that nobody waits for, told to whom it concerns; null when it failed, which is told too. */
export async function inBackground(sync: Promise<SyncReport>, options: EngineOptions): Promise<SyncReport | null> {
  try {
    const report = await sync;
    reportSync(report, options);
    return report;
  } catch (error) {
    if (!isCancelled(error)) options.log(`A sync in the background failed: ${asMemqError(error).message}`);
    return null;
  }
}

/** Whether a sync ended because its caller did. */
export function isCancelled(error: unknown): boolean {
  return error instanceof MemqError && error.code === "SYNC_CANCELLED";
}

/** Tells of a sync that went on unasked. */
export function reportSync(report: SyncReport, { onChanged, log }: EngineOptions): void {
  for (const warning of report.warnings) log(warning);
  for (const { path, reason } of report.skipped) log(`Skipped ${path}: ${reason}.`);
  const { added, changed, removed } = report;
  if (added + changed + removed > 0) onChanged?.({ added, changed, removed });
}

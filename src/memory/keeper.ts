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
export type KeeperTools = SyncParts & {
  state: SyncState;
  noted: (sync: Promise<SyncReport>) => Promise<SyncReport>;
  teller: SyncTeller;
};

/** Tells those whom it concerns of syncs that go on unasked. */
export type SyncTeller = { report(report: SyncReport): void; failed(error: unknown): void };

/** The report of a sync that nobody waits for, told to whom it concerns; null when it failed, which is told too. */
export async function inBackground(sync: Promise<SyncReport>, teller: SyncTeller): Promise<SyncReport | null> {
  try {
    const report = await sync;
    teller.report(report);
    return report;
  } catch (error) {
    teller.failed(error);
    return null;
  }
}

/** Whether a sync ended because its caller did. */
export function isCancelled(error: unknown): boolean {
  return error instanceof MemqError && error.code === "SYNC_CANCELLED";
}

/** What the sync before said already is not said again: some syncs come every few minutes, and a folder stays unreadable. */
export function syncTeller({ onChanged, log }: EngineOptions): SyncTeller {
  let before = new Set<string>();
  const say = (sentences: string[]): void => {
    for (const sentence of sentences) if (!before.has(sentence)) log(sentence);
    before = new Set(sentences);
  };
  return {
    report({ warnings, skipped, added, changed, removed }) {
      say([...warnings, ...skipped.map(({ path, reason }) => `Skipped ${path}: ${reason}.`)]);
      if (added + changed + removed > 0) onChanged?.({ added, changed, removed });
    },
    failed(error) {
      if (!isCancelled(error)) say([`A sync in the background failed: ${asMemqError(error).message}`]);
    },
  };
}

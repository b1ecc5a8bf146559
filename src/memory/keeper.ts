import { asMemqError, MemqError } from "../errors.ts";
import type { Freshness } from "../sync/freshness.ts";
import type { SyncReport } from "../sync/report.ts";
import type { EngineOptions, IndexOptions } from "./engine.ts";
import type { IndexReader } from "./index-reader.ts";
import type { ProviderOpener } from "./provider.ts";

/** What became of the syncs of this process; times in milliseconds since 1970. */
export type SyncState = { last: SyncReport | null; error: string | null; endedAt: number };

/** What a sync tells of itself. */
export type SyncParts = { reader: IndexReader; provider: ProviderOpener };

/** Calls for syncs in the background: at intervals, on changes, with sessions and searches. */
export type KeptFresh = Omit<Freshness, "sync"> & {
  /** Timers and events count from now on. */
  begin(): void;
  /** Something was written that has to be found at once. */
  appended(): void;
};

/** One home's way of syncing. */
export type Keeper = {
  /** In a living process. */
  readonly freshness: KeptFresh | null;
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

/** Tells those whom it concerns of syncs. */
export type SyncTeller = {
  /** What one left out or could not do. */
  problems(report: SyncReport): void;
  /** The same of one that went on unasked, and what it changed. */
  report(report: SyncReport): void;
  failed(error: unknown): void;
};

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

/** Of what a sync as a whole, and one that failed, say: no collection has such a name. */
const [WHOLE, FAILURE] = ["", "\0"];

/**
 * What was said already of a collection when it was synced before is not said again: some syncs come every few minutes, most are of one
 * collection, and a folder stays unreadable.
 */
export function syncTeller({ onChanged, log }: EngineOptions): SyncTeller {
  const before = new Map<string, Set<string>>();
  const say = (about: string, sentences: string[]): void => {
    for (const sentence of sentences) if (before.get(about)?.has(sentence) !== true) log(sentence);
    before.set(about, new Set(sentences));
  };
  const problems = ({ collections, warnings }: SyncReport): void => {
    const ofOne = new Set(collections.flatMap((collection) => collection.warnings));
    say(FAILURE, []);
    say(
      WHOLE,
      warnings.filter((warning) => !ofOne.has(warning)),
    );
    for (const { name, warnings, skipped } of collections)
      say(name, [...warnings, ...skipped.map(({ path, reason }) => `Skipped ${path}: ${reason}.`)]);
  };
  return {
    problems,
    report(report) {
      problems(report);
      const { added, changed, removed } = report;
      if (added + changed + removed > 0) onChanged?.({ added, changed, removed });
    },
    failed(error) {
      if (!isCancelled(error)) say(FAILURE, [`A sync in the background failed: ${asMemqError(error).message}`]);
    },
  };
}

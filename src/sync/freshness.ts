import { messageOf } from "../errors.ts";
import type { Home, MemorySettings } from "../home/types.ts";
import { type StartOptions, startSync } from "./client.ts";
import { syncCancelled, type SyncReport } from "./report.ts";
import { type Changes, type Watcher, watchCollections } from "./watch.ts";

export type FreshnessOptions = {
  settings: MemorySettings["sync"];
  /** Whether a transcript (absolute path) has grown enough to be indexed; always when absent. */
  transcriptDue?: (path: string) => Promise<boolean>;
  /** A sync in the background has ended, or failed. */
  onReport?: (report: SyncReport) => void;
  onFailed: (error: unknown) => void;
  /** Sentences for people: watching is not possible, a transcript was not looked at. */
  onWarning: (warning: string) => void;
};

/** Keeps the index of a living process up to date; every sync runs in the Worker. */
export type Freshness = {
  readonly watching: boolean;
  /** Syncs now; joins a sync that is running. */
  sync(options?: StartOptions): Promise<SyncReport>;
  sessionStarted(): void;
  /** A search was answered: looks for changes, at most now and then, and rarely while they are watched. */
  searched(): void;
  /** A search met a file that is gone or changed. */
  outdated(): void;
  /** A transcript has grown. */
  transcriptChanged(path: string): void;
  /** Ends watching, timers and a sync in the background. */
  close(): void;
};

/** Least time between two syncs that searches cause, and how many times longer than a sync takes it is. */
const LEAST_PAUSE_MS = 2000;
const PAUSE_FACTOR = 20;
/** The same while watching: network and foreign file systems tell nothing of changes that are made elsewhere. */
const WATCHED_PAUSE_MS = 60_000;
/** Between two looks for the results of batch jobs. */
const FETCH_PAUSE_MS = 60_000;

/** Starts watching and timers as the settings say; the first sync is the caller's. */
export function keepFresh(home: Home, options: FreshnessOptions): Freshness {
  const { settings, transcriptDue, onReport, onFailed, onWarning } = options;
  const closed = new AbortController();
  const { signal } = closed;
  const sessions = home.collections.filter(({ source }) => source === "sessions");
  const notes = home.collections.filter(({ source }) => source !== "sessions").map(({ name }) => name);
  /** Names of collections to sync next in the background. */
  const due = new Set<string>();
  let working = false;
  let last = { at: -Infinity, ms: 0 };
  let watcher: Watcher | null = null;
  let fetching: ReturnType<typeof setTimeout> | undefined;

  const work = async (): Promise<void> => {
    if (working) return;
    working = true;
    while (due.size > 0 && !signal.aborted) {
      const collections = [...due];
      due.clear();
      try {
        const report = await startSync(home, { collections, joins: false, awaitsJobs: false, signal });
        last = { at: performance.now(), ms: report.ms };
        onReport?.(report);
        if (report.embedding.state === "pending" && home.embedding.batch.wait) fetchLater(collections);
      } catch (error) {
        if (!signal.aborted) onFailed(error);
      }
      watcher?.refresh();
    }
    working = false;
  };
  /** Looks for the results of batch jobs; notes that change meanwhile don't wait for them. */
  const fetchLater = (collections: string[]): void => {
    clearTimeout(fetching);
    fetching = setTimeout(() => syncSoon(collections), Math.max(FETCH_PAUSE_MS, home.embedding.batch.pollIntervalMs));
    fetching.unref();
  };
  const syncSoon = (names: Iterable<string>): void => {
    for (const name of names) due.add(name);
    if (due.size > 0 && !signal.aborted) void work();
  };
  const everything = (): string[] => home.collections.map(({ name }) => name);
  const transcriptChanged = async (path: string): Promise<void> => {
    const owners = sessions.filter(({ root }) => path.startsWith(`${root}/`)).map(({ name }) => name);
    try {
      if (owners.length > 0 && (transcriptDue === undefined || (await transcriptDue(path)))) syncSoon(owners);
    } catch (error) {
      onWarning(`The transcript ${path} was not looked at: ${messageOf(error)}`);
    }
  };
  const onChange = (changes: Changes): void => {
    syncSoon(notes.filter((name) => changes.has(name)));
    for (const { name, root } of sessions)
      for (const path of changes.get(name) ?? []) void transcriptChanged(`${root}/${path}`);
  };

  if (settings.watch) {
    watcher = watchCollections(home.collections, {
      debounceMs: settings.watchDebounceMs,
      onChange,
      onFailure: onWarning,
    });
  }
  const timer =
    settings.intervalMinutes > 0
      ? setInterval(() => syncSoon(everything()), settings.intervalMinutes * 60_000)
      : undefined;
  timer?.unref();

  return {
    get watching() {
      return watcher?.active ?? false;
    },
    async sync(start = {}) {
      if (signal.aborted) throw syncCancelled();
      const report = await startSync(home, {
        ...start,
        signal: start.signal === undefined ? signal : AbortSignal.any([start.signal, signal]),
      });
      last = { at: performance.now(), ms: report.ms };
      watcher?.refresh();
      return report;
    },
    sessionStarted() {
      if (settings.onSessionStart) syncSoon(everything());
    },
    searched() {
      const pause = Math.max(watcher?.active ? WATCHED_PAUSE_MS : LEAST_PAUSE_MS, last.ms * PAUSE_FACTOR);
      if (settings.onSearch && performance.now() >= last.at + pause) syncSoon(notes);
    },
    // Which of them is older than its files is not known here, and a transcript that is gone is told by nothing else.
    outdated: () => syncSoon(everything()),
    transcriptChanged: (path) => void transcriptChanged(path),
    close() {
      closed.abort();
      watcher?.close();
      clearInterval(timer);
      clearTimeout(fetching);
    },
  };
}

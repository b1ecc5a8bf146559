import { messageOf } from "../errors.ts";
import type { Collection, Home, MemorySettings } from "../home/types.ts";
import { type StartOptions, startSync } from "./client.ts";
import { syncCancelled, type SyncReport } from "./report.ts";
import { type Changes, type Watcher, watchCollections } from "./watch.ts";

export type FreshnessOptions = {
  settings: MemorySettings["sync"];
  /** Whether a transcript (absolute path) has grown enough to be indexed. */
  transcriptDue: (path: string) => Promise<boolean>;
  /** A sync in the background has ended, or failed. */
  onReport: (report: SyncReport) => void;
  onFailed: (error: unknown) => void;
  /** Sentences for people: watching is not possible, a transcript was not looked at. */
  onWarning: (warning: string) => void;
};

/** Keeps the index of a living process up to date; every sync runs in the Worker. */
export type Freshness = {
  readonly watching: boolean;
  /** Syncs: what had changed by now is indexed then. */
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
/** Until what failed is tried again, where no search and no change asks for it before: a disk that was full, a folder that could not be written. */
const RETRY_PAUSE_MS = 60_000;
/** Between two looks for the results of batch jobs. */
const FETCH_PAUSE_MS = 60_000;

/** Syncs of a home in the background: what is to be synced next, and how the last one went. */
type Syncs = {
  home: Home;
  options: FreshnessOptions;
  signal: AbortSignal;
  /** Names of collections to sync next; while nothing is `working` those whose last sync failed. */
  due: Set<string>;
  working: boolean;
  /** When the last sync ended or failed (`performance.now()`) and how long it took, in milliseconds. */
  last: { at: number; ms: number };
  watcher: Watcher | null;
  /** The next look for the results of batch jobs. */
  fetching: ReturnType<typeof setTimeout> | undefined;
  /** The next attempt at what failed. */
  retrying: ReturnType<typeof setTimeout> | undefined;
};

/** Starts watching and timers as the settings say; the first sync is the caller's. */
export function keepFresh(home: Home, options: FreshnessOptions): Freshness {
  const { settings } = options;
  const closed = new AbortController();
  const { signal } = closed;
  const syncs: Syncs = {
    home,
    options,
    signal,
    due: new Set(),
    working: false,
    last: { at: -Infinity, ms: 0 },
    watcher: null,
    fetching: undefined,
    retrying: undefined,
  };
  if (settings.watch) {
    syncs.watcher = watchCollections(home.collections, {
      debounceMs: settings.watchDebounceMs,
      onChange: (changes) => filesChanged(syncs, changes),
      onFailure: options.onWarning,
    });
  }
  const everythingSoon = (): void => syncSoon(syncs, namesOf(home.collections));
  const timer =
    settings.intervalMinutes > 0 ? setInterval(everythingSoon, settings.intervalMinutes * 60_000) : undefined;
  timer?.unref();

  return {
    get watching() {
      return syncs.watcher?.active ?? false;
    },
    sync: (start = {}) => syncNow(syncs, start),
    sessionStarted() {
      if (settings.onSessionStart) everythingSoon();
    },
    searched() {
      const { watcher, last, due } = syncs;
      const isVouchedFor = watcher?.active === true && due.size === 0;
      const pause = Math.max(isVouchedFor ? WATCHED_PAUSE_MS : LEAST_PAUSE_MS, last.ms * PAUSE_FACTOR);
      if (settings.onSearch && performance.now() >= last.at + pause) syncSoon(syncs, namesOf(notesOf(home)));
    },
    // Which of them is older than its files is not known here, and a transcript that is gone is told by nothing else.
    outdated: everythingSoon,
    transcriptChanged: (path) => void transcriptChanged(syncs, path),
    close() {
      closed.abort();
      syncs.watcher?.close();
      clearInterval(timer);
      clearTimeout(syncs.fetching);
      clearTimeout(syncs.retrying);
    },
  };
}

function transcriptsOf({ collections }: Home): Collection[] {
  return collections.filter(({ source }) => source === "sessions");
}

function notesOf({ collections }: Home): Collection[] {
  return collections.filter(({ source }) => source !== "sessions");
}

function namesOf(collections: Collection[]): string[] {
  return collections.map(({ name }) => name);
}

async function syncNow(syncs: Syncs, start: StartOptions): Promise<SyncReport> {
  const { home, signal } = syncs;
  if (signal.aborted) throw syncCancelled();
  const either = start.signal === undefined ? signal : AbortSignal.any([start.signal, signal]);
  const begun = performance.now();
  try {
    const report = await startSync(home, { ...start, signal: either });
    syncs.last = { at: performance.now(), ms: report.ms };
    syncs.watcher?.refresh();
    return report;
  } catch (error) {
    if (!either.aborted) tryAgainLater(syncs, start.collections ?? namesOf(home.collections), begun);
    throw error;
  }
}

/** What could not be synced stays due. */
function tryAgainLater(syncs: Syncs, names: readonly string[], begun: number): void {
  const at = performance.now();
  syncs.last = { at, ms: at - begun };
  for (const name of names) syncs.due.add(name);
  clearTimeout(syncs.retrying);
  syncs.retrying = setTimeout(() => syncSoon(syncs, []), RETRY_PAUSE_MS);
  syncs.retrying.unref();
}

/** Syncs these in the background, after the sync that is running there if one is. */
function syncSoon(syncs: Syncs, names: string[]): void {
  for (const name of names) syncs.due.add(name);
  if (syncs.due.size > 0 && !syncs.signal.aborted) void syncDue(syncs);
}

async function syncDue(syncs: Syncs): Promise<void> {
  const { home, options, signal, due } = syncs;
  if (syncs.working) return;
  syncs.working = true;
  let failed = false;
  while (due.size > 0 && !failed && !signal.aborted) {
    const collections = [...due];
    const begun = performance.now();
    due.clear();
    try {
      const report = await startSync(home, { collections, joins: false, awaitsJobs: false, signal });
      syncs.last = { at: performance.now(), ms: report.ms };
      options.onReport(report);
      if (report.embedding.state === "pending" && home.embedding.batch.wait) fetchLater(syncs, collections);
    } catch (error) {
      failed = true;
      if (!signal.aborted) {
        tryAgainLater(syncs, collections, begun);
        options.onFailed(error);
      }
    }
    syncs.watcher?.refresh();
  }
  syncs.working = false;
}

/** Looks for the results of batch jobs; notes that change meanwhile don't wait for them. */
function fetchLater(syncs: Syncs, collections: string[]): void {
  const pause = Math.max(FETCH_PAUSE_MS, syncs.home.embedding.batch.pollIntervalMs);
  clearTimeout(syncs.fetching);
  syncs.fetching = setTimeout(() => syncSoon(syncs, collections), pause);
  syncs.fetching.unref();
}

function filesChanged(syncs: Syncs, changes: Changes): void {
  const { home } = syncs;
  syncSoon(
    syncs,
    namesOf(notesOf(home)).filter((name) => changes.has(name)),
  );
  for (const { name, root } of transcriptsOf(home))
    for (const path of changes.get(name) ?? []) void transcriptChanged(syncs, `${root}/${path}`);
}

async function transcriptChanged(syncs: Syncs, path: string): Promise<void> {
  const { transcriptDue, onWarning } = syncs.options;
  const owners = transcriptsOf(syncs.home).filter(({ root }) => path.startsWith(`${root}/`));
  try {
    if (owners.length > 0 && (await transcriptDue(path))) syncSoon(syncs, namesOf(owners));
  } catch (error) {
    onWarning(`The transcript ${path} was not looked at: ${messageOf(error)}`);
  }
}

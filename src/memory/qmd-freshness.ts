import { memoryCollection, sessionsCollection } from "../home/agent-collections.ts";
import { messageOf } from "../errors.ts";
import type { Collection, Home, QmdBackendSettings } from "../home/types.ts";
import { watchCollections, type Changes, type Watcher } from "../sync/watch.ts";
import type { ServedAgent } from "./backend.ts";
import { transcriptDeltas } from "./deltas.ts";
import type { KeptFresh } from "./keeper.ts";
import { hasTranscripts } from "./sessions.ts";

export type QmdFreshnessOptions = {
  watch: boolean;
  /** Updates in the background; never rejects. */
  update: () => Promise<void>;
  /** Embeds what is due in the background; never rejects. */
  embed: () => Promise<void>;
  /** When the last update ended, in milliseconds since 1970. */
  updatedAt: () => number;
  /** Bytes of a transcript (absolute path) that were exported last. */
  exportedSize: (path: string) => number;
  /** Sentences for people. */
  log: (sentence: string) => void;
};

/** Least time between two updates that searches cause, and the same while the folders are watched. */
const SEARCH_PAUSE_MS = { unwatched: 2000, watched: 60_000 };

/** Keeps the qmd home of a living process up to date. Two updates are at least `debounceMs` apart: what calls for one earlier is waited with, not forgotten. */
export function keepQmdFresh({ home, memory }: ServedAgent, options: QmdFreshnessOptions): KeptFresh {
  const { update, searchMode } = memory.qmd;
  const isExporting = hasTranscripts(home);
  const deltas = transcriptDeltas(memory.sessions);
  const transcripts = sessionsCollection(memory.sessions.directory, memory.agentId, false);
  const timers: ReturnType<typeof setInterval>[] = [];
  let hasBegun = false;
  let isClosed = false;
  let isUpdating = false;
  /** The pause before the update that was called for while another one ran. */
  let wantedAfterMs: number | null = null;
  let next: { at: number; timer: ReturnType<typeof setTimeout> } | null = null;
  let watcher: Watcher | null = null;

  const work = async (): Promise<void> => {
    next = null;
    isUpdating = true;
    wantedAfterMs = null;
    await options.update();
    isUpdating = false;
    watcher?.refresh();
    if (wantedAfterMs !== null) request(wantedAfterMs);
  };
  const request = (pauseMs = update.debounceMs): void => {
    if (!hasBegun || isClosed) return;
    if (isUpdating) {
      wantedAfterMs = Math.min(pauseMs, wantedAfterMs ?? Infinity);
      return;
    }
    const now = Date.now();
    // A clock that was set back must not make the pause longer.
    const at = Math.min(now + pauseMs, Math.max(now, options.updatedAt() + pauseMs));
    if (next !== null && next.at <= at) return;
    clearTimeout(next?.timer);
    const timer = setTimeout(() => void work(), at - now);
    timer.unref();
    next = { at, timer };
  };
  const every = (ms: number, call: () => void): void => {
    if (ms <= 0) return;
    const timer = setInterval(call, ms);
    timer.unref();
    timers.push(timer);
  };
  const transcriptChanged = async (path: string): Promise<void> => {
    if (!isExporting || !path.startsWith(`${transcripts.root}/`)) return;
    try {
      if (await deltas.grown(path, options.exportedSize(path))) request();
    } catch (error) {
      options.log(`The transcript ${path} was not looked at: ${messageOf(error)}`);
    }
  };
  const onChange = (changes: Changes): void => {
    const grown = changes.get(transcripts.name) ?? new Set();
    for (const path of grown) void transcriptChanged(`${transcripts.root}/${path}`);
    if (changes.size > (grown.size > 0 ? 1 : 0)) request();
  };

  if (options.watch && memory.sync.watch) {
    watcher = watchCollections(watchedCollections(home, memory.qmd, isExporting ? [transcripts] : []), {
      debounceMs: memory.sync.watchDebounceMs,
      onChange,
      onFailure: options.log,
    });
  }

  return {
    get watching() {
      return watcher?.active ?? false;
    },
    begin() {
      if (hasBegun) return;
      hasBegun = true;
      every(update.intervalMs, () => request());
      // Otherwise every update looks whether it is time to embed.
      const isOwn = update.intervalMs === 0 || update.intervalMs > update.embedIntervalMs;
      if (isOwn && searchMode !== "search") every(update.embedIntervalMs, () => void options.embed());
    },
    sessionStarted() {
      if (memory.sync.onSessionStart) request();
    },
    searched() {
      const { watched, unwatched } = SEARCH_PAUSE_MS;
      const pause = Math.max(update.debounceMs, watcher?.active ? watched : unwatched);
      if (memory.sync.onSearch && Date.now() >= options.updatedAt() + pause) request();
    },
    outdated: () => request(),
    appended: () => request(0),
    transcriptChanged: (path) => void transcriptChanged(path),
    close() {
      isClosed = true;
      watcher?.close();
      for (const timer of timers) clearInterval(timer);
      clearTimeout(next?.timer);
    },
  };
}

/** What is exported is our own doing; and of the workspace's notes even the folder may be new. */
function watchedCollections(home: Home, qmd: QmdBackendSettings, others: Collection[]): Collection[] {
  const notes = home.collections.filter(({ source }) => source !== "sessions");
  if (!qmd.includeDefaultMemory || home.workspace === undefined) return [...notes, ...others];
  const isDefault = ({ root, patterns, optional }: Collection): boolean =>
    optional === true || (root === home.workspace && patterns.join() === "MEMORY.md");
  const further = notes.filter((collection) => !isDefault(collection));
  return [memoryCollection(home.workspace, true), ...further, ...others];
}

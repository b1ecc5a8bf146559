import { memoryCollection, sessionsCollection } from "../home/agent-collections.ts";
import { messageOf } from "../errors.ts";
import type { Collection, Home, QmdBackendSettings } from "../home/types.ts";
import { watchCollections, type Changes, type Watcher } from "../sync/watch.ts";
import type { ServedAgent } from "./backend.ts";
import { type TranscriptDeltas, transcriptDeltas } from "./deltas.ts";
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

/** The updates of a home: which one is to come, and what calls for it. */
type Updates = {
  memory: ServedAgent["memory"];
  options: QmdFreshnessOptions;
  /** Calls count from `begin` on, until `close`. */
  hasBegun: boolean;
  isClosed: boolean;
  isRunning: boolean;
  /** The pause before the update that was called for while another one ran. */
  wantedAfterMs: number | null;
  next: { at: number; timer: ReturnType<typeof setTimeout> } | null;
  /** Where transcripts are exported from; null when none are. */
  transcripts: Collection | null;
  deltas: TranscriptDeltas;
  watcher: Watcher | null;
};

/**
 * Keeps the qmd home of a living process up to date. Two updates are at least `debounceMs` apart: what calls for one earlier is waited
 * with, not forgotten.
 */
export function keepQmdFresh({ home, memory }: ServedAgent, options: QmdFreshnessOptions): KeptFresh {
  const { update, searchMode } = memory.qmd;
  const timers: ReturnType<typeof setInterval>[] = [];
  const updates: Updates = {
    memory,
    options,
    hasBegun: false,
    isClosed: false,
    isRunning: false,
    wantedAfterMs: null,
    next: null,
    transcripts: hasTranscripts(home) ? sessionsCollection(memory.sessions.directory, memory.agentId, false) : null,
    deltas: transcriptDeltas(memory.sessions),
    watcher: null,
  };
  if (options.watch && memory.sync.watch) {
    updates.watcher = watchCollections(watchedCollections(home, memory.qmd, updates.transcripts), {
      debounceMs: memory.sync.watchDebounceMs,
      onChange: (changes) => filesChanged(updates, changes),
      onFailure: options.log,
    });
  }

  return {
    get watching() {
      return updates.watcher?.active ?? false;
    },
    begin() {
      if (updates.hasBegun) return;
      updates.hasBegun = true;
      timers.push(...every(update.intervalMs, () => requestUpdate(updates)));
      // Otherwise every update looks whether it is time to embed.
      const isOwn = update.intervalMs === 0 || update.intervalMs > update.embedIntervalMs;
      if (isOwn && searchMode !== "search") timers.push(...every(update.embedIntervalMs, () => void options.embed()));
    },
    sessionStarted() {
      if (memory.sync.onSessionStart) requestUpdate(updates);
    },
    searched() {
      const { watched, unwatched } = SEARCH_PAUSE_MS;
      const pause = Math.max(update.debounceMs, updates.watcher?.active ? watched : unwatched);
      // A clock that was set back must not make the pause longer.
      if (memory.sync.onSearch && Math.abs(Date.now() - options.updatedAt()) >= pause) requestUpdate(updates);
    },
    outdated: () => requestUpdate(updates),
    appended: () => requestUpdate(updates, 0),
    transcriptChanged: (path) => void transcriptChanged(updates, path),
    close() {
      updates.isClosed = true;
      updates.watcher?.close();
      for (const timer of timers) clearInterval(timer);
      clearTimeout(updates.next?.timer);
    },
  };
}

/** The timer that calls every `ms` milliseconds; none for 0. */
function every(ms: number, call: () => void): ReturnType<typeof setInterval>[] {
  if (ms <= 0) return [];
  const timer = setInterval(call, ms);
  timer.unref();
  return [timer];
}

/** Has an update begin when the last one ended `pauseMs` ago, and so long from now at the latest. */
function requestUpdate(updates: Updates, pauseMs: number = updates.memory.qmd.update.debounceMs): void {
  const { options, next } = updates;
  if (!updates.hasBegun || updates.isClosed) return;
  if (updates.isRunning) {
    updates.wantedAfterMs = Math.min(pauseMs, updates.wantedAfterMs ?? Infinity);
    return;
  }
  const now = Date.now();
  // A clock that was set back must not make the pause longer.
  const at = Math.min(now + pauseMs, Math.max(now, options.updatedAt() + pauseMs));
  if (next !== null && next.at <= at) return;
  clearTimeout(next?.timer);
  const timer = setTimeout(() => void runUpdate(updates), at - now);
  timer.unref();
  updates.next = { at, timer };
}

async function runUpdate(updates: Updates): Promise<void> {
  updates.next = null;
  updates.isRunning = true;
  updates.wantedAfterMs = null;
  await updates.options.update();
  updates.isRunning = false;
  updates.watcher?.refresh();
  if (updates.wantedAfterMs !== null) requestUpdate(updates, updates.wantedAfterMs);
}

function filesChanged(updates: Updates, changes: Changes): void {
  const { transcripts } = updates;
  const grown =
    transcripts === null ? [] : [...(changes.get(transcripts.name) ?? [])].map((path) => `${transcripts.root}/${path}`);
  for (const path of grown) void transcriptChanged(updates, path);
  if (changes.size > (grown.length > 0 ? 1 : 0)) requestUpdate(updates);
}

async function transcriptChanged(updates: Updates, path: string): Promise<void> {
  const { transcripts, deltas, options } = updates;
  if (transcripts === null || !path.startsWith(`${transcripts.root}/`)) return;
  try {
    if (await deltas.grown(path, options.exportedSize(path))) requestUpdate(updates);
  } catch (error) {
    options.log(`The transcript ${path} was not looked at: ${messageOf(error)}`);
  }
}

/** What is exported is our own doing; and of the workspace's notes even the folder may be new. */
function watchedCollections(home: Home, qmd: QmdBackendSettings, transcripts: Collection | null): Collection[] {
  const others = transcripts === null ? [] : [transcripts];
  const notes = home.collections.filter(({ source }) => source !== "sessions");
  if (!qmd.includeDefaultMemory || home.workspace === undefined) return [...notes, ...others];
  const isDefault = ({ root, patterns, optional }: Collection): boolean =>
    optional === true || (root === home.workspace && patterns.join() === "MEMORY.md");
  const further = notes.filter((collection) => !isDefault(collection));
  return [memoryCollection(home.workspace, true), ...further, ...others];
}

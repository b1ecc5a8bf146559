import { asMemqError, MemqError } from "../errors.ts";
import type { Collection, Home } from "../home/types.ts";
import { findDocument, hasDocuments } from "../store/documents.ts";
import { removeJournal } from "../store/maintenance.ts";
import type { Index } from "../store/types.ts";
import type { Freshness, FreshnessOptions } from "../sync/freshness.ts";
import type { SyncProgress, SyncReport } from "../sync/report.ts";
import type { EngineTiming, ServedAgent } from "./backend.ts";
import { engineTiming } from "./backend.ts";
import { byDeadline } from "./deadline.ts";
import type { TranscriptDeltas } from "./deltas.ts";
import type { GetAnswer, GetRequest } from "./get.ts";
import { readNote } from "./get.ts";
import type { IndexReader } from "./index-reader.ts";
import { indexReader } from "./index-reader.ts";
import { providerOpener } from "./provider.ts";
import type { MemorySearchAnswer, MemorySearchRequest, SearchContext } from "./search.ts";
import { answerWithoutIndex, searchMemory } from "./search.ts";
import type { MemoryStatus } from "./status.ts";

/** How many files a background sync added, changed and removed. */
export type Change = { added: number; changed: number; removed: number };

export type EngineOptions = {
  /** The process stays: it syncs in the background, and looks after the index while it lives. A one-shot search never writes. */
  live: boolean;
  /** Watch the folders, where the configuration has nothing against it. */
  watch: boolean;
  onChanged?: (change: Change) => void;
  /** Sentences for a person: what was skipped, what failed. */
  log: (sentence: string) => void;
};

export type IndexOptions = {
  force?: boolean;
  onProgress?: (progress: SyncProgress) => void;
  /** Leaves the sync; it ends when nobody else waits for it. */
  signal?: AbortSignal;
};

export type IndexAnswer = Change & { files: number; passages: number; embedded: number; ms: number };

/** Everything that serves one agent's memory. */
export type MemoryEngine = {
  readonly agent: ServedAgent;
  readonly watching: boolean;
  search(request: MemorySearchRequest): Promise<MemorySearchAnswer>;
  get(request: GetRequest): GetAnswer;
  /** Syncs, or joins the sync that is running; rejects with what made it impossible. */
  index(options: IndexOptions): Promise<SyncReport>;
  status(options: { deep: boolean }): Promise<MemoryStatus>;
  /** Whether the index holds no document yet. */
  isEmpty(): boolean;
  /** Lends the index, open for reading, for the time of the work. */
  withIndex<T>(work: (index: Index) => Promise<T> | T): Promise<T>;
  /** Something on disk is newer than the index: a living engine syncs soon. */
  outdated(): void;
  sessionStarted(): void;
  /** A transcript (absolute path) has grown. */
  sessionUpdated(sessionFile?: string): void;
  close(): Promise<void>;
};

/** How long a status waits for the provider to be set up. */
const PROVIDER_MS = 1000;

/** What a caller of `memory.index` is told of a sync. */
export function indexAnswer(report: SyncReport): IndexAnswer {
  const { files, passages, added, changed, removed, embedded, ms } = report;
  return { files, passages, added, changed, removed, embedded, ms };
}

/** Serves an agent's memory; a live one begins a first sync at once. What syncs is read only where something is to be synced. */
export async function openMemoryEngine(agent: ServedAgent, options: EngineOptions): Promise<MemoryEngine> {
  const { home, memory } = agent;
  const { log } = options;
  const reader = indexReader(home.indexPath, options.live);
  const provider = providerOpener(agent);
  const syncs: SyncState = { last: null, error: null, endedAt: 0 };
  const timing = engineTiming(agent);
  const freshness =
    options.live && memory.enabled
      ? await openFreshness(home, freshnessOptions(agent, timing.sync, reader, options))
      : null;
  const isEmpty = (): boolean => !reader.now(hasDocuments);

  /** Whether there is no index file: never made, or taken away since. */
  const isMissing = (): boolean => reader.now(({ state }) => state === "missing");

  async function index(wanted: IndexOptions): Promise<SyncReport> {
    try {
      await agent.prepareSync?.();
      syncs.last = await (freshness === null ? syncOnce(home, wanted) : freshness.sync(wanted));
      syncs.error = null;
      if (syncs.last.embedding.state === "complete" && syncs.last.embedded > 0) provider.recovered();
      reader.warm();
      return syncs.last;
    } catch (error) {
      syncs.error = asMemqError(error).message;
      throw error;
    } finally {
      syncs.endedAt = Date.now();
    }
  }

  /** Resolves as soon as the notes are written: embedding them may take much longer, and keywords find them already. */
  function syncInBackground(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    void (async () => {
      try {
        reportSync(await index({ onProgress: ({ phase }) => phase === "embed" && resolve() }), options);
      } catch (error) {
        if (!(error instanceof MemqError && error.code === "SYNC_CANCELLED"))
          log(`A sync in the background failed: ${asMemqError(error).message}`);
      } finally {
        resolve();
      }
    })();
    return promise;
  }

  const timer =
    freshness !== null && timing.intervalMs > 0
      ? setInterval(() => void syncInBackground(), timing.intervalMs)
      : undefined;
  timer?.unref();
  let written = freshness !== null && timing.onBoot ? syncInBackground() : null;

  /** What is left out because nothing is indexed yet at the deadline, or can't be. Any other search never waits. */
  async function waitForFirstSync(deadline: number): Promise<SearchContext["degraded"]> {
    if (freshness === null) return [];
    const isFirst = syncs.endedAt === 0 && (timing.waitForBoot || isEmpty());
    if (isFirst || isMissing()) {
      const syncing = isFirst ? (written ??= syncInBackground()) : syncInBackground();
      if (!(await inTime(syncing, deadline))) return [{ what: "index", why: "The first sync is not done yet." }];
    }
    return syncs.error !== null && isEmpty()
      ? [{ what: "index", why: `Nothing could be indexed: ${syncs.error}` }]
      : [];
  }

  /** Makes a damaged index anew; what is left out when that is not done at the deadline. */
  async function rebuild(deadline: number): Promise<SearchContext["degraded"]> {
    if (freshness === null) {
      reportSync(await index({}), options);
      return [];
    }
    const done = await inTime(syncInBackground(), deadline);
    return done ? [] : [{ what: "index", why: "The index was damaged and is being rebuilt." }];
  }

  async function search(request: MemorySearchRequest): Promise<MemorySearchAnswer> {
    const early = answerWithoutIndex(agent, request);
    if (early !== null) {
      if ("denied" in early) log(early.reason);
      return early;
    }
    const deadline = Date.now() + (request.deadlineMs ?? timing.searchDeadlineMs);
    const found = await searchOnce(request, deadline, await waitForFirstSync(deadline));
    const { answer, stale } = found.damaged ? await searchOnce(request, deadline, await rebuild(deadline)) : found;
    if (stale) freshness?.outdated();
    else freshness?.searched();
    return answer;
  }

  function searchOnce(request: MemorySearchRequest, deadline: number, degraded: SearchContext["degraded"]) {
    return reader.use(async (index) => {
      const opened = await provider.forSearch(deadline, index);
      const found = await searchMemory({ agent, index, opened, degraded, deadline }, request);
      return { ...found, damaged: index.state === "damaged" };
    });
  }

  function transcriptGrown(sessionFile: string): void {
    if (agent.backend === "builtin") freshness?.transcriptChanged(sessionFile);
    else if (memory.qmd.sessions.enabled) void syncInBackground();
  }

  return {
    agent,
    get watching() {
      return freshness?.watching ?? false;
    },
    search,
    get: (request) => readNote(home, request, memory.limits.getChars),
    index,
    async status({ deep }) {
      const { memoryStatus } = await import("./status.ts");
      return reader.use(async (index) => {
        if (deep) provider.recovered();
        const opened = await provider.by(Date.now() + PROVIDER_MS, index);
        return memoryStatus({ agent, index, opened, syncs, deep });
      });
    },
    isEmpty,
    withIndex: (work) => reader.use(work),
    outdated: () => freshness?.outdated(),
    sessionStarted: () => freshness?.sessionStarted(),
    sessionUpdated: (sessionFile) => sessionFile !== undefined && transcriptGrown(sessionFile),
    async close() {
      clearInterval(timer);
      freshness?.close();
      await provider.close();
      if (freshness !== null) await syncEnded(home);
      reader.close();
      if (options.live) removeJournal(home.indexPath);
    },
  };
}

async function openFreshness(home: Home, options: FreshnessOptions): Promise<Freshness> {
  const { keepFresh } = await import("../sync/freshness.ts");
  return keepFresh(home, options);
}

async function syncOnce(home: Home, wanted: IndexOptions): Promise<SyncReport> {
  const { syncIndex } = await import("../sync/sync.ts");
  return syncIndex(home, wanted);
}

function inTime(work: Promise<void>, deadline: number): Promise<boolean> {
  return byDeadline(
    work.then(() => true),
    deadline,
    false,
  );
}

/** A sync in a Worker lets go of its lock before the process ends. */
async function syncEnded(home: Home): Promise<void> {
  const { isSyncing } = await import("../sync/client.ts");
  while (isSyncing(home.indexPath)) await Bun.sleep(5);
}

function freshnessOptions(
  agent: ServedAgent,
  sync: EngineTiming["sync"],
  reader: IndexReader,
  options: EngineOptions,
): FreshnessOptions {
  const { memory, home } = agent;
  let deltas: TranscriptDeltas | null = null;
  return {
    settings: { ...sync, watch: sync.watch && options.watch },
    onReport(report) {
      reader.warm();
      reportSync(report, options);
    },
    onWarning: options.log,
    async transcriptDue(path) {
      const { transcriptDeltas } = await import("./deltas.ts");
      deltas ??= transcriptDeltas(memory.sessions);
      return deltas.grown(
        path,
        reader.now((index) => indexedSize(path, home.collections, index)),
      );
    },
  };
}

/** Bytes of a transcript that the index holds. */
function indexedSize(path: string, collections: readonly Collection[], index: Index): number {
  const owner = collections.find(({ source, root }) => source === "sessions" && path.startsWith(`${root}/`));
  return owner === undefined ? 0 : (findDocument(index, owner.name, path.slice(owner.root.length + 1))?.size ?? 0);
}

/** What became of the syncs of this process. */
export type SyncState = { last: SyncReport | null; error: string | null; endedAt: number };

function reportSync(report: SyncReport, { onChanged, log }: EngineOptions): void {
  for (const warning of report.warnings) log(warning);
  for (const { path, reason } of report.skipped) log(`Skipped ${path}: ${reason}.`);
  const { added, changed, removed } = report;
  if (added + changed + removed > 0) onChanged?.({ added, changed, removed });
}

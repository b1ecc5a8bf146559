import { existsSync, statSync } from "node:fs";
import { messageOf } from "../errors.ts";
import type { AgentHome } from "../home/agent-home.ts";
import { documentCounts } from "../store/documents.ts";
import { openIndex } from "../store/open.ts";
import type { Index } from "../store/types.ts";
import { isSyncing, startSync } from "../sync/client.ts";
import type { SyncProgress, SyncReport } from "../sync/report.ts";
import { byDeadline } from "./deadline.ts";
import type { GetAnswer, GetRequest } from "./get.ts";
import { readNote } from "./get.ts";
import type { MemorySearchAnswer, MemorySearchRequest, OpenedForSearch, SearchContext } from "./search.ts";
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

export type IndexAnswer = Change & { files: number; passages: number; embedded: number; ms: number };

/** Everything that serves one agent's memory. */
export type MemoryEngine = {
  readonly agent: AgentHome;
  readonly watching: boolean;
  search(request: MemorySearchRequest): Promise<MemorySearchAnswer>;
  get(request: GetRequest): GetAnswer;
  /** Syncs, or joins the sync that is running; rejects with what made it impossible. */
  index(options: { force: boolean; onProgress?: (progress: SyncProgress) => void }): Promise<SyncReport>;
  status(options: { deep: boolean }): Promise<MemoryStatus>;
  /** Whether the index holds no document yet. */
  isEmpty(): boolean;
  /** The index, open for reading; it is the engine that closes it. */
  readIndex(): Index;
  sessionStarted(): void;
  sessionUpdated(sessionFile?: string): void;
  close(): Promise<void>;
};

const SEARCH_DEADLINE_MS = 15_000;
/** A provider that could not be set up is tried again after this time. */
const PROVIDER_RETRY_MS = 60_000;
/** Without watching, a search looks for changed files at most this often. */
const SYNC_ON_SEARCH_MS = 5000;

/** What a caller of `memory.index` is told of a sync. */
export function indexAnswer(report: SyncReport): IndexAnswer {
  const { files, passages, added, changed, removed, embedded, ms } = report;
  return { files, passages, added, changed, removed, embedded, ms };
}

/** Serves an agent's memory; a live one begins a first sync at once. */
export function openMemoryEngine(agent: AgentHome, options: EngineOptions): MemoryEngine {
  const { home, memory } = agent;
  const closing = new AbortController();
  const reader = indexReader(home.indexPath);
  const provider = providerOpener(agent);
  const syncs: SyncState = { last: null, error: null, endedAt: 0 };
  let wrote: Promise<void> | null = null;

  async function sync(wanted: { force: boolean; onProgress?: (progress: SyncProgress) => void }): Promise<SyncReport> {
    try {
      syncs.last = await startSync(home, { ...wanted, signal: closing.signal });
      syncs.error = null;
      return syncs.last;
    } catch (error) {
      syncs.error = messageOf(error);
      throw error;
    } finally {
      syncs.endedAt = Date.now();
    }
  }

  /** Resolves as soon as the notes are written: embedding them may take much longer, and keywords find them already. */
  function syncInBackground(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    sync({ force: false, onProgress: ({ phase }) => phase === "embed" && resolve() }).then(
      (report) => {
        resolve();
        reportSync(report, options);
      },
      (error: unknown) => {
        resolve();
        if (!closing.signal.aborted) options.log(`The index could not be brought up to date: ${messageOf(error)}`);
      },
    );
    return promise;
  }

  function keepUpToDate(): void {
    if (options.live && memory.enabled && !closing.signal.aborted && !isSyncing(home.indexPath))
      void syncInBackground();
  }

  const isEmpty = (): boolean => documentCounts(reader.current()).every(({ count }) => count === 0);

  /** What is left out because nothing is indexed yet at the deadline. Any other search never waits. */
  async function waitForFirstSync(deadline: number): Promise<SearchContext["degraded"]> {
    if (!options.live || wrote === null || syncs.endedAt > 0 || !isEmpty()) return [];
    const inTime = await byDeadline(
      wrote.then(() => true),
      deadline,
      false,
    );
    return inTime ? [] : [{ what: "index", why: "The first sync is not done yet." }];
  }

  async function search(request: MemorySearchRequest): Promise<MemorySearchAnswer> {
    const early = answerWithoutIndex(agent, request);
    if (early !== null) {
      if ("denied" in early) options.log(early.reason);
      return early;
    }
    const deadline = Date.now() + (request.deadlineMs ?? SEARCH_DEADLINE_MS);
    const degraded = await waitForFirstSync(deadline);
    const opened = await provider.by(deadline);
    const answer = await searchMemory({ agent, index: reader.current(), opened, degraded, deadline }, request);
    const outdated = "warning" in answer || Date.now() - syncs.endedAt > SYNC_ON_SEARCH_MS;
    if (memory.sync.onSearch && outdated) keepUpToDate();
    return answer;
  }

  if (options.live && memory.enabled) {
    wrote = syncInBackground();
    if (memory.sync.intervalMinutes > 0) {
      const timer = setInterval(keepUpToDate, memory.sync.intervalMinutes * 60_000);
      timer.unref();
      closing.signal.addEventListener("abort", () => clearInterval(timer));
    }
  }

  return {
    agent,
    watching: false,
    search,
    get: (request) => readNote(home, request, memory.limits.getChars),
    index: sync,
    async status({ deep }) {
      const { memoryStatus } = await import("./status.ts");
      return memoryStatus({
        agent,
        index: reader.current(),
        opened: await provider.by(Date.now() + 1000),
        syncs,
        deep,
      });
    },
    isEmpty,
    readIndex: () => reader.current(),
    sessionStarted: () => void (memory.sync.onSessionStart && keepUpToDate()),
    sessionUpdated: () => void (memory.sessions.indexed && keepUpToDate()),
    async close() {
      closing.abort();
      await provider.close();
      // The Worker lets go of its lock before the process ends.
      while (isSyncing(home.indexPath)) await Bun.sleep(5);
      reader.close();
    },
  };
}

/** What became of the syncs of this process. */
export type SyncState = { last: SyncReport | null; error: string | null; endedAt: number };

function reportSync(report: SyncReport, { onChanged, log }: EngineOptions): void {
  for (const warning of report.warnings) log(warning);
  for (const { path, reason } of report.skipped) log(`Skipped ${path}: ${reason}.`);
  const { added, changed, removed } = report;
  if (added + changed + removed > 0) onChanged?.({ added, changed, removed });
}

/** Keeps the index open for reading, and opens it again when a writer made, migrated or replaced the file. */
function indexReader(path: string): { current(): Index; close(): void } {
  let index: Index | null = null;
  let inode = 0;
  return {
    current() {
      const now = existsSync(path) ? statSync(path).ino : 0;
      if (index === null || index.state !== "ready" || now !== inode) {
        index?.close();
        index = openIndex(path, { mode: "read" });
        inode = now;
      }
      return index;
    },
    close() {
      index?.close();
      index = null;
    },
  };
}

/** Opens the agent's embedding provider when first needed, and again a while after that failed. */
function providerOpener({ home, env }: AgentHome): {
  by(deadline: number): Promise<OpenedForSearch>;
  close(): Promise<void>;
} {
  let opening: Promise<OpenedForSearch> | null = null;
  let openedAt = 0;
  async function open(): Promise<OpenedForSearch> {
    if (home.embedding.provider === "none") return { explicit: false };
    const { openProvider } = await import("../embed/registry.ts");
    return openProvider(home.embedding, { kind: "agent", env });
  }
  return {
    async by(deadline) {
      if (opening === null || Date.now() - openedAt > PROVIDER_RETRY_MS) {
        const last = await opening;
        if (last?.provider === undefined) opening = open();
        openedAt = Date.now();
      }
      const late = { explicit: false, reason: "The embedding provider was not ready in time." };
      return byDeadline(opening ?? open(), deadline, late);
    },
    async close() {
      const opened = await opening?.catch(() => null);
      await opened?.provider?.close();
    },
  };
}

import { join } from "node:path";
import { hasDocuments } from "../store/documents.ts";
import { removeJournal } from "../store/maintenance.ts";
import type { Index } from "../store/types.ts";
import type { SyncProgress, SyncReport } from "../sync/report.ts";
import { eventRounds } from "../event-rounds.ts";
import type { ServedAgent } from "./backend.ts";
import { openEngineSync } from "./engine-sync.ts";
import type { GetAnswer, GetRequest } from "./get.ts";
import { type IndexReader, indexReader } from "./index-reader.ts";
import { providerOpener } from "./provider.ts";
import type { MemorySearchAnswer, MemorySearchRequest, SearchContext } from "./search.ts";
import { answerWithoutIndex, searchMemory } from "./search.ts";
import type { MemoryStatus } from "./status.ts";
import { readSessions } from "./session-list.ts";

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
  get(request: GetRequest): Promise<GetAnswer>;
  /** Syncs: what had changed by now is indexed then. Rejects with what made it impossible. */
  index(options: IndexOptions): Promise<SyncReport>;
  /** With `looks` the folders are compared with the index for `dirty`, as with `deep`. */
  status(options: { deep: boolean; looks?: boolean }): Promise<MemoryStatus>;
  /** Whether the index holds no document yet. */
  isEmpty(): boolean;
  /** Lends the index, open for reading, for the time of the work. */
  withIndex<T>(work: (index: Index) => Promise<T> | T): Promise<T>;
  /** Something was written: a living engine syncs soon. */
  appended(): void;
  sessionStarted(): void;
  /** The transcript of a session has grown: that at an absolute path, else the one that `sessions.json` names. */
  sessionUpdated(sessionKey: string, sessionFile?: string): void;
  close(): Promise<void>;
};

const SEARCH_MS = 15_000;
/** How long a status waits for the provider to be set up. */
const PROVIDER_MS = 1000;

const searchTurn = eventRounds();

/** What a caller of `memory.index` is told of a sync. */
export function indexAnswer(report: SyncReport): IndexAnswer {
  const { files, passages, added, changed, removed, embedded, ms } = report;
  return { files, passages, added, changed, removed, embedded, ms };
}

/** Serves an agent's memory; a live one begins a first sync at once. What syncs is read only where something is to be synced. */
export async function openMemoryEngine(agent: ServedAgent, options: EngineOptions): Promise<MemoryEngine> {
  const { home } = agent;
  const reader = indexReader({ path: home.indexPath, extension: home.extension }, options.live);
  const provider = providerOpener(agent);
  const sync = await openEngineSync(agent, { reader, provider }, options);

  async function search(request: MemorySearchRequest): Promise<MemorySearchAnswer> {
    const early = answerWithoutIndex(agent, request);
    if (early !== null) {
      if ("denied" in early) options.log(early.reason);
      return early;
    }
    const deadline = Date.now() + searchTime(agent, request.deadlineMs);
    const found = await searchOnce(request, deadline, await sync.searchBegins(deadline));
    const { answer, stale } = found.damaged ? await searchOnce(request, deadline, await sync.rebuild(deadline)) : found;
    sync.searchEnded(stale);
    return answer;
  }

  function searchOnce(request: MemorySearchRequest, deadline: number, degraded: SearchContext["degraded"]) {
    return reader.use(async (index) => {
      const opened = await provider.forSearch(deadline, index);
      // Many may have waited for the same sync or model, and would all go on at once.
      await searchTurn();
      const found = await searchMemory({ agent, index, opened, degraded, deadline }, request);
      return { ...found, damaged: index.state === "damaged" };
    });
  }

  return {
    agent,
    get watching() {
      return sync.watching;
    },
    search,
    get: (request) => noteOf(agent, reader, request),
    index: (wanted) => sync.index(wanted),
    async status({ deep, looks = false }) {
      const { memoryStatus } = await import("./status.ts");
      return reader.use(async (index) => {
        if (deep) provider.recovered();
        const opened = await provider.by(Date.now() + PROVIDER_MS, index);
        return memoryStatus({ agent, index, opened, syncs: sync.state, deep, looks });
      });
    },
    isEmpty: () => !reader.now(hasDocuments),
    withIndex: (work) => reader.use(work),
    appended: () => sync.appended(),
    sessionStarted: () => sync.sessionStarted(),
    sessionUpdated(sessionKey, sessionFile) {
      const grown = sessionFile ?? transcriptOf(agent, sessionKey);
      if (grown !== null) sync.transcriptGrown(grown);
    },
    async close() {
      await sync.close();
      await provider.close();
      reader.close();
      if (options.live) removeJournal(home.indexPath);
    },
  };
}

/** Reads a note; of names the index is asked only for a docid. */
async function noteOf(agent: ServedAgent, reader: IndexReader, request: GetRequest): Promise<GetAnswer> {
  const [{ readNote }, { documentByDocid }] = await Promise.all([import("./get.ts"), import("../search/resolve.ts")]);
  const documentOf = (docid: string) => reader.now((index) => documentByDocid({ home: agent.home, index }, docid));
  return readNote({ ...agent, documentOf }, request, agent.memory.limits.getChars);
}

/** How long a search may take: as long as its caller waits, and with the qmd backend never longer than its limit. */
function searchTime({ backend, memory }: ServedAgent, asked: number | undefined): number {
  return backend === "qmd" ? Math.min(asked ?? Infinity, memory.qmd.limits.timeoutMs) : (asked ?? SEARCH_MS);
}

function transcriptOf({ home, memory }: ServedAgent, sessionKey: string): string | null {
  const session = readSessions(home.stateDir ?? "", memory.agentId).get(sessionKey.toLowerCase());
  if (session === undefined) return null;
  return session.sessionFile ?? join(memory.sessions.directory, `${session.sessionId}.jsonl`);
}

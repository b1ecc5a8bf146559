import { asMemqError } from "../errors.ts";
import { byDeadline } from "./deadline.ts";
import type { MemoryEngine } from "./engine.ts";
import type { MemorySearchAnswer, MemorySearchRequest } from "./search.ts";

/** How long a search waits for the home that should serve it, before the stand-in answers. */
const REOPEN_MS = 500;

/**
 * An engine whose searches another one answers for as long as they fail: the home that should serve may be on a disk that is full, or
 * in a folder that nobody may write to. Each search tries the home itself first. `openStandIn` gets the reason.
 */
export function withFallback(
  engine: MemoryEngine,
  openStandIn: (reason: string) => Promise<MemoryEngine>,
): MemoryEngine {
  let standIn: Promise<MemoryEngine> | null = null;
  const underWay = searchesUnderWay();

  async function closeStandIn(): Promise<void> {
    const opened = standIn;
    standIn = null;
    await (await opened?.catch(() => null))?.close();
  }

  async function askStandIn(reason: string, request: MemorySearchRequest): Promise<MemorySearchAnswer> {
    standIn ??= openStandIn(reason);
    standIn.catch(() => (standIn = null));
    return (await standIn).search(request);
  }

  return {
    ...engine,
    get watching() {
      return engine.watching;
    },
    async search(request) {
      try {
        const answer = await engine.search(request);
        if (underWay.count === 0) void closeStandIn();
        return answer;
      } catch (error) {
        const { exitCode, message } = asMemqError(error);
        // What was asked is wrong, whoever answers.
        if (exitCode === 2) throw error;
        return underWay.add(askStandIn(message, request));
      }
    },
    status: async (options) => (await (standIn ?? engine)).status(options),
    async close() {
      await Promise.all([engine.close(), closeStandIn()]);
    },
  };
}

/**
 * An engine that serves until the one that should can be opened, which each search tries: `reopen` answers null as long as it can't.
 */
export function untilUsable(standIn: MemoryEngine, reopen: () => Promise<MemoryEngine | null>): MemoryEngine {
  let current = standIn;
  let isClosed = false;
  let trying: Promise<void> | null = null;
  const underWay = searchesUnderWay();

  async function change(): Promise<void> {
    const wanted = await reopen().catch(() => null);
    if (wanted === null) return;
    if (isClosed) return wanted.close();
    current = wanted;
    void underWay.ended().then(() => standIn.close());
  }

  return {
    get agent() {
      return current.agent;
    },
    get watching() {
      return current.watching;
    },
    async search(request) {
      if (current === standIn) {
        trying ??= change().finally(() => (trying = null));
        await byDeadline(trying, Date.now() + Math.min(REOPEN_MS, request.deadlineMs ?? REOPEN_MS), undefined);
      }
      return current === standIn ? underWay.add(standIn.search(request)) : current.search(request);
    },
    get: (request) => current.get(request),
    index: (options) => current.index(options),
    status: (options) => current.status(options),
    isEmpty: () => current.isEmpty(),
    withIndex: (work) => current.withIndex(work),
    appended: () => current.appended(),
    sessionStarted: () => current.sessionStarted(),
    sessionUpdated: (sessionKey, sessionFile) => current.sessionUpdated(sessionKey, sessionFile),
    async close() {
      isClosed = true;
      await current.close();
    },
  };
}

/** Searches that a stand-in still answers: it is not closed under them. */
function searchesUnderWay() {
  const searches = new Set<Promise<MemorySearchAnswer>>();
  return {
    get count() {
      return searches.size;
    },
    add(search: Promise<MemorySearchAnswer>): Promise<MemorySearchAnswer> {
      const noted = search.finally(() => searches.delete(noted));
      searches.add(noted);
      return noted;
    },
    /** Resolves when those of now are answered. */
    ended: async () => void (await Promise.allSettled(searches)),
  };
}

import { asMemqError } from "../errors.ts";
import type { MemoryEngine } from "./engine.ts";

/**
 * An engine whose searches another one answers for as long as they fail: the home that should serve may be on a disk that is full, or
 * in a folder that nobody may write to. Each search tries the home itself first. `openStandIn` gets the reason.
 */
export function withFallback(
  engine: MemoryEngine,
  openStandIn: (reason: string) => Promise<MemoryEngine>,
): MemoryEngine {
  let standIn: Promise<MemoryEngine> | null = null;

  async function closeStandIn(): Promise<void> {
    const opened = standIn;
    standIn = null;
    await (await opened?.catch(() => null))?.close();
  }

  return {
    ...engine,
    get watching() {
      return engine.watching;
    },
    async search(request) {
      try {
        const answer = await engine.search(request);
        void closeStandIn();
        return answer;
      } catch (error) {
        const { exitCode, message } = asMemqError(error);
        // What was asked is wrong, whoever answers.
        if (exitCode === 2) throw error;
        standIn ??= openStandIn(message);
        standIn.catch(() => (standIn = null));
        return (await standIn).search(request);
      }
    },
    status: async (options) => (await (standIn ?? engine)).status(options),
    async close() {
      await Promise.all([engine.close(), closeStandIn()]);
    },
  };
}

/**
 * An engine that serves until the one that should can be opened, which each search tries: `reopen` answers null as long as it can't,
 * and soon.
 */
export function untilUsable(standIn: MemoryEngine, reopen: () => Promise<MemoryEngine | null>): MemoryEngine {
  let current = standIn;
  let trying: Promise<void> | null = null;

  async function change(): Promise<void> {
    const wanted = await reopen().catch(() => null);
    if (wanted === null) return;
    current = wanted;
    await standIn.close();
  }

  return {
    get agent() {
      return current.agent;
    },
    get watching() {
      return current.watching;
    },
    async search(request) {
      if (current === standIn) await (trying ??= change().finally(() => (trying = null)));
      return current.search(request);
    },
    get: (request) => current.get(request),
    index: (options) => current.index(options),
    status: (options) => current.status(options),
    isEmpty: () => current.isEmpty(),
    withIndex: (work) => current.withIndex(work),
    appended: () => current.appended(),
    sessionStarted: () => current.sessionStarted(),
    sessionUpdated: (sessionKey, sessionFile) => current.sessionUpdated(sessionKey, sessionFile),
    close: () => current.close(),
  };
}

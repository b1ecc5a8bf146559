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

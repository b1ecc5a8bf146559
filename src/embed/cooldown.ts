import { MemqError } from "../errors.ts";
import type { EmbeddingProvider } from "./types.ts";

/** Time for which a provider that failed is not asked again. */
const COOLDOWN_MS = 60_000;

export type CoolingProvider = EmbeddingProvider & {
  /** It is known, or worth finding out, that the provider answers again. */
  recovered(): void;
};

/**
 * A provider whose failure answers all questions of the next minute at once: an agent that asks often neither waits for what will
 * not come nor adds to the load of a service in trouble. Slowness and the refusal of one text are no failures.
 */
export function withCooldown(provider: EmbeddingProvider, now: () => number = Date.now): CoolingProvider {
  let failure: { error: MemqError; until: number } | null = null;
  return {
    ...provider,
    async embedQuery(text, signal) {
      if (failure !== null && now() < failure.until) throw failure.error;
      try {
        const vector = await provider.embedQuery(text, signal);
        failure = null;
        return vector;
      } catch (error) {
        if (error instanceof MemqError && error.code === "EMBED_UNAVAILABLE") {
          failure = { error, until: now() + COOLDOWN_MS };
        }
        throw error;
      }
    },
    recovered() {
      failure = null;
    },
  };
}

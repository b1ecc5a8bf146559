import { MemqError } from "../errors.ts";
import type { EmbeddingProvider } from "./types.ts";

/** Time for which a provider that failed is not asked again. */
const COOLDOWN_MS = 60_000;
/** A silent one gets this many times what was waited for it since it last answered, and never more than a failing one. */
const SILENCE_FACTOR = 4;

export type CoolingProvider = EmbeddingProvider & {
  /** It is known, or worth finding out, that the provider answers again. */
  recovered(): void;
};

/**
 * A provider whose failure answers all questions of the next minute at once: an agent that asks often neither waits for what will
 * not come nor adds to the load of a service in trouble. One that gives no answer by the deadline of a question is left alone in the
 * same way, for the longer the more was waited in vain, so that a short deadline does not condemn a provider that is a little slow
 * or loads its model. The refusal of one text is no failure.
 */
export function withCooldown(provider: EmbeddingProvider, now: () => number = Date.now): CoolingProvider {
  let failure: { error: MemqError; until: number } | null = null;
  /** Milliseconds of waiting since the last answer, and until when they are counted: questions that wait at once wait as one. */
  let waited = 0;
  let counted = -Infinity;
  const answered = (): void => {
    failure = null;
    waited = 0;
  };
  const cooldownAfter = ({ code }: MemqError, asked: number): number => {
    if (code === "EMBED_UNAVAILABLE") return COOLDOWN_MS;
    if (code !== "EMBED_TIMEOUT") return 0;
    const until = now();
    waited += Math.max(0, until - Math.max(asked, counted));
    counted = until;
    return Math.min(COOLDOWN_MS, waited * SILENCE_FACTOR);
  };
  return {
    ...provider,
    async embedQuery(text, signal) {
      if (failure !== null && now() < failure.until) throw failure.error;
      const asked = now();
      try {
        const vector = await provider.embedQuery(text, signal);
        answered();
        return vector;
      } catch (error) {
        if (!(error instanceof MemqError)) throw error;
        const ms = cooldownAfter(error, asked);
        if (ms > 0) failure = { error, until: now() + ms };
        throw error;
      }
    },
    recovered: answered,
  };
}

import type { EmbeddingProvider } from "../embed/types.ts";
import { MemqError, messageOf } from "../errors.ts";
import type { EmbeddingSettings } from "../home/types.ts";

/** What became of embedding a query. */
export type QueryVector =
  | { state: "found"; vector: Float32Array }
  /** The model has nothing to say about this text: an empty or all-zero vector. */
  | { state: "blank" }
  /** No answer by the deadline. */
  | { state: "slow" }
  /** An error answer. */
  | { state: "failed"; error: MemqError };

/** How long the provider gets, once the deadline has passed, to say whether it was slow or had been refused. */
const LAST_WORD_MS = 20;

/**
 * Embeds a query until the deadline (milliseconds since 1970), then lets go of it. An error answer is `failed`, also when the
 * provider was still trying again at the deadline; no answer is `slow`. Never throws.
 */
export async function embedQueryBy(provider: EmbeddingProvider, query: string, deadline: number): Promise<QueryVector> {
  const abort = new AbortController();
  let alarm: ReturnType<typeof setTimeout> | undefined;
  const slow = new Promise<QueryVector>((resolve) => {
    alarm = setTimeout(
      () => {
        abort.abort();
        alarm = setTimeout(resolve, LAST_WORD_MS, { state: "slow" });
      },
      Math.max(0, deadline - Date.now()),
    );
  });
  try {
    return await Promise.race([embedded(provider, textToEmbed(query), abort.signal), slow]);
  } finally {
    clearTimeout(alarm);
  }
}

async function embedded(provider: EmbeddingProvider, text: string, signal: AbortSignal): Promise<QueryVector> {
  try {
    const vector = await provider.embedQuery(text, signal);
    return vector.some((value) => value !== 0) ? { state: "found", vector } : { state: "blank" };
  } catch (error) {
    const isOurs = error instanceof MemqError;
    if (isOurs && error.code === "EMBED_TIMEOUT") return { state: "slow" };
    if (!isOurs && signal.aborted) return { state: "slow" };
    return {
      state: "failed",
      error: isOurs ? error : new MemqError("EMBED_UNAVAILABLE", messageOf(error), { cause: error }),
    };
  }
}

/** A query in capitals alone is lower-cased: to a case-sensitive model it would mean something else. */
export function textToEmbed(query: string): string {
  return /\p{Ll}/u.test(query) ? query : query.toLowerCase();
}

/**
 * Whether a search whose provider failed is to be reported as unavailable instead of answered by keywords: only a remote provider
 * that the configuration names, so that a broken set-up stays visible, and unless `query.onProviderFailure` says otherwise.
 */
export function failureMakesUnavailable(
  settings: Pick<EmbeddingSettings, "provider" | "explicit" | "onFailure">,
  provider: { local: boolean },
): boolean {
  if (!settings.explicit || settings.provider === "auto" || settings.onFailure === "keyword") return false;
  return !provider.local;
}

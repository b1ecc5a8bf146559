import { messageOf } from "../errors.ts";
import { withoutCredentials } from "../printable.ts";
import type { EmbeddingSettings } from "../home/types.ts";
import type { EmbeddingProvider } from "./types.ts";

/** What became of asking a provider: dimensions of its vectors, milliseconds for a question, and its speed; or its error. */
export type ProviderProbe = { ok: boolean; ms?: number; dims?: number; textsPerSecond?: number; error?: string };

const PROBE_MS = 10_000;
const PROBE_TEXTS = 8;
/** A quarter of a text of about 100 words. */
const SENTENCE =
  "The team met on Tuesday to go through the plan for the spring release and agreed to move two items to the next one. ";

/** Asks a provider for one vector, as a search would, and then for those of a few texts of 100 words. Never throws. */
export async function probedProvider(provider: EmbeddingProvider): Promise<ProviderProbe> {
  const signal = AbortSignal.timeout(PROBE_MS);
  try {
    const startedAt = performance.now();
    const vector = await provider.embedQuery("ping", signal);
    const ms = Math.round(performance.now() - startedAt);
    return { ok: true, ms, dims: vector.length, textsPerSecond: await textsPerSecond(provider, signal) };
  } catch (error) {
    return { ok: false, error: signal.aborted ? tooSlow(provider) : messageOf(error) };
  }
}

function tooSlow({ model, endpoint }: EmbeddingProvider): string {
  const where = URL.canParse(endpoint) ? new URL(endpoint).origin : "The model host";
  return `${where} was not done with a few texts for ${withoutCredentials(model)} within ${PROBE_MS / 1000} s; it may be loading the model.`;
}

async function textsPerSecond(provider: EmbeddingProvider, signal: AbortSignal): Promise<number> {
  const inputs = Array.from({ length: PROBE_TEXTS }, (_, i) => ({ text: `Note ${i}. ${SENTENCE.repeat(4)}` }));
  const startedAt = performance.now();
  await provider.embedDocuments(inputs, signal);
  return Math.round((PROBE_TEXTS / (performance.now() - startedAt)) * 10_000) / 10;
}

/** Where the key that a provider is given stands, by name; undefined without a key. */
export function keyOriginOf(settings: EmbeddingSettings, providerId: string): string | undefined {
  return settings.keyOrigin ?? settings.credentials[providerId]?.keyOrigin;
}

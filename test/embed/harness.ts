import type { Clock } from "../../src/embed/clock.ts";
import { openProvider, type OpenOptions } from "../../src/embed/registry.ts";
import type { Patience } from "../../src/embed/send.ts";
import type { EmbeddingProvider } from "../../src/embed/types.ts";
import type { EmbeddingSettings } from "../../src/home/types.ts";

export const KEY = "test-key-0123456789abcdef";

export function settingsFor(changes: Partial<EmbeddingSettings>): EmbeddingSettings {
  return {
    provider: "auto",
    explicit: true,
    fallback: "none",
    headers: {},
    authStore: "",
    credentials: {},
    local: {},
    batch: { enabled: false, wait: true, concurrency: 2, pollIntervalMs: 2000, timeoutMinutes: 60 },
    cache: { enabled: true, maxEntries: 50_000 },
    onFailure: "unavailable",
    multimodal: false,
    ...changes,
  };
}

/** A clock on which sleeping takes no time and is written down. */
export function fakeClock(): Clock & { pauses: number[] } {
  let now = Date.parse("2026-03-01T12:00:00Z");
  const pauses: number[] = [];
  return {
    pauses,
    now: () => now,
    random: () => 0.5,
    async sleep(ms, signal) {
      signal.throwIfAborted();
      pauses.push(ms);
      now += ms;
    },
  };
}

/** The real numbers of tries, with attempts that end soon. */
export function shortPatience(attemptMs = 5_000): { query: Patience; document: Patience } {
  const pauses = { attempts: 3, baseMs: 500, capMs: 4_000 };
  return {
    query: { attemptMs, totalMs: 60_000, rate: pauses, transient: pauses },
    document: {
      attemptMs,
      totalMs: 360_000,
      rate: { attempts: 5, baseMs: 5_000, capMs: 60_000 },
      transient: { attempts: 3, baseMs: 500, capMs: 8_000 },
    },
  };
}

export const never = (): AbortSignal => new AbortController().signal;

/** The provider that `settings` open; fails with the reason when there is none. */
export async function opened(
  settings: EmbeddingSettings,
  options: Partial<OpenOptions> = {},
): Promise<EmbeddingProvider> {
  const result = await openProvider(settings, { kind: "agent", env: {}, clock: fakeClock(), ...options });
  if (result.provider === undefined) throw new Error(result.reason ?? "no provider");
  return result.provider;
}

/** What `promise` fails with. */
export async function failure(promise: Promise<unknown>): Promise<Error & { code?: string; hint?: string }> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error("it succeeded");
}

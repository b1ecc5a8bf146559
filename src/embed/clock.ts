/** Time and chance, so that waiting can be tested without waiting. */
export type Clock = {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** From 0 up to, not including, 1. */
  random(): number;
};

/** The real ones. */
export const systemClock: Clock = { now: Date.now, sleep, random: Math.random };

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(done, ms);
    function done(): void {
      signal.removeEventListener("abort", aborted);
      resolve();
    }
    function aborted(): void {
      clearTimeout(timer);
      reject(signal.reason);
    }
    signal.addEventListener("abort", aborted, { once: true });
  });
}

/**
 * Runs `work` under a time limit: its signal is aborted when `outer` is or when `ms` have passed. `expired()` tells the two
 * apart.
 */
export async function withTimeLimit<T>(
  ms: number,
  outer: AbortSignal,
  work: (signal: AbortSignal, expired: () => boolean) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new DOMException("time limit", "TimeoutError")), ms);
  try {
    return await work(AbortSignal.any([outer, limit.signal]), () => limit.signal.aborted && !outer.aborted);
  } finally {
    clearTimeout(timer);
  }
}

/** Gives out one turn at a time: whoever waits for a quick answer goes before bulk work, each in the order of asking. */
export type Turns = { take<T>(bulk: boolean, signal: AbortSignal, work: () => Promise<T>): Promise<T> };

/** `onStuck` is called when one turn takes longer than `limitMs`: native code can't be interrupted from here. */
export function turns(limitMs: number, onStuck: () => void): Turns {
  const waiting: { quick: (() => void)[]; bulk: (() => void)[] } = { quick: [], bulk: [] };
  let taken = false;
  return {
    async take(bulk, signal, work) {
      if (taken) await new Promise<void>((resolve) => waiting[bulk ? "bulk" : "quick"].push(resolve));
      taken = true;
      const watchdog = setTimeout(onStuck, limitMs);
      try {
        signal.throwIfAborted();
        return await work();
      } finally {
        clearTimeout(watchdog);
        const next = waiting.quick.shift() ?? waiting.bulk.shift();
        if (next === undefined) taken = false;
        else next();
      }
    },
  };
}

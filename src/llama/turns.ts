/** Gives out one turn at a time: whoever waits for a quick answer goes before bulk work, each in the order of asking. */
export type Turns = { take<T>(bulk: boolean, signal: AbortSignal, work: () => Promise<T>): Promise<T> };

export function turns(): Turns {
  const waiting: { quick: (() => void)[]; bulk: (() => void)[] } = { quick: [], bulk: [] };
  let taken = false;
  return {
    async take(bulk, signal, work) {
      if (taken) await new Promise<void>((resolve) => waiting[bulk ? "bulk" : "quick"].push(resolve));
      taken = true;
      try {
        signal.throwIfAborted();
        return await work();
      } finally {
        const next = waiting.quick.shift() ?? waiting.bulk.shift();
        if (next === undefined) taken = false;
        else next();
      }
    },
  };
}

/**
 * Lets work begin one after the other, in the order it asks, each in a round of the event loop of its own: resolves when it is the
 * caller's turn. Much that is worked off without a pause would hold up the answers that are ready, timers and the end of input.
 */
export function eventRounds(): () => Promise<void> {
  let last = Promise.resolve();
  return () => (last = last.then(() => new Promise((resolve) => setImmediate(resolve))));
}

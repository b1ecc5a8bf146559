/** What the piece below takes on a machine of today, in milliseconds. */
const PIECE_MS = 10;

let slowness: number | undefined;

/**
 * Begins to measure work of this process. What it returns tells the processor's time since then, in milliseconds of a machine of today:
 * what else the machine does makes it no longer, and neither does a slower processor.
 */
export function workMeter(): () => number {
  // Measured before the work begins.
  inTodaysMs(0);
  const spent = processorMs();
  return () => inTodaysMs(spent());
}

/** Milliseconds of the processor's time, of a child too, as those of a machine of today. */
export function inTodaysMs(ms: number): number {
  slowness ??= Math.min(...Array.from({ length: 5 }, pieceMs)) / PIECE_MS;
  return ms / slowness;
}

/** Begins to measure the processor's time of this process in milliseconds. */
export function processorMs(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
}

function pieceMs(): number {
  const spent = processorMs();
  let hash = 0;
  for (let step = 0; step < 8_000_000; step++) hash = (Math.imul(hash, 31) + step) | 0;
  // What is computed for nothing would be left out.
  return hash === 1 ? 1 : Math.max(1, spent());
}

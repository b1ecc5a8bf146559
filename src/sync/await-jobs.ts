import { systemClock } from "../embed/clock.ts";
import type { Home } from "../home/types.ts";
import { syncCancelled, type SyncReport } from "./report.ts";

/** Batch jobs take minutes at least; looking more rarely than this would let their results lie. */
const MAX_PAUSE_MS = 300_000;

/**
 * Runs a sync, and where batch jobs are to be waited for, again and again until they are done. In between nothing is held: others
 * can write, and whichever sync comes first fetches what a job made. Returns what all of them did together.
 */
export async function untilJobsDone(
  { embedding: { batch } }: Home,
  signal: AbortSignal | undefined,
  sync: (isFirst: boolean) => Promise<SyncReport>,
): Promise<SyncReport> {
  let report = await sync(true);
  for (
    let pause = batch.pollIntervalMs;
    batch.wait && report.embedding.state === "pending";
    pause = Math.min(MAX_PAUSE_MS, pause * 1.5)
  ) {
    await paused(pause, signal);
    report = together(report, await sync(false), pause);
  }
  return report;
}

async function paused(ms: number, signal = new AbortController().signal): Promise<void> {
  try {
    await systemClock.sleep(ms, signal);
  } catch {
    throw syncCancelled();
  }
}

function together(before: SyncReport, after: SyncReport, pause: number): SyncReport {
  const earlier = new Map(before.collections.map((report) => [report.name, report]));
  return {
    ...after,
    added: before.added + after.added,
    changed: before.changed + after.changed,
    removed: before.removed + after.removed,
    embedded: before.embedded + after.embedded,
    ms: Math.round(before.ms + pause + after.ms),
    collections: after.collections.map((report) => {
      const { added = 0, changed = 0, removed = 0 } = earlier.get(report.name) ?? {};
      return {
        ...report,
        added: report.added + added,
        changed: report.changed + changed,
        removed: report.removed + removed,
      };
    }),
    warnings: [...new Set([...before.warnings, ...after.warnings])],
  };
}

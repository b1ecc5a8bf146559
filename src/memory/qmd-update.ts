import { asMemqError, MemqError } from "../errors.ts";
import { writeAgentQmdConfig } from "../home/agent-qmd-home.ts";
import type { MemorySettings } from "../home/types.ts";
import type { SyncProgress, SyncReport } from "../sync/report.ts";
import type { ServedAgent, ServingQmd } from "./backend.ts";
import { exportSessions, type ExportOptions } from "./export.ts";
import { hasTranscripts } from "./sessions.ts";

export type UpdateOptions = {
  force?: boolean;
  onProgress?: (progress: SyncProgress) => void;
  signal?: AbortSignal;
  /** Whether an update that runs already will do; unless false. */
  joins?: boolean;
};

/** The two halves of keeping an agent's qmd home up to date, with the time that each may take. */
export type QmdUpdater = {
  /**
   * Writes the collections, exports the transcripts and indexes what changed; nothing is embedded. Throws `COMMAND_TIMEOUT` or
   * `UPDATE_TIMEOUT` when that takes longer than it may: what was written stays.
   */
  update(options: UpdateOptions): Promise<SyncReport>;
  /**
   * Embeds what has no vector, `embedTimeoutMs` at a time for as long as that gets on; null when there is nothing to do: the search
   * mode needs no vectors, or it is not time yet. `interval`: time when `embedInterval` has passed since the last success;
   * `timer`: when no failure is fresh; `asked`: always. A failure is part of the report.
   */
  embed(when: "interval" | "timer" | "asked", options: UpdateOptions): Promise<SyncReport | null>;
  /** Bytes of a transcript (absolute path) that were exported last. */
  exportedSize(path: string): number;
};

/** Waiting time after embedding failed: doubles up to an hour. */
const BACK_OFF_MS = { first: 60_000, most: 3_600_000 };

/** Updates the qmd home that serves an agent; a process that stays does it in the Worker. */
export function qmdUpdater({ home, memory }: ServedAgent, qmd: ServingQmd, isLive: boolean): QmdUpdater {
  const { update: limits, searchMode } = memory.qmd;
  const sizes = new Map<string, number>();
  const rhythm: Rhythm = { embeddedAt: -Infinity, backOff: { ms: 0, until: -Infinity } };
  const writeCollections = oneAfterAnother((signal) =>
    withinTime("COMMAND_TIMEOUT", "commandTimeoutMs", limits.commandTimeoutMs, signal, () => writeAgentQmdConfig(qmd)),
  );
  const exportTranscripts = oneAfterAnother(async (signal) => {
    if (!hasTranscripts(home)) return [];
    const exported = await exportSessions({ ...exportOptions(memory), signal });
    sizes.clear();
    for (const [path, size] of exported.sizes) sizes.set(path, size);
    return exported.problems;
  });

  /** A folder for transcripts that can't be written keeps no note from being indexed. */
  async function exportProblems(signal: AbortSignal): Promise<string[]> {
    try {
      return await exportTranscripts(signal);
    } catch (error) {
      signal.throwIfAborted();
      return [`The transcripts were not exported to ${memory.qmd.sessions.exportDir}: ${asMemqError(error).message}`];
    }
  }

  return {
    async update({ signal = NEVER, ...options }) {
      await writeCollections(signal);
      return withinTime("UPDATE_TIMEOUT", "updateTimeoutMs", limits.updateTimeoutMs, signal, async (signal) => {
        const problems = await exportProblems(signal);
        const report = await sync(isLive, { home, ...options, embed: false, signal });
        return { ...report, warnings: [...problems, ...report.warnings] };
      });
    },
    async embed(when, { signal = NEVER, onProgress = () => {} }) {
      if (searchMode === "search" || !isTime(rhythm, when, limits.embedIntervalMs)) return null;
      const work = { home, collections: [], signal, onProgress };
      const report = await embedWhileItGetsOn(isLive, work, limits.embedTimeoutMs);
      noteOutcome(rhythm, report.embedding.state === "failed");
      return report;
    },
    exportedSize: (path) => sizes.get(path) ?? 0,
  };
}

const NEVER = new AbortController().signal;

/** When embedding last succeeded, and until when a failure keeps it from being tried again; by `performance.now()`. */
type Rhythm = { embeddedAt: number; backOff: { ms: number; until: number } };

function isTime(
  { embeddedAt, backOff }: Rhythm,
  when: "interval" | "timer" | "asked",
  embedIntervalMs: number,
): boolean {
  if (when === "asked") return true;
  const now = performance.now();
  return now >= backOff.until && (when === "timer" || now >= embeddedAt + embedIntervalMs);
}

function noteOutcome(rhythm: Rhythm, hasFailed: boolean): void {
  if (!hasFailed) {
    rhythm.embeddedAt = performance.now();
    rhythm.backOff = { ms: 0, until: -Infinity };
    return;
  }
  const ms = Math.min(BACK_OFF_MS.most, Math.max(BACK_OFF_MS.first, rhythm.backOff.ms * 2));
  rhythm.backOff = { ms, until: performance.now() + ms };
}

/** Embeds what has no vector, `limitMs` at a time, until there is nothing left or that time brought nothing. */
async function embedWhileItGetsOn(
  isLive: boolean,
  work: SyncWork & Required<Pick<SyncWork, "signal" | "onProgress">>,
  limitMs: number,
): Promise<SyncReport> {
  for (let before = 0; ;) {
    const late = AbortSignal.timeout(limitMs);
    let done = 0;
    const onProgress = (progress: SyncProgress): void => {
      if (progress.phase === "embed") done = Math.max(done, progress.done);
      work.onProgress(progress);
    };
    try {
      const report = await sync(isLive, { ...work, signal: AbortSignal.any([work.signal, late]), onProgress });
      return { ...report, embedded: before + report.embedded };
    } catch (error) {
      if (work.signal.aborted) throw error;
      before += done;
      if (late.aborted && done > 0) continue;
      const reason = late.aborted
        ? `Nothing was embedded within ${limitMs} ms (memory.qmd.update.embedTimeoutMs).`
        : asMemqError(error).message;
      return nothingEmbedded(before, reason);
    }
  }
}

/** What an update and embedding after it did together. */
export function withEmbedding(update: SyncReport, embedded: SyncReport | null): SyncReport {
  if (embedded === null) return update;
  return {
    ...update,
    embedded: embedded.embedded,
    embedding: embedded.embedding,
    ms: update.ms + embedded.ms,
    warnings: [...update.warnings, ...embedded.warnings],
  };
}

function nothingEmbedded(embedded: number, reason: string): SyncReport {
  return {
    files: 0,
    passages: 0,
    added: 0,
    changed: 0,
    removed: 0,
    embedded,
    ms: 0,
    collections: [],
    skipped: [],
    warnings: [],
    embedding: { state: "failed", reason },
  };
}

type SyncWork = UpdateOptions & { home: ServedAgent["home"]; collections?: readonly string[]; embed?: boolean };

async function sync(isLive: boolean, { home, joins, ...options }: SyncWork): Promise<SyncReport> {
  if (!isLive) {
    const { syncIndex } = await import("../sync/sync.ts");
    return syncIndex(home, options);
  }
  const { startSync } = await import("../sync/client.ts");
  return startSync(home, { ...options, ...(joins === undefined ? {} : { joins }), awaitsJobs: false });
}

/** `work` with a signal for its end; `key` of the configuration is what allows it no more time. */
async function withinTime<T>(
  code: string,
  key: string,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = AbortSignal.timeout(ms);
  const passed = new Promise<never>((_, reject) => {
    late.addEventListener("abort", () => reject(late.reason), { once: true });
  });
  try {
    return await Promise.race([work(AbortSignal.any([signal, late])), passed]);
  } catch (error) {
    if (!late.aborted || signal.aborted) throw error;
    const what = code === "COMMAND_TIMEOUT" ? "The collections were not written" : "The update was not done";
    throw new MemqError(code, `${what} within ${ms} ms (memory.qmd.update.${key}); what it wrote stays.`, {
      hint: `Raise memory.qmd.update.${key}, or see what holds the agent's qmd home.`,
    });
  }
}

/** `work` as a function whose calls wait for each other, whatever became of the one before. */
function oneAfterAnother<T>(work: (signal: AbortSignal) => Promise<T>): (signal: AbortSignal) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (signal) => {
    const next = last.catch(() => {}).then(() => work(signal));
    last = next;
    return next;
  };
}

function exportOptions({ qmd, sessions }: MemorySettings): ExportOptions {
  const { exportDir, retentionDays } = qmd.sessions;
  const keep = retentionDays === undefined ? {} : { retentionDays };
  return { sessionsDir: sessions.directory, exportDir, now: Date.now(), ...keep };
}

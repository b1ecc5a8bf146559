import { MemqError } from "../errors.ts";
import type { Home } from "../home/types.ts";
import { withWriterLock } from "../store/lock.ts";
import { untilJobsDone } from "./await-jobs.ts";
import { syncCancelled, type SyncProgress, type SyncReport } from "./report.ts";
import { lockedPath } from "./sync-lock.ts";
import type { FromWorker, WorkerSyncOptions } from "./worker-messages.ts";
import { openWorker } from "./worker-thread.ts";

export type StartOptions = WorkerSyncOptions & {
  onProgress?: (progress: SyncProgress) => void;
  signal?: AbortSignal;
  /** Whether a sync that others asked for will do, if it has not begun yet; unless false. One that has may have missed a change. */
  joins?: boolean;
  /**
   * Reads the home again once the lock is held, for one whose configuration others change meanwhile, and the names of all collections
   * that are configured then.
   */
  reread?: () => Promise<HomeNow>;
  /** Whether batch jobs are waited for where the settings say so; unless false. */
  awaitsJobs?: boolean;
};

type HomeNow = { home: Home; configured?: readonly string[] };

type Running = {
  options: WorkerSyncOptions;
  listeners: Set<(progress: SyncProgress) => void>;
  /** Callers that still wait; the sync is cancelled when the last one leaves. */
  waiting: number;
  /** Its place among all that was asked for and begun; none before it has the lock. */
  readonly begun: number;
  cancelled: boolean;
  result: Promise<SyncReport>;
  cancel(): void;
};

/** The running syncs, by the path that each has locked. */
const running = new Map<string, Running>();

/** Counts what is asked for and what begins. */
let events = 0;

/**
 * Syncs a home in a Worker, so that the calling thread stays free: what had changed by the time of the call is in the index when it is
 * done. A sync of the same index that begins after the call and does at least as much is joined, so that many callers cost two syncs at
 * most; another one is waited for. Aborting `signal` leaves the sync, and ends it when nobody else waits for it.
 *
 * Rejects with `MemqError`: what `syncIndex` throws, `SYNC_CANCELLED`, or `SYNC_CRASHED` when the Worker died.
 */
export function startSync(home: Home, options: StartOptions = {}): Promise<SyncReport> {
  const { awaitsJobs = true, ...first } = options;
  if (!awaitsJobs) return syncOnce(home, first);
  return untilJobsDone(home, options.signal, (isFirst) => syncOnce(home, isFirst ? first : { ...first, force: false }));
}

async function syncOnce(home: Home, options: StartOptions): Promise<SyncReport> {
  const { onProgress, signal, joins = true, reread = async () => ({ home }), ...wanted } = options;
  const path = lockedPath(home.indexPath, wanted.collections);
  const asked = events++;
  for (let current = running.get(path); current !== undefined; current = running.get(path)) {
    const isLater = joins && current.begun > asked;
    if (isLater && !current.cancelled && covers(current.options, wanted)) return join(current, onProgress, signal);
    await awaited(current, settled(current.result), onProgress, signal);
  }
  const started = launch(reread, path, wanted);
  running.set(path, started);
  return join(started, onProgress, signal);
}

/** Resolves when no sync of this index runs in this process: each lets go of its lock before the process may end. */
export async function syncsEnded(indexPath: string): Promise<void> {
  const underWay = (): Running[] => [indexPath, lockedPath(indexPath, [])].flatMap((path) => running.get(path) ?? []);
  for (let syncs = underWay(); syncs.length > 0; syncs = underWay()) {
    await Promise.allSettled(syncs.map(({ result }) => result));
  }
}

function covers(current: WorkerSyncOptions, wanted: WorkerSyncOptions): boolean {
  const embeds = current.embed !== false || wanted.embed === false;
  const forces = current.force === true || wanted.force !== true;
  const { collections } = current;
  const reaches =
    collections === undefined || (wanted.collections?.every((name) => collections.includes(name)) ?? false);
  return embeds && forces && reaches;
}

async function join(
  sync: Running,
  onProgress: ((progress: SyncProgress) => void) | undefined,
  signal: AbortSignal | undefined,
): Promise<SyncReport> {
  sync.waiting += 1;
  try {
    return await awaited(sync, sync.result, onProgress, signal);
  } finally {
    sync.waiting -= 1;
    if (sync.waiting === 0) {
      sync.cancelled = true;
      sync.cancel();
    }
  }
}

/** `result` of a sync, telling meanwhile how far the sync is; rejects when the caller leaves before it is there. */
async function awaited<T>(
  sync: Running,
  result: Promise<T>,
  onProgress: ((progress: SyncProgress) => void) | undefined,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (onProgress !== undefined) sync.listeners.add(onProgress);
  const left = Promise.withResolvers<never>();
  const leave = (): void => left.reject(syncCancelled());
  if (signal?.aborted) leave();
  signal?.addEventListener("abort", leave, { once: true });
  try {
    return await Promise.race([result, left.promise]);
  } finally {
    signal?.removeEventListener("abort", leave);
    if (onProgress !== undefined) sync.listeners.delete(onProgress);
  }
}

/** Begins a sync. The lock is held on this side, so that a Worker which dies can't leave it behind. */
function launch(homeNow: () => Promise<HomeNow>, path: string, options: WorkerSyncOptions): Running {
  const listeners = new Set<(progress: SyncProgress) => void>();
  const cancellation = new AbortController();
  const tell = (progress: SyncProgress): void => {
    for (const listener of listeners) listener(progress);
  };
  let begun = Infinity;
  const work = async (): Promise<SyncReport> => {
    // Those who ask at the same moment join.
    await new Promise((resolve) => setImmediate(resolve));
    begun = events++;
    const { home, ...configured } = await homeNow();
    if (cancellation.signal.aborted) throw syncCancelled();
    return runWorker(home, { ...options, ...configured }, tell, cancellation.signal);
  };
  return {
    options,
    listeners,
    waiting: 0,
    get begun() {
      return begun;
    },
    cancelled: false,
    result: withWriterLock(path, work, { signal: cancellation.signal }).finally(() => running.delete(path)),
    cancel: () => cancellation.abort(syncCancelled()),
  };
}

async function runWorker(
  home: Home,
  options: WorkerSyncOptions & Omit<HomeNow, "home">,
  onProgress: (progress: SyncProgress) => void,
  signal: AbortSignal,
): Promise<SyncReport> {
  const thread = openWorker();
  const { promise, resolve, reject } = Promise.withResolvers<SyncReport>();
  const cancel = (): void => thread.send({ type: "cancel" });
  thread.onMessage((message) => {
    if (message.type === "progress") onProgress(message.progress);
    else if (message.type === "done") resolve(message.report);
    else if (message.type === "failed") reject(errorOf(message.error));
  });
  signal.addEventListener("abort", cancel);
  try {
    thread.send({ type: "start", home, options });
    return await Promise.race([promise, thread.crashed]);
  } finally {
    signal.removeEventListener("abort", cancel);
    thread.end();
  }
}

async function settled(promise: Promise<unknown>): Promise<void> {
  await promise.catch(() => {});
}

function errorOf({ code, message, hint, exitCode }: Extract<FromWorker, { type: "failed" }>["error"]): MemqError {
  return new MemqError(code, message, { exitCode, ...(hint === undefined ? {} : { hint }) });
}

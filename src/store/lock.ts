import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { MemqError } from "../errors.ts";
import { patienceMs } from "./patience.ts";
import { processFacts } from "./process-facts.ts";

const DEFAULT_WAIT_MS = 120_000;

/** How long a writer waits between looks at the lock; grows to the second number. */
const LOOK_MS = [20, 250] as const;

/** After this a person who waits too is told for whom. */
const PATIENT_MS = 1000;

/** After this a half-done clearing of a stale lock counts as abandoned. */
const ABANDONED_MS = 5000;

type Holder = { pid: number; started: string };

/**
 * Runs `work` as the only writer of an index: one process at a time holds `<index>.lock`, a file with its process id and
 * start time, so that neither a dead holder nor another process under its number is believed. Waits at most `timeoutMs`
 * (`QMD_SQLITE_BUSY_TIMEOUT`, else two minutes), then throws `INDEX_BUSY` (exit code 75); after a second it says on stderr whom it
 * waits for, once.
 */
export async function withWriterLock<T>(
  indexPath: string,
  work: () => Promise<T> | T,
  options: { timeoutMs?: number; signal?: AbortSignal | undefined } = {},
): Promise<T> {
  const path = `${indexPath}.lock`;
  const timeout = options.timeoutMs ?? patienceMs(DEFAULT_WAIT_MS);
  const started = performance.now();
  const end = started + timeout;
  // Who gives up sooner has nothing to say before, however late it looks.
  let isTold = timeout <= PATIENT_MS;
  let pause: number = LOOK_MS[0];
  while (!tryLock(path)) {
    options.signal?.throwIfAborted();
    const now = performance.now();
    if (!isTold && now - started >= PATIENT_MS) isTold = tellHolder(path, indexPath);
    const left = end - now;
    if (left <= 0) throw busy(path);
    await Bun.sleep(Math.min(pause, left));
    pause = Math.min(pause * 1.5, LOOK_MS[1]);
  }
  try {
    options.signal?.throwIfAborted();
    return await work();
  } finally {
    unlock(path);
  }
}

/** Whether there was somebody to name. */
function tellHolder(path: string, indexPath: string): boolean {
  const holder = readHolder(path);
  if (holder !== null) console.error(`Waiting for process ${holder.pid}, which is writing to ${indexPath}.`);
  return holder !== null;
}

/** Process id of the writer that holds the index, or null. */
export function writerOf(indexPath: string): number | null {
  const holder = readHolder(`${indexPath}.lock`);
  return holder !== null && isAlive(holder) ? holder.pid : null;
}

function tryLock(path: string): boolean {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // Who only waits writes nothing.
  const before = readHolder(path);
  if (before !== null && isAlive(before)) return false;
  const draft = `${path}.${process.pid}.${Bun.hash(`${performance.now()}${Math.random()}`).toString(36)}`;
  try {
    writeFileSync(draft, JSON.stringify({ pid: process.pid, started: ownStartTime() }), { mode: 0o600 });
  } catch (error) {
    // A full disk still took the name.
    if (existsSync(draft)) rmSync(draft, { force: true });
    // It is the folder that refuses; the draft's name says nothing, and is another each time.
    throw Object.assign(error as NodeJS.ErrnoException, { path: dirname(path) });
  }
  try {
    if (!linkOnce(draft, path)) {
      const holder = readHolder(path);
      if (holder !== null && isAlive(holder)) return false;
      clearStale(path);
      if (!linkOnce(draft, path)) return false;
    }
    clearDrafts(path);
    return true;
  } finally {
    removeDraft(draft);
  }
}

/** An error here would leave the lock to nobody; who holds it next takes away what stays. */
function removeDraft(draft: string): void {
  try {
    unlinkSync(draft);
  } catch {
    // See above.
  }
}

/** Behind the name of a file: `lock.<process>.<id>` for its lock, `<process>.<id>.tmp` for itself. */
const DRAFT = /^(?:lock\.(?=\d+\.[0-9a-z]+$)|(?=\d+\.[0-9a-f]{8}\.tmp$))(\d+)\./;

/** Takes away what processes left that died before their file was in place: the lock, or what it guards. */
function clearDrafts(path: string): void {
  const start = `${basename(path, ".lock")}.`;
  try {
    for (const name of readdirSync(dirname(path))) {
      const pid = name.startsWith(start) ? DRAFT.exec(name.slice(start.length))?.[1] : undefined;
      if (pid !== undefined && !isAlive({ pid: Number(pid), started: "" }))
        rmSync(join(dirname(path), name), { force: true });
    }
  } catch {
    // The lock is held by now, and nobody would let go of it: what was left there disturbs nobody.
  }
}

/** Puts the finished file in place unless one is there: a link is made as a whole or not at all. */
function linkOnce(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Takes a dead holder's file away, unless another process is at it. Only who has made the folder beside it may do so, and
 * looks again first: while the file is there no new holder can come, so a living one's file is never taken.
 */
function clearStale(path: string): void {
  const claim = `${path}.clearing`;
  try {
    mkdirSync(claim, { mode: 0o700 });
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
    // Clearing takes no time: a folder that has stood for long was left by a process that died in between.
    const made = statSync(claim, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    // A clock that was set back meanwhile makes it look younger than nothing.
    if (Math.abs(Date.now() - made) > ABANDONED_MS) rmSync(claim, { recursive: true, force: true });
    return;
  }
  try {
    const content = readIfThere(path);
    const holder = content === null ? null : parseHolder(content);
    if (content !== null && (holder === null || !isAlive(holder))) rmSync(path, { force: true });
  } finally {
    rmSync(claim, { recursive: true, force: true });
  }
}

function unlock(path: string): void {
  if (isOthers(path)) return;
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as { code?: string }).code !== "ENOENT") throw error;
  }
}

/** Whether a lock that was ours is not any more. One that can't be read, as when no file is left to open, still is: it would stay held. */
function isOthers(path: string): boolean {
  try {
    return readHolder(path)?.pid !== process.pid;
  } catch {
    return false;
  }
}

function readHolder(path: string): Holder | null {
  const content = readIfThere(path);
  return content === null ? null : parseHolder(content);
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return null;
    throw error;
  }
}

/** Who a lock file names; null for a file that is no lock of ours. */
function parseHolder(content: string): Holder | null {
  try {
    const parsed = JSON.parse(content) as Partial<Holder> | null;
    return Number.isInteger(parsed?.pid) ? { pid: parsed?.pid ?? 0, started: parsed?.started ?? "" } : null;
  } catch {
    return null;
  }
}

function isAlive(holder: Holder): boolean {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if ((error as { code?: string }).code !== "EPERM") return false;
  }
  const { started, hasEnded } = processFacts(holder.pid);
  if (hasEnded) return false;
  return started === null || holder.started === "" || started === holder.started;
}

let ownStart: string | undefined;

/** When this process was started; "" when that can't be told. */
function ownStartTime(): string {
  return (ownStart ??= processFacts(process.pid).started ?? "");
}

function busy(path: string): MemqError {
  const pid = readHolder(path)?.pid;
  return new MemqError(
    "INDEX_BUSY",
    `Another process${pid === undefined ? "" : ` (${pid})`} is writing to the index.`,
    {
      hint: "Try again when it has finished; QMD_SQLITE_BUSY_TIMEOUT sets how many milliseconds to wait.",
      exitCode: 75,
    },
  );
}

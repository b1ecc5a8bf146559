import { spawn } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { MemqError } from "../../errors.ts";
import { withWriterLock, writerOf } from "../../store/lock.ts";
import { toldByPs } from "../../store/process-facts.ts";

/**
 * Where a server in the background is known: a file with its process id for people and for qmd, beside it the lock that it holds while
 * it runs, which alone is believed, and its log.
 */
export type DaemonFiles = { pidFile: string; logFile: string };

/** Tells a child that it is the server in the background. */
const DAEMON_VARIABLE = "MEMQ_MCP_DAEMON";
const START_MS = 15_000;
const STOP_MS = 5000;
/** Begins the line of the log that says how to stop the server. */
const STOPPED_BY = "Stop it with: ";

/** Whether this process was started as the server in the background. */
export function isDaemon(): boolean {
  return process.env[DAEMON_VARIABLE] === "1";
}

/** Process id of the server that runs in the background, or null; a number that another process has by now is not believed. */
export function runningServer({ pidFile }: DaemonFiles): number | null {
  const holder = writerOf(pidFile);
  if (holder !== null) return holder;
  const pid = writtenPid(pidFile);
  return pid !== null && isForeignServer(pid) ? pid : null;
}

/**
 * Starts this program once more in the background and waits until it takes requests. Throws `ALREADY_RUNNING`, or `MCP_START` with the
 * last line of the log.
 */
export async function startDaemon(
  files: DaemonFiles,
  { args, env, stopCommand }: { args: string[]; env: Record<string, string>; stopCommand: string },
): Promise<{ pid: number; url: string }> {
  const present = runningServer(files);
  if (present !== null) throw alreadyRunning(present, stopCommand);
  rmSync(files.pidFile, { force: true });
  mkdirSync(dirname(files.logFile), { recursive: true, mode: 0o700 });
  closeSync(openSync(files.logFile, "w", 0o600));
  // Of two that start at once neither writes over what the other says.
  const log = openSync(files.logFile, "a", 0o600);
  chmodSync(files.logFile, 0o600);
  const { ownProgram } = await import("../../llama/connection.ts");
  const { executable, args: before } = ownProgram();
  const child = spawn(executable, [...before, ...args], {
    argv0: process.argv0,
    detached: true,
    stdio: ["ignore", log, log],
    env: { ...process.env, ...env, [DAEMON_VARIABLE]: "1" },
  });
  closeSync(log);
  const failed = Promise.withResolvers<string>();
  child.on("error", (error) => failed.resolve(error.message));
  child.on("exit", (code, signal) => failed.resolve(`it ended with ${signal ?? `exit code ${code}`}`));
  child.unref();

  const end = performance.now() + START_MS;
  let failure: string | null = null;
  while (failure === null && performance.now() < end) {
    if (child.pid !== undefined && writtenPid(files.pidFile) === child.pid) {
      return { pid: child.pid, url: /listening on (\S+)/.exec(logOf(files))?.[1] ?? "" };
    }
    failure = await Promise.race([failed.promise, Bun.sleep(20).then(() => null)]);
  }
  if (failure === null) child.kill();
  const other = runningServer(files);
  if (other !== null && other !== child.pid) throw alreadyRunning(other, stopCommand);
  const said = logOf(files).trim().split("\n").at(-1) ?? "";
  throw new MemqError("MCP_START", said || `The server did not start: ${failure ?? "it took too long"}.`, {
    hint: `Its log is ${files.logFile}.`,
  });
}

/** Runs `serve` as the one server of these files; `ready` is to be called when it takes requests. */
export async function asDaemon(
  files: DaemonFiles,
  stopCommand: string,
  serve: (ready: () => void) => Promise<void>,
): Promise<void> {
  const ready = (): void => {
    // On stderr, which is the log: whoever finds this server by its files learns from it how to stop it.
    console.error(`${STOPPED_BY}${stopCommand}`);
    // Whole or not at all: the starter reads it as soon as it is there.
    writeFileSync(files.pidFile, String(process.pid), { mode: 0o600 });
  };
  try {
    await withWriterLock(
      files.pidFile,
      async () => {
        try {
          await serve(ready);
        } finally {
          if (writtenPid(files.pidFile) === process.pid) rmSync(files.pidFile, { force: true });
        }
      },
      { timeoutMs: 0 },
    );
  } catch (error) {
    const holder = error instanceof MemqError && error.code === "INDEX_BUSY" ? runningServer(files) : null;
    throw holder === null ? error : alreadyRunning(holder, stopCommand);
  }
}

/** Ends the server in the background; the answer is a sentence for people, the same as qmd's. */
export async function stopDaemon(files: DaemonFiles, program: string): Promise<string> {
  const pid = runningServer(files);
  if (pid === null) {
    if (writtenPid(files.pidFile) === null) return "Not running (no PID file).";
    rmSync(files.pidFile, { force: true });
    return "Cleaned up stale PID file (server was not running).";
  }
  signal(pid, "SIGTERM");
  const end = performance.now() + STOP_MS;
  while (runningServer(files) === pid && performance.now() < end) await Bun.sleep(20);
  if (runningServer(files) === pid) signal(pid, "SIGKILL");
  if (writtenPid(files.pidFile) === pid) rmSync(files.pidFile, { force: true });
  return `Stopped ${program === "qmd" ? "QMD" : program} MCP server (PID ${pid}).`;
}

/** Signals a process, which may have ended since somebody saw it. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** The servers that run in the background of homes whose files are in these folders, with the command that stops each. */
export function serversIn(folders: readonly string[]): { pid: number; stopCommand: string | null }[] {
  const bases = folders.flatMap((folder) =>
    namesIn(folder).flatMap((name) => (/^mcp.*\.pid$|\.mcp\.pid$/.test(name) ? [join(folder, name.slice(0, -4))] : [])),
  );
  return bases.flatMap((base) => {
    const files = { pidFile: `${base}.pid`, logFile: `${base}.log` };
    const pid = runningServer(files);
    const line = logOf(files)
      .split("\n")
      .find((one) => one.startsWith(STOPPED_BY));
    return pid === null ? [] : [{ pid, stopCommand: line?.slice(STOPPED_BY.length) ?? null }];
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function alreadyRunning(pid: number, stopCommand: string): MemqError {
  return new MemqError("ALREADY_RUNNING", `Already running (PID ${pid}). Run '${stopCommand}' first.`);
}

function writtenPid(path: string): number | null {
  try {
    const text = readFileSync(path, "utf8").trim();
    return /^[1-9]\d{0,9}$/.test(text) ? Number(text) : null;
  } catch {
    return null;
  }
}

/** Whether a process that holds no lock of ours is an HTTP server all the same, as qmd starts it. */
function isForeignServer(pid: number): boolean {
  const line = toldByPs(pid, "args") ?? "";
  return /\bqmd\b/.test(line) && /\bmcp\b.*--http\b/.test(line);
}

function logOf({ logFile }: DaemonFiles): string {
  try {
    return readFileSync(logFile, "utf8");
  } catch {
    return "";
  }
}

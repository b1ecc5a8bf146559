/*
 * One `memq rpc` process behind a plain interface: started when needed, started again with growing pauses when it is lost, asked
 * with a time limit. This folder is loaded by the gateway as it stands: Node's own modules only, erasable types only.
 */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { spawn } from "node:child_process";

export type ChildLog = { info(message: string): void; warn(message: string): void };

export type ChildOptions = {
  /** The program and its first arguments; `rpc` is appended. */
  command: readonly string[];
  /** Parameters of `initialize`, asked for at each start. */
  place: () => Record<string, unknown>;
  log: ChildLog;
};

export type RequestOptions = { timeoutMs: number; signal?: AbortSignal | undefined };

export type RpcChild = {
  /** Starts it in the background, and again whenever it is lost, until as many `release` as `hold` were called. */
  hold(): void;
  /** The result of a method; a child that is lost on the way is asked once more. Errors: `ChildUnavailable`, `RpcFailure`. */
  request(method: string, params: Record<string, unknown>, options: RequestOptions): Promise<unknown>;
  /** Tells a running child something; nothing when none runs. */
  notify(method: string, params: Record<string, unknown>): void;
  /** Ends it when nobody holds it any more, which is the answer. */
  release(): Promise<boolean>;
};

/** memq can't be asked now; the message says why. */
class ChildUnavailable extends Error {}

/** The child went away before it answered. */
class ChildLost extends ChildUnavailable {}

/** memq answered with an error. */
export class RpcFailure extends Error {
  readonly rpcCode: number;
  readonly hint: string | undefined;

  constructor(message: string, rpcCode: number, hint: string | undefined) {
    super(message);
    this.rpcCode = rpcCode;
    this.hint = hint;
  }
}

const START_MS = 30_000;
const PING_MS = 5_000;
/** A child that ran so long was sound: its loss begins a new series of attempts. */
const STEADY_MS = 30_000;
const LONGEST_PAUSE_MS = 30_000;
/** memq ends by itself within a second of the end of its input. */
const END_MS = 2_000;
const LAST_WORDS_MS = 100;

/** Milliseconds to wait before the next start after so many losses in a row: none after the first, then 0.5 s doubling to 30 s. */
export function pauseAfter(losses: number): number {
  return losses <= 1 ? 0 : Math.min(LONGEST_PAUSE_MS, 500 * 2 ** (losses - 2));
}

/** What is known of the children of one plug, of which one runs at a time. */
type Children = {
  options: ChildOptions;
  current: Session | null;
  holders: number;
  /** Losses in a row. */
  losses: number;
  lastReason: string;
  /** When the next may start, in milliseconds since 1970. */
  nextStart: number;
  restart: NodeJS.Timeout | undefined;
};

/** A child that is not running yet. */
export function rpcChild(options: ChildOptions): RpcChild {
  const children: Children = {
    options,
    current: null,
    holders: 0,
    losses: 0,
    lastReason: "",
    nextStart: 0,
    restart: undefined,
  };
  return {
    hold() {
      children.holders += 1;
      if (children.holders === 1 && children.current === null) scheduleRestart(children, 0);
    },
    async request(method, params, { timeoutMs, signal }) {
      const until = Date.now() + timeoutMs;
      for (let attempt = 0; ; attempt += 1) {
        try {
          const session = running(children);
          await withinTime(session.ready, until - Date.now(), signal);
          return await call(session, method, params, { timeoutMs: until - Date.now(), signal });
        } catch (error) {
          if (!(error instanceof ChildLost) || attempt > 0) throw error;
        }
      }
    },
    notify(method, params) {
      if (children.current !== null) send(children.current, { method, params });
    },
    async release() {
      children.holders = Math.max(0, children.holders - 1);
      if (children.holders > 0) return false;
      clearTimeout(children.restart);
      const ending = children.current;
      children.current = null;
      if (ending !== null) await end(ending);
      return true;
    },
  };
}

/** The child that runs, started now if none does; throws `ChildUnavailable` where that must wait. */
function running(children: Children): Session {
  if (children.current !== null) return children.current;
  const pause = children.nextStart - Date.now();
  if (pause > 0) {
    throw new ChildUnavailable(`${children.lastReason} (next attempt in ${Math.ceil(pause / 1000)} s)`);
  }
  const opened = openSession(children.options, (reason, uptimeMs) => {
    if (children.current !== opened) return;
    children.current = null;
    children.losses = (uptimeMs >= STEADY_MS ? 0 : children.losses) + 1;
    children.lastReason = reason;
    const wait = pauseAfter(children.losses);
    children.nextStart = Date.now() + wait;
    const then = wait === 0 ? "starting it again" : `next attempt in ${wait} ms`;
    children.options.log.warn(`memq: ${reason}; ${then}`);
    if (children.holders > 0) scheduleRestart(children, wait);
  });
  children.current = opened;
  return opened;
}

function scheduleRestart(children: Children, wait: number): void {
  clearTimeout(children.restart);
  children.restart = setTimeout(() => {
    if (children.holders === 0) return;
    // The pause is over, whatever the clock on the wall says.
    children.nextStart = 0;
    running(children);
  }, wait);
  children.restart.unref();
}

type Pending = { resolve: (result: unknown) => void; reject: (error: Error) => void };

/** One child, from its start to its end. */
type Session = {
  child: ChildProcessWithoutNullStreams;
  startedAt: number;
  exited: Promise<void>;
  /** The answer to our introduction. */
  ready: Promise<unknown>;
  pending: Map<number, Pending>;
  nextId: number;
  /** It is gone or can't be used. */
  lost: boolean;
  /** We end it. */
  ending: boolean;
  /** The last line it wrote to stderr. */
  lastWords: string;
  onLost: (reason: string, uptimeMs: number) => void;
};

/** Starts a child and introduces us; `onLost` is called once, when it is gone or can't be used. */
function openSession({ command, place, log }: ChildOptions, onLost: Session["onLost"]): Session {
  const [program = "memq", ...first] = command;
  const startedAt = Date.now();
  const child: ChildProcessWithoutNullStreams = spawn(program, [...first, "rpc"], { stdio: "pipe", windowsHide: true });
  // A gateway that wants to end is not kept; what is pending keeps it by its time limit.
  for (const part of [child, child.stdin, child.stdout, child.stderr]) (part as { unref?: () => void }).unref?.();
  const session: Session = {
    child,
    startedAt,
    exited: new Promise<void>((resolve) => child.once("exit", () => resolve())),
    ready: Promise.resolve(),
    pending: new Map(),
    nextId: 1,
    lost: false,
    ending: false,
    lastWords: "",
    onLost,
  };
  listen(session, program, log);
  session.ready = introduced(session, place());
  // Whoever asks next hears of it.
  session.ready.catch(() => {});
  return session;
}

/** Takes in what a child answers, and that it ends. */
function listen(session: Session, program: string, log: ChildLog): void {
  const { child, pending } = session;
  child.on("error", (error) => lose(session, `memq can't be started with "${program}": ${error.message}`));
  child.on("exit", (code, signal) => {
    const how = signal === null ? `exit code ${code}` : signal;
    const tell = (): void => {
      const { lastWords } = session;
      lose(session, `memq rpc ended (${how})${lastWords === "" ? "" : `: ${lastWords}`}`);
    };
    // Its last words may still be on the way; a process of its own that holds the pipe must not keep us.
    child.once("close", tell);
    setTimeout(tell, LAST_WORDS_MS);
  });
  // A child that is gone says so by its exit.
  child.stdin.on("error", () => {});
  eachLine(child.stderr, (line) => {
    session.lastWords = line;
    log.info(`memq: ${line}`);
  });
  eachLine(child.stdout, (line) => {
    const message = parsed(line);
    const waiting = typeof message?.id === "number" ? pending.get(message.id) : undefined;
    if (message === null || waiting === undefined) return;
    pending.delete(Number(message.id));
    if (message.error === undefined) waiting.resolve(message.result);
    else waiting.reject(new RpcFailure(message.error.message, message.error.code, message.error.data?.hint));
  });
}

/** The answer to `initialize`; a child that does not give one is of no use. */
function introduced(session: Session, place: Record<string, unknown>): Promise<unknown> {
  return call(session, "initialize", place, { timeoutMs: START_MS }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    lose(session, reason);
    throw error instanceof ChildLost ? error : new ChildUnavailable(reason);
  });
}

function call(
  session: Session,
  method: string,
  params: Record<string, unknown>,
  { timeoutMs, signal }: RequestOptions,
): Promise<unknown> {
  const { pending } = session;
  const id = session.nextId;
  session.nextId += 1;
  if (session.lost) return Promise.reject(new ChildLost("memq rpc is gone"));
  const answer = new Promise<unknown>((resolve, reject) => pending.set(id, { resolve, reject }));
  send(session, { id, method, params });
  return withinTime(answer, timeoutMs, signal).catch((error: unknown) => {
    if (pending.delete(id)) {
      send(session, { method: "$/cancelRequest", params: { id } });
      if (method !== "ping" && signal?.aborted !== true) checkAlive(session);
    }
    throw error;
  });
}

/** A child that no longer answers at all is ended, so that the next one may. */
function checkAlive(session: Session): void {
  call(session, "ping", {}, { timeoutMs: PING_MS }).catch(() => lose(session, "memq rpc no longer answers"));
}

function send({ child, lost }: Session, message: Record<string, unknown>): void {
  if (!lost) child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function lose(session: Session, reason: string): void {
  const { child, startedAt, pending } = session;
  if (session.lost) return;
  session.lost = true;
  const error = session.ending ? new ChildUnavailable("memq has been stopped") : new ChildLost(reason);
  for (const { reject } of pending.values()) reject(error);
  pending.clear();
  session.onLost(reason, Date.now() - startedAt);
  child.kill("SIGKILL");
}

async function end(session: Session): Promise<void> {
  const { child, exited } = session;
  session.ending = true;
  child.stdin.end();
  const timer = setTimeout(() => child.kill("SIGKILL"), END_MS);
  await exited;
  clearTimeout(timer);
}

type Message = {
  id?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: { hint?: string } };
};

function parsed(line: string): Message | null {
  try {
    return JSON.parse(line) as Message;
  } catch {
    return null;
  }
}

function eachLine(stream: NodeJS.ReadableStream, take: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") take(line.trim());
  });
}

function withinTime<T>(work: Promise<T>, timeoutMs: number, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => finish(() => reject(new ChildUnavailable(`memq did not answer within its time limit`))),
      Math.max(0, timeoutMs),
    );
    const abort = (): void => finish(() => reject(new ChildUnavailable("the call was cancelled")));
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      settle();
    };
    if (signal?.aborted) return abort();
    signal?.addEventListener("abort", abort, { once: true });
    work.then(
      (value) => finish(() => resolve(value)),
      (error: unknown) => finish(() => reject(error instanceof Error ? error : new Error(String(error)))),
    );
  });
}

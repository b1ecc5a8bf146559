import { chmodSync, rmSync, truncateSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { MemqError, messageOf } from "../errors.ts";
import { expectMuchWork } from "../long-running.ts";
import { VERSION } from "../version.ts";
import { hostAddress, type HostAddress } from "./address.ts";
import { modelEngine, type Engine } from "./engine.ts";
import { tryLock } from "./lock.ts";
import {
  encodedVector,
  messageLine,
  messageReader,
  otherVersion,
  protocolVersion,
  type HostInfo,
  type HostReply,
  type HostRequest,
} from "./protocol.ts";
import { loadRuntime, type Runtime } from "./runtime.ts";
import { type Turns, turns } from "./turns.ts";

/** More requests than this at once are refused: whoever sends them does not wait for answers. */
const maxPending = 64;
const defaultIdleMs = 5 * 60_000;
/** No text, document or expansion takes this long; native code that does hangs, and clients get a new host. */
const turnLimitMs = 10 * 60_000;

/**
 * Runs this process as the model host of a models folder until it has been idle for five minutes (`MEMQ_MODEL_IDLE_MS`; 0: until
 * its last client goes), and ends it. Ends at once when another process already is that host, or when its starter looks for
 * it at another socket: the starter is of another version.
 */
export async function runModelHost(modelsFolder: string, socket: string): Promise<never> {
  expectMuchWork();
  process.umask(0o077);
  const address = hostAddress(modelsFolder);
  if (address.socket !== socket) process.exit(otherVersion);
  const release = tryLock(address.lock);
  if (release === null) process.exit(0);
  // Whoever held the lock before is gone, so a socket that is still there is dead.
  rmSync(address.socket, { force: true });
  truncateSync(address.log);
  const idleMs = Number(process.env["MEMQ_MODEL_IDLE_MS"] ?? defaultIdleMs);
  const host = idleHost(Number.isFinite(idleMs) ? idleMs : defaultIdleMs);
  process.on("SIGTERM", () => stop(host, "SIGTERM"));
  await serve(host, address);
  // Native destructors are not waited for: some abort, and the kernel frees all of it.
  process.exit(0);
}

type Client = { socket: Socket; running: Map<number, AbortController> };

type Host = {
  /** Milliseconds since 1970. */
  started: number;
  /** Milliseconds without work after which it ends; 0: it ends when its last client goes. */
  idleMs: number;
  idleTimer: Timer | undefined;
  clients: Set<Client>;
  turn: Turns;
  engine: Engine;
  /** Native code, once somebody has asked for it. */
  runtime: Promise<Runtime> | undefined;
  /** Ends serving. */
  end: () => void;
};

/** A host that nobody can reach yet. */
function idleHost(idleMs: number): Host {
  const host: Host = {
    started: Date.now(),
    idleMs,
    idleTimer: undefined,
    clients: new Set(),
    turn: turns(turnLimitMs, () => {
      logLine("fatal: native code hangs");
      process.exit(1);
    }),
    engine: modelEngine(() => runtimeOf(host)),
    runtime: undefined,
    end: () => {},
  };
  return host;
}

function runtimeOf(host: Host): Promise<Runtime> {
  return (host.runtime ??= loadRuntime(logLine));
}

/** Listens at the host's socket until it is stopped. */
function serve(host: Host, address: HostAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => accept(host, socket));
    host.end = () => {
      server.close();
      rmSync(address.socket, { force: true });
      resolve();
    };
    server.on("error", reject);
    server.listen(address.socket, () => {
      chmodSync(address.socket, 0o600);
      logLine(`listening, pid ${process.pid}`);
      restartIdleTimer(host);
    });
  });
}

function stop(host: Host, why: string): void {
  logLine(`ending: ${why}`);
  host.end();
}

function restartIdleTimer(host: Host): void {
  clearTimeout(host.idleTimer);
  if (pendingOf(host) > 0) return;
  if (host.idleMs > 0) host.idleTimer = setTimeout(() => stop(host, "idle"), host.idleMs);
  else if (host.clients.size === 0) host.idleTimer = setTimeout(() => stop(host, "no clients"), 200);
}

/** How many requests are under way. */
function pendingOf({ clients }: Host): number {
  return [...clients].reduce((sum, client) => sum + client.running.size, 0);
}

function accept(host: Host, socket: Socket): void {
  const client: Client = { socket, running: new Map() };
  const read = messageReader();
  host.clients.add(client);
  restartIdleTimer(host);
  socket.write(messageLine({ hello: protocolVersion }));
  socket.on("data", (chunk: Buffer) => {
    try {
      // Only processes of ours can connect, and their version is ours: messages have the shape we gave them.
      for (const message of read(chunk)) void take(host, client, message as HostRequest);
    } catch (error) {
      logLine(`bad message: ${messageOf(error)}`);
      socket.destroy();
    }
  });
  socket.on("error", (error) => logLine(`client: ${error.message}`));
  socket.on("close", () => {
    for (const controller of client.running.values()) controller.abort();
    host.clients.delete(client);
    restartIdleTimer(host);
  });
}

/** Does what a client asks for and sends it the answer. */
async function take(host: Host, client: Client, request: HostRequest): Promise<void> {
  if (request.op === "cancel") {
    client.running.get(request.id)?.abort();
    return;
  }
  if (request.op !== "info" && pendingOf(host) >= maxPending) {
    send(client, errorReply(request, new MemqError("MODEL_HOST_BUSY", "The model host has too much to do.")));
    return;
  }
  const controller = new AbortController();
  client.running.set(request.id, controller);
  restartIdleTimer(host);
  try {
    send(client, { id: request.id, result: await answerTo(host, request, controller.signal) });
  } catch (error) {
    if (!controller.signal.aborted) send(client, errorReply(request, error));
  } finally {
    client.running.delete(request.id);
    restartIdleTimer(host);
  }
}

async function answerTo(
  host: Host,
  request: Exclude<HostRequest, { op: "cancel" }>,
  signal: AbortSignal,
): Promise<unknown> {
  const { engine, turn } = host;
  const quick = <T>(work: () => Promise<T>) => turn.take(false, signal, work);
  if (request.op === "embed") return embedAll(engine, request, (work) => turn.take(request.bulk, signal, work));
  if (request.op === "rank") return rankAll(engine, request, quick);
  if (request.op === "expand") return quick(() => engine.expand(request.model, request.query, request.load, signal));
  return infoOf(host, request.load);
}

async function infoOf(host: Host, load: boolean): Promise<HostInfo> {
  const gpu = (await (load ? runtimeOf(host) : host.runtime))?.llama.gpu;
  return {
    pid: process.pid,
    version: VERSION,
    uptimeMs: Date.now() - host.started,
    backend: gpu === undefined ? null : gpu === false ? "cpu" : gpu,
    models: host.engine.models(),
    pending: pendingOf(host),
  };
}

type EmbedRequest = Extract<HostRequest, { op: "embed" }>;
type RankRequest = Extract<HostRequest, { op: "rank" }>;

async function embedAll(
  engine: Engine,
  request: EmbedRequest,
  inTurn: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<unknown> {
  const vectors: string[] = [];
  const truncated: number[] = [];
  for (const [index, text] of request.texts.entries()) {
    // A turn for each text, so that a question never waits for a whole batch of notes.
    const embedded = await inTurn(() => engine.embed(request.model, text, request.load));
    vectors.push(encodedVector(embedded.vector));
    if (embedded.truncated) truncated.push(index);
  }
  return { vectors, truncated };
}

async function rankAll(
  engine: Engine,
  request: RankRequest,
  inTurn: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<number[]> {
  const scores = new Map<string, number>();
  for (const document of new Set(request.documents)) {
    scores.set(document, await inTurn(() => engine.rank(request.model, request.query, document, request.load)));
  }
  return request.documents.map((document) => scores.get(document) ?? 0);
}

function send(client: Client, reply: HostReply): void {
  if (!client.socket.destroyed) client.socket.write(messageLine(reply));
}

function errorReply(request: HostRequest, error: unknown): HostReply {
  const { id } = request;
  if (error instanceof MemqError) {
    const { code, message, hint } = error;
    return { id, error: hint === undefined ? { code, message } : { code, message, hint } };
  }
  const subject = "model" in request ? request.model : "The model host";
  return { id, error: { code: "MODEL_FAILED", message: `${subject} failed: ${messageOf(error).split("\n")[0]}` } };
}

/** stderr is the host's log file; stdout is closed. */
function logLine(line: string): void {
  process.stderr.write(`${new Date().toISOString()} ${line}\n`);
}

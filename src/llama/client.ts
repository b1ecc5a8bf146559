import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { connect as connectSocket, type Socket } from "node:net";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { MemqError, messageOf } from "../errors.ts";
import { hostAddress, type HostAddress } from "./address.ts";
import { embedded } from "./embedded.ts";
import { parsedExpansion } from "./expansion.ts";
import {
  decodedVector,
  messageLine,
  messageReader,
  protocolVersion,
  type EmbedResult,
  type ExpansionLine,
  type HostHello,
  type HostInfo,
  type HostReply,
  type HostRequest,
} from "./protocol.ts";

export type ModelHostOptions = {
  /** Where the home's models are; hosts are shared by all processes that use the same folder. */
  modelsFolder: string;
  /** Threads of one context; `MEMQ_MODEL_THREADS` or a careful number when absent. */
  threads?: number;
};

export type CallOptions = {
  signal?: AbortSignal;
  /** Tokens; the model's own limit when that is lower. */ contextSize?: number;
};

/** The model host as its clients see it; models are absolute paths of GGUF files. */
export type ModelHost = {
  /**
   * One vector per text, in order; texts that are too long are cut, and `onTruncated` gets their indices. `bulk` work lets
   * questions go first.
   */
  embed(
    model: string,
    texts: string[],
    options?: CallOptions & { bulk?: boolean; onTruncated?: (indices: number[]) => void },
  ): Promise<Float32Array[]>;
  /** Relevance of each document to the query, 0 to 1. */
  rank(model: string, query: string, documents: string[], options?: CallOptions): Promise<number[]>;
  /** Other ways to ask for the same; never empty. */
  expand(model: string, query: string, options?: CallOptions): Promise<ExpansionLine[]>;
  /** What the host has loaded; `load` makes it load llama.cpp first. */
  info(options?: { signal?: AbortSignal; load?: boolean }): Promise<HostInfo>;
  /** Ends the connection, not the host. */
  close(): void;
};

const startTimeoutMs = 20_000;

/** Why a request got no answer: the connection ended. */
class ConnectionLost extends Error {}

// What is left of a request once its id is set.
type Unnumbered<T> = T extends { id: number } ? Omit<T, "id"> : never;

/**
 * A client of the model host of a folder. The host is started when it is needed and not there. When it ends in the middle of a
 * request, it is started once more and asked again; ending a second time is `MODEL_HOST_CRASHED`. An idle client does not
 * keep its process alive.
 */
export function modelHost(options: ModelHostOptions): ModelHost {
  mkdirSync(options.modelsFolder, { recursive: true, mode: 0o700 });
  const threads = options.threads ?? defaultThreads();
  let connecting: Promise<Connection> | undefined;

  async function connection(address: HostAddress): Promise<Connection> {
    const present = await connecting?.catch(() => undefined);
    if (present?.isOpen() === true) return present;
    connecting = openConnection(address, options.modelsFolder);
    return connecting;
  }

  async function call(request: Unnumbered<HostRequest>, signal = new AbortController().signal): Promise<unknown> {
    const address = hostAddress(options.modelsFolder);
    for (let attempt = 0; ; attempt++) {
      signal.throwIfAborted();
      try {
        return await untilAborted(
          connection(address).then((open) => open.request(request, signal)),
          signal,
        );
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        if (attempt === 1) throw crashed(address);
      }
    }
  }

  return {
    async embed(model, texts, { signal, contextSize = 2048, bulk = texts.length > 1, onTruncated } = {}) {
      if (texts.length === 0) return [];
      const load = { threads, contextSize };
      const { vectors, truncated } = (await call({ op: "embed", model, texts, bulk, load }, signal)) as EmbedResult;
      if (truncated.length > 0) onTruncated?.(truncated);
      return vectors.map(decodedVector);
    },
    async rank(model, query, documents, { signal, contextSize = 4096 } = {}) {
      if (documents.length === 0) return [];
      return (await call({ op: "rank", model, query, documents, load: { threads, contextSize } }, signal)) as number[];
    },
    async expand(model, query, { signal, contextSize = 2048 } = {}) {
      const written = await call({ op: "expand", model, query, load: { threads, contextSize } }, signal);
      return parsedExpansion(String(written), query);
    },
    async info({ signal, load = false } = {}) {
      return (await call({ op: "info", load }, signal)) as HostInfo;
    },
    close() {
      void connecting?.then((open) => open.end()).catch(() => undefined);
      connecting = undefined;
    },
  };
}

/**
 * Half of the cores, at most four: llama.cpp's threads wait by spinning, so one thread too many on a busy machine costs a
 * hundred times what it gains.
 */
export function defaultThreads(env: NodeJS.ProcessEnv = process.env): number {
  const wanted = Number(env["MEMQ_MODEL_THREADS"]);
  if (Number.isInteger(wanted) && wanted > 0) return wanted;
  return Math.max(1, Math.min(4, Math.floor(availableParallelism() / 2)));
}

type Connection = {
  isOpen(): boolean;
  request(request: Unnumbered<HostRequest>, signal: AbortSignal): Promise<unknown>;
  end(): void;
};

/** Connects to the host, starting it when nobody answers. */
async function openConnection(address: HostAddress, modelsFolder: string): Promise<Connection> {
  const deadline = Date.now() + startTimeoutMs;
  let host: { ended: boolean } | undefined;
  for (let wait = 5; Date.now() < deadline; wait = Math.min(wait * 1.5, 100)) {
    const connection = await greetedConnection(address.socket, deadline - Date.now());
    if (connection !== null) return connection;
    // A host that ended without listening lost a race, perhaps against one that was just leaving: then it's our turn.
    if (host === undefined || host.ended) host = startHost(address, modelsFolder);
    await Bun.sleep(wait);
  }
  throw new MemqError("MODEL_HOST_START", `The model host did not start within ${startTimeoutMs / 1000} s.`, {
    hint: `Its log is ${address.log}.`,
  });
}

/**
 * A connection to the host that listens there, or null when none does. One that accepts and closes without a word is just
 * ending, and counts as none.
 */
function greetedConnection(path: string, timeoutMs: number): Promise<Connection | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Connection | null>();
  const socket = connectSocket(path);
  const read = messageReader();
  const giveUp = () => {
    socket.destroy();
    resolve(null);
  };
  const timer = setTimeout(giveUp, timeoutMs);
  const greet = (chunk: Buffer) => {
    try {
      const [greeting] = read(chunk) as [HostHello?];
      if (greeting === undefined) return;
      if (greeting.hello !== protocolVersion) throw new Error("another greeting");
      socket.off("data", greet);
      resolve(socketConnection(socket));
    } catch {
      reject(foreignProgram(path));
      socket.destroy();
    }
  };
  socket.on("data", greet);
  socket.on("error", giveUp);
  socket.on("close", giveUp);
  return promise.finally(() => {
    clearTimeout(timer);
    socket.off("close", giveUp);
  });
}

/** Starts a host in a session of its own, so that whatever ends this process and its group leaves it running. */
function startHost(address: HostAddress, modelsFolder: string): { ended: boolean } {
  const state = { ended: false };
  const log = openSync(address.log, "a", 0o600);
  try {
    const child = spawn(process.execPath, [...hostCommand(), modelsFolder], {
      detached: true,
      stdio: ["ignore", "ignore", log],
      env: hostEnvironment(process.env),
      cwd: "/",
    });
    child.on("exit", () => (state.ended = true));
    child.on("error", () => (state.ended = true));
    child.unref();
  } finally {
    closeSync(log);
  }
  return state;
}

function hostCommand(): string[] {
  return embedded === null ? [join(import.meta.dir, "../main.ts"), "__model-host"] : ["__model-host"];
}

/** node-llama-cpp reads settings of its own, and refuses to load with a `CI` that is neither true nor false. */
function hostEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => name !== "CI" && !name.startsWith("NODE_LLAMA_CPP_")),
  );
}

function socketConnection(socket: Socket): Connection {
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  const read = messageReader();
  let lastId = 0;
  let open = true;

  function settle(reply: HostReply): void {
    const request = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (waiting.size === 0) socket.unref();
    if ("result" in reply) request?.resolve(reply.result);
    else request?.reject(new MemqError(reply.error.code, reply.error.message, { hint: reply.error.hint }));
  }

  function lose(): void {
    open = false;
    for (const { reject } of waiting.values()) reject(new ConnectionLost());
    waiting.clear();
  }

  socket.on("data", (chunk: Buffer) => {
    try {
      for (const message of read(chunk)) settle(message as HostReply);
    } catch (error) {
      socket.destroy(new Error(messageOf(error)));
    }
  });
  socket.on("error", lose);
  socket.on("close", lose);
  socket.unref();

  return {
    isOpen: () => open,
    request(request, signal) {
      if (!open) return Promise.reject(new ConnectionLost());
      const id = ++lastId;
      const cancel = () => {
        waiting.delete(id);
        if (waiting.size === 0) socket.unref();
        if (open) socket.write(messageLine({ id, op: "cancel" }));
      };
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        socket.ref();
        signal.addEventListener("abort", cancel, { once: true });
        socket.write(messageLine({ ...request, id }));
      }).finally(() => signal.removeEventListener("abort", cancel));
    },
    end() {
      open = false;
      socket.destroy();
    },
  };
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

function foreignProgram(path: string): MemqError {
  return new MemqError("MODEL_HOST_FOREIGN", `Another program than a model host of ours listens on ${path}.`, {
    hint: "End it, or remove the socket.",
  });
}

function crashed(address: HostAddress): MemqError {
  let last = "";
  try {
    const lines = readFileSync(address.log, "utf8").trim().split("\n");
    last = lines.findLast((line) => /assert|panic|abort|error|fatal/i.test(line) && !line.includes(" warn: ")) ?? "";
  } catch {
    // Without a log there is just less to say.
  }
  const reason = last === "" ? "" : ` (${last})`;
  return new MemqError("MODEL_HOST_CRASHED", `The model host ended twice in the middle of its work${reason}.`, {
    hint: `Its log is ${address.log}. Another model, or MEMQ_GPU=off, may work.`,
  });
}

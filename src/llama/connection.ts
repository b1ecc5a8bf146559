import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { connect as connectSocket, type Socket } from "node:net";
import { join, resolve } from "node:path";
import { MemqError, messageOf } from "../errors.ts";
import type { HostAddress } from "./address.ts";
import { embedded } from "./embedded.ts";
import {
  messageLine,
  messageReader,
  otherVersion,
  protocolVersion,
  type HostHello,
  type HostReply,
  type HostRequest,
} from "./protocol.ts";

const startTimeoutMs = 20_000;

/** Why a request got no answer: the connection ended. */
export class ConnectionLost extends Error {}

// What is left of a request once its id is set.
export type Unnumbered<T> = T extends { id: number } ? Omit<T, "id"> : never;

/** An open connection to a model host; an idle one does not keep its process alive. */
export type Connection = {
  isOpen(): boolean;
  request(request: Unnumbered<HostRequest>, signal: AbortSignal): Promise<unknown>;
  end(): void;
};

/** Connects to the host, starting it when nobody answers. Throws `MODEL_HOST_START`, `MODEL_HOST_FOREIGN`. */
export async function openConnection(address: HostAddress, modelsFolder: string): Promise<Connection> {
  const deadline = Date.now() + startTimeoutMs;
  let host: StartedHost | undefined;
  for (let wait = 5; Date.now() < deadline; wait = Math.min(wait * 1.5, 100)) {
    const connection = await greetedConnection(address.socket, deadline - Date.now());
    if (connection !== null) return connection;
    if (host?.failure !== undefined) throw notStarted(address, host.failure);
    // A host that ended in peace lost a race, perhaps against one that was just leaving: then it's our turn.
    if (host === undefined || host.ended) host = startHost(address, modelsFolder);
    await Bun.sleep(wait);
  }
  throw notStarted(address, `no answer within ${startTimeoutMs / 1000} s`);
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

type StartedHost = { ended: boolean; failure?: string };

/** Starts a host in a session of its own, so that whatever ends this process and its group leaves it running. */
function startHost(address: HostAddress, modelsFolder: string): StartedHost {
  const state: StartedHost = { ended: false };
  const log = openSync(address.log, "a", 0o600);
  try {
    const { executable, args } = ownProgram();
    const child = spawn(executable, [...args, "__model-host", resolve(modelsFolder), address.socket], {
      argv0: process.execPath,
      detached: true,
      stdio: ["ignore", "ignore", log],
      env: hostEnvironment(process.env),
      cwd: "/",
    });
    child.on("error", (error) => (state.failure = error.message));
    child.on("exit", (code, signal) => {
      state.ended = true;
      if (code === otherVersion) state.failure = "the program was updated, and must be started again";
      else if (code !== 0) state.failure = `it ended with ${signal ?? `exit code ${code}`}`;
    });
    child.unref();
  } finally {
    closeSync(log);
  }
  return state;
}

/**
 * What starts this very program once more. On Linux through /proc, since an update may have put another version, or nothing, where it was
 * started from.
 */
export function ownProgram(): { executable: string; args: string[] } {
  if (embedded === null) return { executable: process.execPath, args: [join(import.meta.dir, "../main.ts")] };
  return { executable: process.platform === "linux" ? "/proc/self/exe" : process.execPath, args: [] };
}

const inherited = /^(HOME|PATH|USER|TMPDIR|TMP|TEMP|LANG|LD_LIBRARY_PATH|(LC|XDG|DYLD|MEMQ|QMD|GGML|LLAMA)_\w+)$/;

/**
 * What the host needs of the environment. Keys of services are not for a process that stays, and node-llama-cpp reads settings
 * of its own, and fails on a `CI` that is neither true nor false.
 */
function hostEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => inherited.test(name) && !/KEY|TOKEN|SECRET|PASSWORD/.test(name)),
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
      // Given up while the host started: what is sent now would keep this process until it is answered.
      if (signal.aborted) return Promise.reject(signal.reason as Error);
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

function foreignProgram(path: string): MemqError {
  return new MemqError("MODEL_HOST_FOREIGN", `Another program than a model host of ours listens on ${path}.`, {
    hint: "End it, or remove the socket.",
  });
}

function notStarted(address: HostAddress, reason: string): MemqError {
  return new MemqError("MODEL_HOST_START", `The model host did not start: ${reason}.`, {
    hint: `Its log is ${address.log}.`,
  });
}

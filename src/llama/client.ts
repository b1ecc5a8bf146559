import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { MemqError } from "../errors.ts";
import { hostAddress, type HostAddress } from "./address.ts";
import { ConnectionLost, openConnection, type Connection, type Unnumbered } from "./connection.ts";
import { parsedExpansion } from "./expansion.ts";
import { checkGguf } from "./gguf.ts";
import { decodedVector, type EmbedResult, type ExpansionLine, type HostInfo, type HostRequest } from "./protocol.ts";

export type ModelHostOptions = {
  /** Where the home's models are; hosts are shared by all processes that use the same folder. */
  modelsFolder: string;
  /** Threads of one context; `MEMQ_MODEL_THREADS` or a careful number when absent. */
  threads?: number;
};

export type CallOptions = {
  signal?: AbortSignal;
  /** Tokens; the model's own limit when that is lower. */
  contextSize?: number;
};

/** The model host as its clients see it; models are paths of GGUF files. */
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

/**
 * A client of the model host of a folder. The host is started when it is needed and not there. When it ends in the middle of a
 * request, it is started once more and asked again; ending a second time is `MODEL_HOST_CRASHED`. An idle client does not
 * keep its process alive.
 */
export function modelHost(options: ModelHostOptions): ModelHost {
  const threads = options.threads ?? defaultThreads();
  const connections = connectionsTo(options.modelsFolder);

  async function call(request: Unnumbered<HostRequest>, signal = new AbortController().signal): Promise<unknown> {
    const address = hostAddress(options.modelsFolder);
    for (let attempt = 0; ; attempt++) {
      signal.throwIfAborted();
      try {
        return await untilAborted(
          connections
            .current(address, "model" in request ? request.model : undefined)
            .then((open) => open.request(request, signal)),
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
      const { vectors, truncated } = (await call(
        { op: "embed", model: resolve(model), texts, bulk, load },
        signal,
      )) as EmbedResult;
      if (truncated.length > 0) onTruncated?.(truncated);
      return vectors.map(decodedVector);
    },
    async rank(model, query, documents, { signal, contextSize = 4096 } = {}) {
      if (documents.length === 0) return [];
      return (await call(
        { op: "rank", model: resolve(model), query, documents, load: { threads, contextSize } },
        signal,
      )) as number[];
    },
    async expand(model, query, { signal, contextSize = 2048 } = {}) {
      const written = await call(
        { op: "expand", model: resolve(model), query, load: { threads, contextSize } },
        signal,
      );
      return parsedExpansion(String(written), query);
    },
    async info({ signal, load = false } = {}) {
      return (await call({ op: "info", load }, signal)) as HostInfo;
    },
    close() {
      connections.close();
    },
  };
}

/** The connection of one client to the host of a folder: that which is open, or a new one. */
function connectionsTo(modelsFolder: string): {
  /** Whoever asks while a connection is made waits for the same; what is no `model` makes none. */
  current(address: HostAddress, model: string | undefined): Promise<Connection>;
  close(): void;
} {
  let connecting: Promise<Connection> | undefined;
  return {
    current(address, model) {
      const earlier = connecting;
      connecting = (async () => {
        const present = await earlier?.catch(() => undefined);
        if (present?.isOpen() === true) return present;
        // No host needs to be started, which takes seconds on a busy machine, to say that a file is no model.
        if (model !== undefined) await checkGguf(model);
        return openConnection(address, modelsFolder);
      })();
      return connecting;
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

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
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

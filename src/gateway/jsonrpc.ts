import { asMemqError, messageOf } from "../errors.ts";
import { isObject } from "../json.ts";
import { eventRounds } from "../event-rounds.ts";
import { shortened } from "../printable.ts";
import type { Frame } from "./framing.ts";

/** Error numbers of JSON-RPC 2.0, of LSP (not initialised, cancelled), and ours for everything else that fails. */
export const RPC_ERRORS = {
  parse: -32700,
  invalidRequest: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
  notInitialized: -32002,
  failed: -32001,
  cancelled: -32800,
} as const;

/** An error with a number of its own on the wire; every other error becomes `failed` with `data: {code, hint}`. */
export class RpcError extends Error {
  readonly number: number;
  readonly data: Record<string, unknown> | undefined;

  constructor(kind: keyof typeof RPC_ERRORS | number, message: string, data?: Record<string, unknown>) {
    super(shortened(message));
    this.name = "RpcError";
    this.number = typeof kind === "number" ? kind : RPC_ERRORS[kind];
    this.data = data;
  }
}

export type RequestId = string | number | null;

/** What a method is told about the call it serves. */
export type Call = {
  /** Undefined for a notification. */
  id: RequestId | undefined;
  /** Aborted by `$/cancelRequest` and at the end of the session. */
  signal: AbortSignal;
};

export type Connection = {
  /** Takes one message; never waits for the work it starts. */
  receive(frame: Frame): void;
  notify: (method: string, params: unknown) => void;
  /** Aborts the request with this id, if it is still running. */
  cancel(id: unknown): void;
  cancelAll(): void;
  /** Refuses every request that comes from now on, and passes over notifications; what came before goes on. */
  close(): void;
  /** Resolves when no request is running any more. */
  settled(): Promise<void>;
};

export type Message = { id: RequestId | undefined; method: string; params: Record<string, unknown> };

type ConnectionOptions = {
  handle: (method: string, params: Record<string, unknown>, call: Call) => unknown;
  send: (json: string) => void;
  /** Told about notifications that failed, since nobody else is. */
  log: (sentence: string) => void;
  /** Why several messages in one array are refused; null where they are answered by one array. Refused unless set. */
  refusesBatch?: (messages: readonly unknown[]) => string | null;
  /** A request that its caller cancelled gets no answer any more. */
  silentOnCancel?: boolean;
};

/** What ends the requests that run or wait for their turn, by their ids; two may have the same. */
type Running = Map<string, Set<AbortController>>;

type Serving = ConnectionOptions & {
  running: Running;
  /** Resolves when the next request may begin. */
  turn: () => Promise<void>;
  /** No further request is taken. */
  closed: boolean;
};

/** Take no time and are asked for while others wait: they pass. */
const PASSING = new Set(["ping", "shutdown", "$/cancelRequest", "notifications/cancelled"]);

/**
 * One JSON-RPC 2.0 peer that serves requests concurrently (https://www.jsonrpc.org/specification): `handle` runs for every request and
 * notification, `send` takes each outgoing message as JSON text.
 */
export function openConnection(options: ConnectionOptions): Connection {
  const { send, refusesBatch = () => NO_BATCHES } = options;
  const running: Running = new Map();
  const serving: Serving = { ...options, running, turn: eventRounds(), closed: false };
  const work = new Set<Promise<void>>();

  function sendWhenDone(answering: Promise<Answer | Answer[] | null>): void {
    const task = (async () => {
      const answer = await answering;
      if (answer !== null) send(JSON.stringify(answer));
    })();
    work.add(task);
    void task.finally(() => work.delete(task));
  }

  return {
    receive(frame) {
      const parsed = parseFrame(frame);
      if ("value" in parsed && Array.isArray(parsed.value) && parsed.value.length > 0) {
        const refusal = refusesBatch(parsed.value);
        if (refusal === null) sendWhenDone(answersTo(parsed.value, serving));
        else send(JSON.stringify(refused(refuse(null, "invalidRequest", refusal))));
        return;
      }
      const message = "fault" in parsed ? refuse(null, "parse", parsed.fault) : taken(parsed.value, serving);
      if (message === null) return;
      if ("error" in message) send(JSON.stringify(refused(message)));
      else sendWhenDone(answerTo(message, serving));
    },
    notify: (method, params) => send(JSON.stringify({ jsonrpc: "2.0", method, params })),
    cancel(id) {
      if (id !== undefined) running.get(idKey(id))?.forEach((controller) => controller.abort());
    },
    cancelAll: () => running.forEach((controllers) => controllers.forEach((controller) => controller.abort())),
    close() {
      serving.closed = true;
    },
    async settled() {
      while (work.size > 0) await Promise.all(work);
    },
  };
}

/** The answer to a message, null where none is due. */
async function answerTo(
  { id, method, params }: Message,
  { running, turn, handle, log, silentOnCancel = false }: Serving,
): Promise<Answer | null> {
  const controller = new AbortController();
  const key = idKey(id);
  const { signal } = controller;
  const begin = async (): Promise<unknown> => {
    if (!PASSING.has(method)) await turn();
    return signal.aborted ? undefined : handle(method, params, { id, signal });
  };
  // Notifications too: nobody can cancel them, but the end of the session ends them.
  running.set(key, (running.get(key) ?? new Set()).add(controller));
  try {
    // A cancelled request is answered at once, even when what it started can only end by itself.
    const result = await Promise.race([begin(), rejectedOnAbort(signal)]);
    return id === undefined ? null : { jsonrpc: "2.0", id, result: result ?? {} };
  } catch (error) {
    const body = errorBody(error);
    if (id === undefined) log(`${method}: ${body.message}`);
    if (id === undefined || (silentOnCancel && signal.aborted)) return null;
    return { jsonrpc: "2.0", id, error: body };
  } finally {
    const others = running.get(key);
    others?.delete(controller);
    if (others?.size === 0) running.delete(key);
  }
}

/** The answers to the messages of one array, null where none is due. */
async function answersTo(values: unknown[], serving: Serving): Promise<Answer[] | null> {
  const answers = await Promise.all(
    values.map(async (value) => {
      const message = taken(value, serving);
      return message === null || "error" in message ? message && refused(message) : answerTo(message, serving);
    }),
  );
  const due = answers.filter((answer) => answer !== null);
  return due.length === 0 ? null : due;
}

/** The message that a value is. When no further one is taken a request is refused, and of notifications those that cancel count. */
function taken(value: unknown, { closed, log }: Serving): ReadMessage {
  const message = readMessage(value);
  if (!closed || message === null || "error" in message) return message;
  if (message.id !== undefined) return refuse(message.id, "invalidRequest", ENDING);
  if (PASSING.has(message.method)) return message;
  log(`${message.method}: ${ENDING}`);
  return null;
}

function refused(message: { id: RequestId; error: ErrorBody }): Answer {
  return { jsonrpc: "2.0", ...message };
}

function rejectedOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new RpcError("cancelled", "the request was cancelled")), {
      once: true,
    });
  });
}

/** Ids 1 and "1" are different requests, and notifications have none. */
function idKey(id: unknown): string {
  return JSON.stringify(id) ?? "";
}

/** The JSON value in a frame, or what is wrong with it. */
function parseFrame(frame: Frame): { value: unknown } | { fault: string } {
  if ("fault" in frame) return frame;
  try {
    return { value: JSON.parse(frame.text) };
  } catch (error) {
    return { fault: `the message is not JSON: ${messageOf(error)}` };
  }
}

const MAX_ID = Number.MAX_SAFE_INTEGER;
const ENDING = "the session is ending";
const NO_BATCHES = "batches are not supported; send one message at a time";

export type ReadMessage = Message | { id: RequestId; error: ErrorBody } | null;

/** The request or notification that a value is, an error to answer at once, or null for an answer to something we never asked. */
export function readMessage(value: unknown): ReadMessage {
  if (Array.isArray(value))
    return refuse(
      null,
      "invalidRequest",
      value.length === 0 ? "an empty batch is no request" : "a batch holds no batch",
    );
  if (!isObject(value)) return refuse(null, "invalidRequest", "a message is a JSON object");
  const id = isRequestId(value["id"]) ? value["id"] : null;
  if (!("method" in value) && ("result" in value || "error" in value)) return null;
  if ("id" in value && !isRequestId(value["id"]))
    return refuse(null, "invalidRequest", "id is a string, a number that is kept exactly, or null");
  if (value["jsonrpc"] !== "2.0") return refuse(id, "invalidRequest", 'jsonrpc must be "2.0"');
  const method = value["method"];
  if (typeof method !== "string") return refuse(id, "invalidRequest", "method must be a string");
  const params = value["params"] ?? {};
  if (!isObject(params)) {
    // A notification gets no answer, whatever is wrong with it.
    return "id" in value ? refuse(id, "invalidParams", "params are passed by name, as an object") : null;
  }
  return { id: "id" in value ? id : undefined, method, params };
}

/** What is sent back for a request. */
export type Answer = { jsonrpc: "2.0"; id: RequestId } & ({ result: unknown } | { error: ErrorBody });

export type ErrorBody = { code: number; message: string; data?: Record<string, unknown> };

function refuse(id: RequestId, kind: keyof typeof RPC_ERRORS, message: string): { id: RequestId; error: ErrorBody } {
  return { id, error: { code: RPC_ERRORS[kind], message } };
}

/** What a caller is told about a failure. */
export function errorBody(error: unknown): ErrorBody {
  if (error instanceof RpcError) {
    return { code: error.number, message: error.message, ...(error.data === undefined ? {} : { data: error.data }) };
  }
  const { code, message, hint } = asMemqError(error);
  return { code: RPC_ERRORS.failed, message, data: { code, ...(hint === undefined ? {} : { hint }) } };
}

/** A number beyond those that are kept exactly would come back as another one, which nobody waits for. */
function isRequestId(value: unknown): value is RequestId {
  return value === null || typeof value === "string" || (typeof value === "number" && Math.abs(value) <= MAX_ID);
}

import type { Answer, Message, RequestId } from "../jsonrpc.ts";
import { errorBody, readMessage, RPC_ERRORS, RpcError } from "../jsonrpc.ts";
import type { Era } from "./protocol.ts";
import {
  batchRefusal,
  claimsModern,
  eraOf,
  MCP_ERRORS,
  metaOf,
  missingMeta,
  MODERN_VERSION,
  SUPPORTED_VERSIONS,
  unsupportedVersion,
  VERSION_KEY,
} from "./protocol.ts";
import type { Identity } from "./server.ts";
import { answerRequest } from "./server.ts";
import type { McpSurface } from "./surface.ts";

type RequestMessage = Message & { id: string | number };

/** They run at once: more messages than this in one body are refused. */
const MAX_BATCH = 100;

/** Methods whose subject stands in the `Mcp-Name` header too. */
const NAMED: Record<string, string> = { "tools/call": "name", "prompts/get": "name", "resources/read": "uri" };

type Context = {
  surface: McpSurface;
  identity: Identity;
  /** Ends what runs. */
  signal: AbortSignal;
  /** Is told of what is still at work when the answer has begun. */
  keep: (task: Promise<unknown>) => void;
};

/**
 * Answers one POST to the MCP endpoint (Streamable HTTP of 2025-03-26 to 2026-07-28) without keeping anything of it: an older client
 * may begin with any method.
 */
export async function answerPost(request: Request, body: string, context: Context): Promise<Response> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return badRequest(null, new RpcError("parse", "Parse error"));
  }
  const batch = Array.isArray(value) && value.length > 0 ? (value as unknown[]) : null;
  const fault = batch === null ? null : batchFault(batch, request.headers);
  if (fault !== null) return badRequest(null, new RpcError("invalidRequest", `Invalid Request: ${fault}`));
  const read = (batch ?? [value]).map(readMessage).filter((message) => message !== null);
  const refused = read.find((message) => "error" in message);
  if (refused !== undefined) return json(400, { jsonrpc: "2.0", ...refused });
  const served = read.flatMap((message) => ("error" in message ? [] : [message]));

  try {
    const eras = served.map((message) => eraOfPost(request.headers, message));
    const requests = served.filter(hasId);
    if (requests.length === 0) return new Response(null, { status: 202 });
    const work = { ...context, requests, era: eras[0] ?? "legacy" };
    return wantsStream(request.headers, work.era, requests) ? streamed(work) : await whole(work, batch !== null);
  } catch (error) {
    const [only] = served;
    return badRequest(batch === null ? (only?.id ?? null) : null, error);
  }
}

function badRequest(id: RequestId, error: unknown): Response {
  return json(400, { jsonrpc: "2.0", id, error: errorBody(error) });
}

/** What is wrong with several messages in one body, or null. */
function batchFault(messages: readonly unknown[], headers: Headers): string | null {
  if (messages.length > MAX_BATCH) return `a batch holds at most ${MAX_BATCH} messages`;
  const named = headers.get("mcp-protocol-version");
  // One that we don't know is refused by its own error.
  return batchRefusal(named !== null && SUPPORTED_VERSIONS.includes(named) ? named : null, messages);
}

type Work = Context & { requests: RequestMessage[]; era: Era };

function hasId(message: Message): message is RequestMessage {
  if (message.id === null) throw new RpcError("invalidRequest", "id must be a string or a number");
  return message.id !== undefined;
}

/** The era of a message by its body, with the headers checked against it. */
function eraOfPost(headers: Headers, { id, method, params }: Message): Era {
  const named = headers.get("mcp-protocol-version");
  const claimed = metaOf(params)[VERSION_KEY];
  if (named !== null && typeof claimed === "string" && claimed !== named) {
    throw mismatch(`MCP-Protocol-Version header value '${named}' does not match body value '${claimed}'`);
  }
  if (!claimsModern(params)) {
    if (named !== null && !SUPPORTED_VERSIONS.includes(named)) throw unsupportedVersion(named);
    if (named === MODERN_VERSION && id !== undefined) throw missingMeta();
    return "legacy";
  }
  const era = eraOf(params);
  if (era === "modern" && id !== undefined) checkStandardHeaders(headers, method, params, named);
  return era;
}

/** Throws −32020 unless the headers say what the body says (specification 2026-07-28, Streamable HTTP, Request Metadata). */
function checkStandardHeaders(
  headers: Headers,
  method: string,
  params: Record<string, unknown>,
  version: string | null,
): void {
  if (version === null) throw mismatch("MCP-Protocol-Version header is missing");
  const methodHeader = headers.get("mcp-method");
  if (methodHeader === null) throw mismatch("Mcp-Method header is missing");
  if (methodHeader !== method)
    throw mismatch(`Mcp-Method header value '${methodHeader}' does not match body value '${method}'`);
  const source = NAMED[method];
  if (source === undefined) return;
  const name = headers.get("mcp-name");
  if (name === null) throw mismatch("Mcp-Name header is missing");
  const given = params[source];
  if (decodedName(name) !== given)
    throw mismatch(`Mcp-Name header value '${name}' does not match body value '${String(given)}'`);
}

/** A name that plain ASCII can't hold comes in base64 between marks. */
function decodedName(value: string): string {
  const encoded = /^=\?base64\?(.*)\?=$/s.exec(value)?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, "base64").toString("utf8");
}

function mismatch(sentence: string): RpcError {
  return new RpcError(MCP_ERRORS.headerMismatch, `Header mismatch: ${sentence}`);
}

/** Whether an `Accept` names event streams, other than to refuse them. */
function acceptsStream(accept: string): boolean {
  const named = accept.split(",").find((range) => /^\s*text\/event-stream\s*(?:;|$)/i.test(range));
  return named !== undefined && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(named);
}

/** Older clients are answered by a stream, newer ones only where progress is to be told. */
function wantsStream(headers: Headers, era: Era, requests: readonly RequestMessage[]): boolean {
  if (!acceptsStream(headers.get("accept") ?? "")) return false;
  return era === "legacy" || requests.some(({ params }) => "progressToken" in metaOf(params));
}

async function answerOf(work: Work, request: RequestMessage, notify: (json: string) => void): Promise<Answer> {
  const { surface, identity, signal, era } = work;
  const { id, method, params } = request;
  try {
    const call = {
      method,
      params,
      era,
      signal,
      notify: (name: string, about: object) => notify(JSON.stringify({ jsonrpc: "2.0", method: name, params: about })),
    };
    const result = await Promise.race([answerRequest(surface, call, identity), ended(signal)]);
    return { jsonrpc: "2.0", id, result };
  } catch (error) {
    return { jsonrpc: "2.0", id, error: errorBody(error) };
  }
}

function ended(signal: AbortSignal): Promise<never> {
  const late = (): RpcError => {
    const why =
      signal.reason instanceof Error && signal.reason.name === "Error" ? signal.reason.message : "it took too long";
    return new RpcError(MCP_ERRORS.internal, `The request was given up: ${why}.`);
  };
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(late());
    signal.addEventListener("abort", () => reject(late()), { once: true });
  });
}

async function whole(work: Work, isBatch: boolean): Promise<Response> {
  const answers = await Promise.all(work.requests.map((request) => answerOf(work, request, () => {})));
  const [first] = answers;
  if (isBatch || first === undefined) return json(200, answers);
  const unknown = "error" in first && first.error.code === RPC_ERRORS.unknownMethod;
  return json(unknown && work.era === "modern" ? 404 : 200, first);
}

/** Between two signs of life on a stream that says nothing else. */
const KEEP_ALIVE_MS = 15_000;

/** An event per message: notifications as they come, then the answers. Whoever closes the stream wants no answer any more. */
function streamed(work: Work): Response {
  const encoder = new TextEncoder();
  const gone = new AbortController();
  const signal = AbortSignal.any([work.signal, gone.signal]);
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      const write = (text: string): void => {
        if (!gone.signal.aborted) controller.enqueue(encoder.encode(text));
      };
      const send = (json: string): void => write(`event: message\ndata: ${json}\n\n`);
      // A comment, so that the headers go out now and the connection is known to be alive.
      write(":\n\n");
      const alive = setInterval(() => write(":\n\n"), KEEP_ALIVE_MS);
      const answer = async (request: RequestMessage): Promise<void> =>
        send(JSON.stringify(await answerOf({ ...work, signal }, request, send)));
      const all = Promise.all(work.requests.map(answer)).finally(() => {
        clearInterval(alive);
        if (!gone.signal.aborted) controller.close();
      });
      work.keep(all);
    },
    cancel: () => gone.abort(),
  });
  return new Response(stream, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no" },
  });
}

/** An HTTP answer whose body is JSON. */
export function json(status: number, value: object, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json", ...headers } });
}

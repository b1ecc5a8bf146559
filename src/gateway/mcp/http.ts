import { MemqError, messageOf, reasonOf } from "../../errors.ts";
import { expectMuchWork } from "../../long-running.ts";
import { memoryReleaser } from "../idle.ts";
import { RPC_ERRORS } from "../jsonrpc.ts";
import type { Access } from "./guards.ts";
import { hasToken, refusalOf } from "./guards.ts";
import { answerPost, json } from "./post.ts";
import type { Identity } from "./server.ts";
import type { McpSurface } from "./surface.ts";

/** Largest body of a request, in bytes. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** A body must have arrived after this time. */
const BODY_MS = 10_000;
/** A request is given up after this time. */
const REQUEST_MS = 120_000;

export type HttpOptions = {
  surface: McpSurface;
  identity: Identity;
  access: Access;
  port: number;
  /** Told of each request: method, path and duration, never what was asked. */
  log: (line: string) => void;
  limits?: { bodyMs?: number; requestMs?: number };
};

export type HttpServer = {
  /** Address of the MCP endpoint. */
  url: string;
  /** Takes no more requests, and resolves when those that run have been answered or given up. */
  stop(): Promise<void>;
};

/** Serves MCP over HTTP until it is stopped. Throws `PORT_IN_USE`, `HOST_UNKNOWN`. */
export function startHttp(options: HttpOptions): HttpServer {
  expectMuchWork();
  const { access, log } = options;
  const stopping = new AbortController();
  const running = new Set<Promise<unknown>>();
  const keep = (task: Promise<unknown>): void => {
    running.add(task);
    void Promise.allSettled([task]).then(() => running.delete(task));
  };
  /** What runs may begin more: a call is at work on when its answer has begun. */
  const settled = async (): Promise<void> => {
    while (running.size > 0) await Promise.allSettled(running);
  };
  const startedAt = performance.now();
  const working = memoryReleaser();
  const uptime = (): number => Math.floor((performance.now() - startedAt) / 1000);

  async function timed(request: Request): Promise<Response> {
    const began = performance.now();
    working();
    const task = route(request, options, { stopping: stopping.signal, keep, uptime });
    keep(task);
    try {
      return await task;
    } finally {
      log(`${clock()} ${request.method} ${pathOf(request)} (${Math.round(performance.now() - began)}ms)`);
    }
  }

  const server = listen(access.host, options.port, timed, log);
  const shown = access.host.includes(":") && !access.host.startsWith("[") ? `[${access.host}]` : access.host;
  return {
    url: `http://${shown}:${server.port}/mcp`,
    async stop() {
      const closed = server.stop();
      await Promise.race([settled(), Bun.sleep(700)]);
      stopping.abort(new Error("the server is stopping"));
      await Promise.race([closed, Bun.sleep(200)]);
      await server.stop(true);
    },
  };
}

function listen(
  host: string,
  port: number,
  fetch: (request: Request) => Promise<Response>,
  log: (line: string) => void,
): Bun.Server<undefined> {
  try {
    return Bun.serve({
      hostname: host === "*" || host === "" ? "0.0.0.0" : host.replace(/^\[|\]$/g, ""),
      port,
      maxRequestBodySize: MAX_BODY_BYTES,
      // An answer may take longer than a client is silent.
      idleTimeout: 255,
      fetch,
      error(error) {
        log(`${clock()} ${messageOf(error)}`);
        return new Response("Internal Server Error", { status: 500 });
      },
    });
  } catch (error) {
    if ((error as { code?: string }).code === "EADDRINUSE") {
      throw new MemqError("PORT_IN_USE", `Port ${port} already in use. Try a different port with --port.`, {
        cause: error,
      });
    }
    throw new MemqError("HOST_UNKNOWN", `The server can't listen on ${host}:${port}: ${reasonOf(error)}.`, {
      hint: "Give an address of this machine with --host.",
      cause: error,
    });
  }
}

type Serving = {
  stopping: AbortSignal;
  /** Is told of what a stop waits for, beyond the beginning of an answer. */
  keep: (task: Promise<unknown>) => void;
  uptime: () => number;
};

async function route(request: Request, options: HttpOptions, serving: Serving): Promise<Response> {
  const { surface, identity, access, limits = {} } = options;
  const pathname = pathOf(request);
  const refusal = refusalOf(request, access);
  if (refusal !== null) return rpcError(403, -32003, `Forbidden: ${refusal}`);
  if (pathname === "/health" && /^(?:GET|HEAD)$/.test(request.method))
    return json(200, { status: "ok", uptime: serving.uptime() });
  if (!hasToken(request, access)) {
    return json(401, { error: "A bearer token is required" }, { "www-authenticate": 'Bearer realm="memq"' });
  }
  const isQuery = surface.search !== undefined && (pathname === "/query" || pathname === "/search");
  if (pathname === "/mcp" && request.method !== "POST") {
    return rpcError(405, -32000, "Method not allowed.", { allow: "POST" });
  }
  if (pathname !== "/mcp" && !(isQuery && request.method === "POST")) return new Response("Not Found", { status: 404 });
  if (pathname === "/mcp" && !isJson(request.headers.get("content-type") ?? "")) {
    return rpcError(415, -32000, "Unsupported Media Type: Content-Type must be application/json");
  }
  const body = await bodyOf(request, limits.bodyMs ?? BODY_MS);
  if (body instanceof Response) return body;
  const late = AbortSignal.timeout(limits.requestMs ?? REQUEST_MS);
  const signal = AbortSignal.any([request.signal, late, serving.stopping]);
  if (pathname === "/mcp") return answerPost(request, body, { surface, identity, signal, keep: serving.keep });
  return answerSearch(surface, body, options.log);
}

/** Whether a `Content-Type` is `application/json`, whatever its parameters. */
function isJson(contentType: string): boolean {
  return /^\s*application\/json\s*(?:;|$)/i.test(contentType);
}

/** The path asked for; a `Host` that is no host leaves the request without a whole address. */
function pathOf(request: Request): string {
  return URL.parse(request.url, "http://localhost")?.pathname ?? "";
}

/** The body as text, or the answer to one that is too large, too slow or not UTF-8. */
async function bodyOf(request: Request, ms: number): Promise<string | Response> {
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY_BYTES) return tooLarge();
  const timer = Promise.withResolvers<null>();
  const timeout = setTimeout(() => timer.resolve(null), ms);
  try {
    const bytes = await Promise.race([request.bytes(), timer.promise]);
    // What may still come belongs to this request: the connection is of no further use.
    if (bytes === null) return rpcError(408, -32000, "Request Timeout", { connection: "close" });
    if (bytes.length > MAX_BODY_BYTES) return tooLarge();
    return decoded(bytes) ?? rpcError(400, RPC_ERRORS.parse, "Parse error: the body is not UTF-8");
  } catch {
    // Bun reads no body beyond its limit, which one without a length may be; whoever broke off gets no answer anyway.
    return tooLarge();
  } finally {
    clearTimeout(timeout);
  }
}

/** Text of UTF-8 bytes, null when they are none: what merely looked like it would be searched for with signs put in. */
function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function tooLarge(): Response {
  return rpcError(413, -32000, `Payload Too Large: at most ${MAX_BODY_BYTES} bytes`);
}

async function answerSearch(surface: McpSurface, body: string, log: (line: string) => void): Promise<Response> {
  try {
    const value = JSON.parse(body) as Record<string, unknown> | null;
    if (!Array.isArray(value?.["searches"])) return json(400, { error: "Missing required field: searches (array)" });
    return json(200, (await surface.search?.(value)) ?? { results: [] });
  } catch (error) {
    if (error instanceof MemqError && error.code === "BAD_ARGUMENTS") return json(400, { error: error.message });
    log(`${clock()} ${messageOf(error)}`);
    return new Response("Internal Server Error", { status: 500 });
  }
}

function rpcError(status: number, code: number, message: string, headers: Record<string, string> = {}): Response {
  return json(status, { jsonrpc: "2.0", error: { code, message }, id: null }, headers);
}

function clock(): string {
  const now = new Date();
  return `${now.toTimeString().slice(0, 8)}.${String(now.getMilliseconds()).padStart(3, "0")}`;
}

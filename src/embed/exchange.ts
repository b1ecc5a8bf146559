import type { Clock } from "./clock.ts";
import { MemqError, messageOf } from "../errors.ts";
import { EmbedError, redacted, shortBody, type EmbedErrorKind } from "./errors.ts";
import { guardedFetch, transportError, type HttpContext } from "./http.ts";

/** One JSON request of one provider. */
export type Exchange = {
  method?: "GET" | "POST";
  url: string;
  headers: Record<string, string>;
  /** Sent as it is; objects are printed as JSON. */
  body?: string | Uint8Array<ArrayBuffer> | object;
  signal: AbortSignal;
  secrets: readonly string[];
  /** Provider id for hints. */
  provider: string;
  /** Begins the sentence of a failure, before status and body: `openai embeddings failed:`, `Ollama embeddings HTTP`. */
  failure: string;
};

/** What requests need besides themselves. */
export type ExchangeContext = { http: HttpContext; clock: Clock };

const MAX_ERROR_BODY = 16_384;
/** Of JSON. A request carries some kilobytes of text, and one that is answered with more for good reason is halved. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;
/** Of one line of a file that a batch job made: a vector of some ten thousand numbers. */
const MAX_LINE_CHARS = 512 * 1024;

/** The parsed JSON of a successful answer. Throws `EmbedError` for any other, sorted by what may be done about it. */
export async function requestJson(exchange: Exchange, context: ExchangeContext): Promise<unknown> {
  const text = await requested(exchange, context, (response) => wholeText(response, exchange));
  try {
    return JSON.parse(text);
  } catch {
    throw malformed(exchange, `the answer is not JSON (${shortBody(text, exchange.secrets).slice(0, 80)})`);
  }
}

/**
 * The lines of a successful answer one after the other, however long it is; `onLine` is awaited, and what it throws ends the request.
 * Throws as `requestJson` does.
 */
export function requestLines(
  exchange: Exchange,
  context: ExchangeContext,
  onLine: (line: string) => Promise<void>,
): Promise<void> {
  return requested(exchange, context, async (response) => {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const bytes of response.body ?? []) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > MAX_LINE_CHARS)
        throw malformed(exchange, `a line of the file is longer than ${MAX_LINE_CHARS / 1024} KB`);
      for (const line of lines) await onLine(line);
    }
    await onLine(rest + decoder.decode());
  });
}

/** What `read` makes of a successful answer. Throws as `requestJson` does. */
async function requested<T>(
  exchange: Exchange,
  context: ExchangeContext,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const { secrets, signal } = exchange;
  const method = exchange.method ?? (exchange.body === undefined ? "GET" : "POST");
  const body = sentBody(exchange);
  const tell = debugLog(method, body?.length ?? 0, exchange, context);
  const response = await guardedFetch(
    { method, url: exchange.url, headers: exchange.headers, signal, secrets, body },
    context.http,
  ).catch((error: unknown) => {
    tell(messageOf(error));
    throw error;
  });
  tell(String(response.status));
  try {
    if (response.ok) return await read(response);
    throw answerError(exchange, response, await beginning(response), context.clock);
  } catch (error) {
    if (error instanceof MemqError || signal.aborted) throw error;
    throw transportError(error, new URL(exchange.url), secrets);
  }
}

function sentBody({ body }: Exchange): string | Uint8Array<ArrayBuffer> | undefined {
  return typeof body !== "object" || body instanceof Uint8Array ? body : JSON.stringify(body);
}

/**
 * With `OPENCLAW_DEBUG_MEMORY_EMBEDDINGS=1`, says on stderr what became of a request: where it went, its size and how long it took.
 * Headers, queries of addresses and texts are never among it.
 */
function debugLog(
  method: string,
  size: number,
  { url, secrets, provider }: Exchange,
  { http, clock }: ExchangeContext,
): (outcome: string) => void {
  if (!/^(1|true|yes|on)$/i.test(http.env["OPENCLAW_DEBUG_MEMORY_EMBEDDINGS"] ?? "")) return () => {};
  const started = clock.now();
  const { origin, pathname } = new URL(url);
  return (outcome) => {
    const line = `memory embeddings: ${provider} ${method} ${origin}${pathname} ${size} B: ${outcome} in ${clock.now() - started} ms`;
    process.stderr.write(`${redacted(line, secrets)}\n`);
  };
}

/** The body of an answer; one without an end must not fill the memory. */
async function wholeText(response: Response, exchange: Exchange): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const bytes of response.body ?? []) {
    size += bytes.length;
    if (size > MAX_JSON_BYTES) throw malformed(exchange, `the answer is longer than ${MAX_JSON_BYTES / 2 ** 20} MB`);
    chunks.push(bytes);
  }
  return new TextDecoder().decode(Buffer.concat(chunks, size));
}

/** The first kilobytes of an error's body: all that can be of use, however much a server sends. */
async function beginning(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length >= MAX_ERROR_BODY) break;
  }
  return text.slice(0, MAX_ERROR_BODY);
}

/** Whether a service did not accept the keys that were sent. */
function isUnauthorised(error: unknown): boolean {
  return error instanceof EmbedError && (error.status === 401 || error.status === 403);
}

/**
 * Runs `attempt`; when short-lived keys are no longer accepted, once more with fresh ones, if `renew` says that there may be
 * others than before.
 */
export async function withFreshKeys<T>(renew: () => Promise<boolean> | boolean, attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (!isUnauthorised(error) || !(await renew())) throw error;
    return attempt();
  }
}

/** A reply that came and does not hold together. */
export function malformed(exchange: Pick<Exchange, "failure">, what: string): EmbedError {
  return new EmbedError("malformed", `${exchange.failure.replace(/ HTTP$/, " failed:")} malformed response: ${what}.`);
}

function answerError(exchange: Exchange, response: Response, body: string, clock: Clock): EmbedError {
  const { status } = response;
  const colon = exchange.failure.endsWith(":") ? "" : ":";
  const retryAfterMs = askedDelay(response.headers, body, clock.now());
  const kind = kindOf(status, body, retryAfterMs);
  const message = `${exchange.failure} ${status}${colon} ${shortBody(body, exchange.secrets)}`.trimEnd();
  const isLong = retryAfterMs !== undefined && retryAfterMs > 60_000;
  const wait = `The service asks to wait ${Math.ceil((retryAfterMs ?? 0) / 1000)} s.`;
  const hint = isLong ? wait : hintFor(exchange.provider, status, kind);
  return new EmbedError(kind, message, {
    status,
    hint,
    retryAfterMs,
  });
}

/** An exhausted quota looks like a rate limit but does not pass by itself within minutes. */
const QUOTA =
  /insufficient_quota|quota.{0,40}(exceeded|exhausted)|exceeded.{0,40}quota|billing|credit balance|payment/i;
/** Google says so with 400. */
const BAD_KEY = /API_KEY_INVALID|api.?key not valid|(invalid|incorrect|missing|expired) api.?key/i;
const RATE = /rate.?limit|too many requests|resource has been exhausted|tokens per (day|minute)|throttl/i;

function kindOf(status: number, body: string, retryAfterMs: number | undefined): EmbedErrorKind {
  if (status === 429) return QUOTA.test(body) && retryAfterMs === undefined && !RATE.test(body) ? "fatal" : "rate";
  if (status === 408 || status === 424 || status === 425 || status >= 500)
    return retryAfterMs === undefined ? "transient" : "rate";
  if (status === 400 && /throttl/i.test(body)) return "rate";
  if (status === 400 && BAD_KEY.test(body)) return "fatal";
  return status === 400 || status === 413 || status === 422 ? "refused" : "fatal";
}

function hintFor(provider: string, status: number, kind: EmbedErrorKind): string | undefined {
  if (status === 401 || status === 403) return `Check the key of provider "${provider}" and what it is allowed to do.`;
  if (status === 404) return `Check the model's name and the base URL of provider "${provider}".`;
  if (status === 402 || (status === 429 && kind === "fatal")) return `The quota of provider "${provider}" is used up.`;
  return status === 400 && kind === "fatal" ? `Check the key of provider "${provider}".` : undefined;
}

/** The wait an answer asks for: OpenAI's `retry-after-ms`, `Retry-After`, or the `retryDelay` in a Google error's details. */
function askedDelay(headers: Headers, body: string, now: number): number | undefined {
  const ms = headers.get("retry-after-ms");
  if (ms !== null && /^\d+(\.\d+)?$/.test(ms)) return Number(ms);
  const header = retryAfter(headers.get("retry-after"), now);
  if (header !== undefined) return header;
  const google = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1];
  return google === undefined ? undefined : Number(google) * 1000;
}

/** Milliseconds that a `Retry-After` header asks for: seconds or an HTTP date (RFC 9110, section 10.2.3). */
export function retryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const value = header.trim();
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

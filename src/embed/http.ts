import { lookup as dnsLookup } from "node:dns/promises";
import { EmbedError, redacted } from "./errors.ts";
import { bareHost, isPrivateHost } from "./hosts.ts";
import { proxyFor } from "./proxy.ts";

/** The part of `fetch` that is used, so that tests can stand in. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What every request of this process shares. */
export type HttpContext = {
  fetch: Fetch;
  env: Readonly<Record<string, string | undefined>>;
  /** Addresses of a host name. */
  lookup: (host: string) => Promise<string[]>;
};

export type HttpRequest = {
  method: "GET" | "POST";
  url: string;
  /** Keys and configured headers: they stay behind when a redirect leaves the origin. */
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
  signal: AbortSignal;
  /** Never printed. */
  secrets: readonly string[];
};

const MAX_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Headers that say what the body is, and nothing about who sends it. */
const NEUTRAL_HEADERS = new Set(["content-type", "accept"]);

/** The real network and environment, or what stands in for them. */
export function httpContext(options: Partial<HttpContext> = {}): HttpContext {
  return {
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    env: options.env ?? process.env,
    lookup: options.lookup ?? (async (host) => (await dnsLookup(host, { all: true })).map((found) => found.address)),
  };
}

/**
 * One request, redirects followed by hand: http and https only, at most three, never from https to http, never from another
 * host into a private network, and without keys or configured headers once the origin (scheme, host, port) is another.
 * Throws `EmbedError`: `transient` when there was no connection, `fatal` for a redirect that is refused. Aborting the
 * signal rejects with the signal's reason.
 */
export async function guardedFetch(request: HttpRequest, context: HttpContext): Promise<Response> {
  const start = httpUrl(request.url, request.secrets);
  let url = start;
  let { method, headers, body } = request;
  for (let redirects = 0; ; redirects++) {
    const response = await send(url, { method, headers, body }, request, context);
    const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
    if (location === null) return response;
    await response.body?.cancel();
    if (redirects === MAX_REDIRECTS) {
      throw new EmbedError("fatal", `${start.origin} redirects more than ${MAX_REDIRECTS} times.`);
    }
    const next = redirectTarget(location, url, request.secrets);
    if (next.origin !== url.origin) {
      await refuseUnsafe(next, url, start, context);
      headers = Object.fromEntries(Object.entries(headers).filter(([name]) => NEUTRAL_HEADERS.has(name.toLowerCase())));
    }
    if (response.status === 303) [method, body] = ["GET", undefined];
    url = next;
  }
}

function httpUrl(text: string, secrets: readonly string[]): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new EmbedError("fatal", `"${redacted(text, secrets)}" is not an http or https address.`, {
      hint: "Set the provider's base URL to something like https://host/v1.",
    });
  }
  return url;
}

function redirectTarget(location: string, from: URL, secrets: readonly string[]): URL {
  if (!URL.canParse(location, from.href))
    throw new EmbedError("fatal", `${from.origin} redirects to no address at all.`);
  const target = httpUrl(new URL(location, from).href, secrets);
  // A user name and password in the target would be credentials that somebody else chose.
  target.username = "";
  target.password = "";
  return target;
}

async function refuseUnsafe(next: URL, from: URL, start: URL, context: HttpContext): Promise<void> {
  const refuse = (why: string): never => {
    throw new EmbedError("fatal", `${from.origin} redirects to ${next.origin}, ${why}; not followed.`, {
      hint: "Set the provider's base URL to the address that is meant.",
    });
  };
  if (from.protocol === "https:" && next.protocol === "http:") refuse("which is not encrypted");
  if (bareHost(next.hostname) === bareHost(start.hostname)) return;
  if (isPrivateHost(next.hostname)) refuse("which is in a private network");
  if (proxyFor(next, context.env) !== false) return;
  const addresses = await context.lookup(bareHost(next.hostname)).catch(() => []);
  if (addresses.some(isPrivateHost)) refuse("whose address is in a private network");
}

async function send(
  url: URL,
  parts: Pick<HttpRequest, "method" | "headers" | "body">,
  request: HttpRequest,
  context: HttpContext,
): Promise<Response> {
  const proxy = proxyFor(url, context.env);
  const init = { ...parts, redirect: "manual", signal: request.signal, proxy };
  try {
    // The runtime takes `proxy: false` as "none, whatever the environment says"; its types know only strings.
    return await context.fetch(url.href, init as RequestInit);
  } catch (error) {
    if (request.signal.aborted) throw error;
    throw transportError(error, url, request.secrets, proxy);
  }
}

/**
 * What went wrong before there was a whole answer, without the address's path, which may hold a key; `proxy` is what the request went
 * through, if anything.
 */
export function transportError(
  error: unknown,
  url: URL,
  secrets: readonly string[],
  proxy: string | false = false,
): EmbedError {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const detail = redacted(String(code ?? message ?? error), secrets);
  if (/Zlib|Brotli|Zstd|Decompress/i.test(detail))
    return new EmbedError("malformed", `The answer of ${url.origin} can't be unpacked (${detail}).`);
  const through = proxy === false ? "" : ` through the proxy ${proxyName(proxy)}`;
  const proxyHint = `Is ${url.host} reachable from here? HTTP_PROXY, HTTPS_PROXY and NO_PROXY are honoured.`;
  return new EmbedError("transient", `No connection to ${url.origin}${through}: ${plain(detail)}.`, {
    hint: proxyHint,
  });
}

/** A proxy without user name and password. */
function proxyName(proxy: string): string {
  return URL.canParse(proxy) && new URL(proxy).host !== ""
    ? `${new URL(proxy).protocol}//${new URL(proxy).host}`
    : "that the environment names";
}

function plain(detail: string): string {
  if (/Malformed_HTTP|InvalidHTTPResponse/i.test(detail)) return "what answers there does not speak HTTP";
  if (/UnsupportedProxyProtocol|ERR_INVALID_ARG_VALUE/.test(detail)) return "it must be the address of an HTTP proxy";
  if (/EPROTO|WRONG_VERSION_NUMBER/.test(detail)) return "what answers there does not speak TLS; is http meant?";
  if (/PROXY_TUNNEL/.test(detail)) return "the proxy did not let it through";
  if (/ConnectionRefused|ECONNREFUSED/.test(detail)) return "nothing listens there (connection refused)";
  if (/ECONNRESET|ConnectionClosed|socket.*closed/i.test(detail)) return "it closed the connection";
  if (/ENOTFOUND|EAI_AGAIN|FailedToOpenSocket|getaddrinfo/i.test(detail)) return "the host was not found";
  return detail.replace(/\.$/, "");
}

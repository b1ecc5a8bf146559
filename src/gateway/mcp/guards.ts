import { createHash, timingSafeEqual } from "node:crypto";
import { isLoopback } from "../../embed/hosts.ts";

/** Who may speak to the HTTP server: browsers of other sites and names that were bent to this machine may not. */
export type Access = {
  /** The name or address that the server was told to bind. */
  host: string;
  /** Further host names, and origins, that may be named; an origin `*` switches both checks off. */
  allowedHosts: readonly string[];
  allowedOrigins: readonly string[];
  /** What clients must send as `Authorization: Bearer …`; null when anybody on this machine may ask. */
  token: string | null;
};

const WILDCARDS = new Set(["0.0.0.0", "::", "[::]", "*", ""]);

/** Why a request is turned away before anything looks at it, or null. Guards against DNS rebinding. */
export function refusalOf(request: Request, access: Access): string | null {
  if (access.allowedOrigins.includes("*")) return null;
  const origin = request.headers.get("origin");
  if (origin !== null && !isAllowedOrigin(origin, access)) return `Origin not allowed: ${origin}`;
  const host = request.headers.get("host") ?? "";
  return isAllowedHost(host, access) ? null : `Host not allowed: ${host}`;
}

function isAllowedOrigin(origin: string, { allowedOrigins }: Access): boolean {
  if (allowedOrigins.includes(origin)) return true;
  const url = URL.parse(origin);
  return url !== null && /^https?:$/.test(url.protocol) && isLoopback(url.hostname);
}

function isAllowedHost(header: string, { host, allowedHosts }: Access): boolean {
  if (WILDCARDS.has(host) && allowedHosts.length === 0) return true;
  // A name and a port, and no more: a parser of addresses finds a host in `a@localhost` too.
  const isPlain = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d*)?$/i.test(header);
  const name = (isPlain ? URL.parse(`http://${header}`)?.hostname : null) ?? "";
  if (name === "") return false;
  const known = [host, ...allowedHosts].map((one) => one.toLowerCase().replace(/^\[|\]$/g, ""));
  return isLoopback(name) || known.includes(name.replace(/^\[|\]$/g, "")) || allowedHosts.includes(header);
}

/** Whether a request carries the token; how long the comparison takes tells nothing about it. */
export function hasToken(request: Request, { token }: Access): boolean {
  if (token === null) return true;
  const given = /^Bearer +(\S+)\s*$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
  return timingSafeEqual(digest(given), digest(token));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

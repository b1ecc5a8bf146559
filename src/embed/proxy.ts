import { bareHost, isLoopback } from "./hosts.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that the environment sets for `url`, or false: `HTTPS_PROXY`/`HTTP_PROXY` by scheme, `ALL_PROXY`, minus
 * `NO_PROXY`; lower case wins, as with curl. This machine's own addresses never go through a proxy.
 */
export function proxyFor(url: URL, env: Env): string | false {
  if (isLoopback(url.hostname) || isExempt(url, setting(env, "no_proxy"))) return false;
  const proxy = setting(env, url.protocol === "https:" ? "https_proxy" : "http_proxy") ?? setting(env, "all_proxy");
  if (proxy === undefined) return false;
  return /^[a-z][a-z\d+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
}

function setting(env: Env, name: string): string | undefined {
  const value = (env[name] ?? env[name.toUpperCase()])?.trim();
  return value === "" ? undefined : value;
}

/** `NO_PROXY`: names (their subdomains too, with or without a leading dot or `*.`), addresses, `host:port`, or `*`. */
function isExempt(url: URL, list: string | undefined): boolean {
  const host = bareHost(url.hostname);
  const port = url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port;
  for (const entry of (list ?? "").toLowerCase().split(/[\s,]+/)) {
    if (entry === "") continue;
    if (entry === "*") return true;
    const withPort = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(entry);
    if (withPort && withPort[2] !== port) continue;
    const name = bareHost(withPort?.[1] ?? entry).replace(/^\*?\./, "");
    if (host === name || (host.endsWith(`.${name}`) && !/^[\d.]+$/.test(name))) return true;
  }
  return false;
}

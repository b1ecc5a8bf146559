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

/** A host name in lower case without brackets and final dot. */
export function bareHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");
}

export function isLoopback(hostname: string): boolean {
  const host = bareHost(hostname);
  return host === "localhost" || host.endsWith(".localhost") || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * Whether a name or address is one of this machine or of a private network: loopback, private, link-local (which is where
 * clouds keep their metadata), shared and unspecified addresses, `.local` and `.internal` names.
 */
export function isPrivateHost(hostname: string): boolean {
  const host = bareHost(hostname);
  if (isLoopback(host) || /(^|\.)(localdomain|local|internal)$/.test(host)) return true;
  const mapped = /^::ffff:(?:(\d+\.\d+\.\d+\.\d+)|([\da-f]{1,4}):([\da-f]{1,4}))$/.exec(host);
  if (mapped) return isPrivateIpv4(mapped[1] ?? dotted(mapped[2] ?? "0", mapped[3] ?? "0"));
  if (host.includes(":")) return host === "::" || /^(f[cd]|fe[89ab])/.test(host);
  return isPrivateIpv4(host);
}

function isPrivateIpv4(host: string): boolean {
  const parts = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(host);
  if (!parts) return false;
  const [a, b] = [Number(parts[1]), Number(parts[2])];
  if (a === 0 || a === 10 || a === 127) return true;
  if (a === 100) return b >= 64 && b <= 127;
  return (a === 169 && b === 254) || (a === 172 && b >= 16 && b <= 31) || (a === 192 && b === 168);
}

/** Two hexadecimal groups as four decimal parts. */
function dotted(high: string, low: string): string {
  const [h, l] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [h >> 8, h & 255, l >> 8, l & 255].join(".");
}

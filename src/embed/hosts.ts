/** A host name in lower case without brackets and final dot. */
export function bareHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");
}

/** Whether a host name or address means this machine alone, also as an IPv6 address that stands for an IPv4 one; `0.0.0.0` does not. */
export function isLoopback(hostname: string): boolean {
  const host = bareHost(hostname);
  if (host === "localhost" || host.endsWith(".localhost") || host === "::1") return true;
  return /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(host) || /^::ffff:7f[\da-f]{2}:[\da-f]{1,4}$/.test(host);
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

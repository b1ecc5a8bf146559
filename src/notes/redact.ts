import { replaceBlocks } from "./blocks.ts";

/**
 * Secrets in transcripts, masked before a line is indexed, embedded or shown. Each pattern captures the secret as its last
 * group, or matches it whole.
 */
const QUOTE = "[\"'`]?";
const PATTERNS: readonly RegExp[] = [
  // NAME_TOKEN=value, API_KEY: "value"
  new RegExp(`\\b[A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)\\b${QUOTE}\\s*[=:]\\s*${QUOTE}([^\\s"'\`,;]+)`, "gi"),
  /"(?:apiKey|api_key|token|secret|password|passwd|accessToken|access_token|refreshToken|refresh_token)"\s*:\s*"([^"]+)"/gi,
  /--(?:api-key|token|secret|password|passwd)(?:\s+|=)["']?([^\s"']+)/gi,
  /\bAuthorization\s*[:=]\s*["']?Bearer\s+([^\s"',;]+)/gi,
  /\bBearer\s+([A-Za-z0-9._~+/=-]{18,})/gi,
  /\b(sk-[A-Za-z0-9_-]{8,})/g,
  /\b(gh[pousr]_[A-Za-z0-9]{20,})/g,
  /\b(github_pat_[A-Za-z0-9_]{20,})/g,
  /\b(xox[baprs]-[A-Za-z0-9-]{10,})/g,
  /\b(xapp-[A-Za-z0-9-]{10,})/g,
  /\b(gsk_[A-Za-z0-9]{10,})/g,
  /\b(AIza[0-9A-Za-z_-]{20,})/g,
  /\b(pplx-[A-Za-z0-9]{10,})/g,
  /\b(npm_[A-Za-z0-9]{10,})/g,
  /\b(AKIA[0-9A-Z]{16})\b/g,
  /\b(\d{6,}:[A-Za-z0-9_-]{20,})/g,
];

const KEY_BEGIN = /-----BEGIN [A-Z ]*PRIVATE KEY-----/g;
/** A line of a key, as no prose has one. */
const KEY_LINE = /[A-Za-z0-9+/]{40,}={0,2}/g;
const KEY_END = /-----END [A-Z ]*PRIVATE KEY-----/g;

/** `text` with every known kind of secret masked: short ones wholly, long ones but for their first six and last four characters. */
export function redactSecrets(text: string): string {
  let out = replaceBlocks(
    text,
    KEY_BEGIN,
    () => KEY_END,
    (begin, end) => `${begin} …redacted… ${end}`,
  );
  out = withoutOpenKey(out);
  for (const pattern of PATTERNS) {
    out = out.replace(pattern, (match: string, secret: string) => {
      const at = match.lastIndexOf(secret);
      return match.slice(0, at) + mask(secret) + match.slice(at + secret.length);
    });
  }
  return out;
}

/** Masks what is there of a key whose end was cut off. */
function withoutOpenKey(text: string): string {
  const closed = [...text.matchAll(KEY_END)].at(-1)?.index ?? 0;
  const begin = text.slice(closed).search(KEY_BEGIN);
  if (begin < 0) return text;
  return text.slice(0, closed + begin) + text.slice(closed + begin).replace(KEY_LINE, "…redacted…");
}

function mask(secret: string): string {
  // Masked once already by an earlier pattern.
  if (secret.includes("…") || /^\*+$/.test(secret)) return secret;
  return secret.length < 18 ? "***" : `${secret.slice(0, 6)}…${secret.slice(-4)}`;
}

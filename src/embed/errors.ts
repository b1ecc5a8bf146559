import { MemqError, messageOf } from "../errors.ts";

export type EmbedErrorCode = "EMBED_UNAVAILABLE" | "EMBED_REJECTED" | "EMBED_TIMEOUT" | "EMBED_PENDING";

/**
 * What kind of failure one exchange was, which decides whether it is tried again:
 * `rate` and `transient` are, `malformed` (a reply that does not hold together) a little, `refused` (this batch) is halved,
 * `timeout` is slowness, `fatal` ends the call.
 */
export type EmbedErrorKind = "rate" | "transient" | "malformed" | "refused" | "timeout" | "fatal";

/** A failed embedding, with what is needed to decide whether to try again. */
export class EmbedError extends MemqError {
  readonly kind: EmbedErrorKind;
  /** HTTP status of the answer, undefined when there was none. */
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: EmbedErrorKind,
    message: string,
    options: { code?: EmbedErrorCode; hint?: string; status?: number; retryAfterMs?: number } = {},
  ) {
    const { hint, code = codeOf(kind) } = options;
    super(code, message, { hint, exitCode: 69 });
    this.kind = kind;
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }
}

function codeOf(kind: EmbedErrorKind): EmbedErrorCode {
  if (kind === "refused") return "EMBED_REJECTED";
  return kind === "timeout" ? "EMBED_TIMEOUT" : "EMBED_UNAVAILABLE";
}

/** `error` as an `EmbedError`; anything unexpected is fatal. */
export function embedErrorOf(error: unknown): EmbedError {
  if (error instanceof EmbedError) return error;
  const hint = error instanceof MemqError ? error.hint : undefined;
  return new EmbedError("fatal", messageOf(error), { hint });
}

// What keys and tokens look like where they are not known literally, as in an error body that shows them in part.
const KEY_SHAPES = [
  /\b(bearer|basic)\s+[\w.~+/=*-]{6,}/gi,
  /\b(sk|pk|pa|rk|gh[pousr]|github_pat|hf|xox[abp]|AIza|ya29|AKIA|ASIA)[-_.]?[\w*-]{8,}/g,
  /\b(api[-_ ]?key|access[-_ ]?token|token|secret|password|key)(["']?\s*[:=]\s*["']?)[^\s"'&,;}]{6,}/gi,
];

/**
 * `text` without the given secrets (as they are, percent-encoded, as JSON prints them, or in base64) and without anything
 * that is shaped like a key.
 */
export function redacted(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length < 4) continue;
    const base64 = Buffer.from(secret).toString("base64");
    for (const form of new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), base64])) {
      clean = clean.replaceAll(form, "[redacted]");
    }
  }
  for (const shape of KEY_SHAPES) {
    clean = clean.replace(shape, (_match, word: string, between?: string | number) => {
      if (typeof between === "string") return `${word}${between}[redacted]`;
      return /^(bearer|basic)$/i.test(word) ? `${word} [redacted]` : "[redacted]";
    });
  }
  return clean;
}

/** An error body as it may stand in a sentence: redacted first, then one line of at most 300 characters. */
export function shortBody(body: string, secrets: readonly string[]): string {
  const line = redacted(body, secrets).replace(/\s+/g, " ").trim();
  return line.length > 300 ? `${line.slice(0, 299).trimEnd()}…` : line;
}

/** A file's text, or why it has none. */
export type Decoded =
  | { text: string; encoding: "utf-8" | "utf-16le" | "utf-16be" | "windows-1252"; replaced: boolean }
  /** NUL bytes that neither an encoding nor a slip in a text explains: not a note, whatever it is called. */
  | { text: null };

/** A larger file is no note: it is named and left out, so that memory stays bounded. */
export const MAX_NOTE_MB = 32;
export const MAX_NOTE_BYTES = MAX_NOTE_MB * 1024 * 1024;

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const lenientUtf8 = new TextDecoder("utf-8");

/** How much is looked at to tell UTF-16 without a byte-order mark from a binary file. */
const PROBE_BYTES = 4096;

/**
 * Decodes a note: UTF-8 and UTF-16 with or without a byte-order mark (which is left out), and Windows-1252 where the bytes can
 * hardly be anything else. Invalid UTF-8 becomes U+FFFD, and a NUL in what otherwise is text a blank (`replaced`). Line ends stay as
 * they are.
 */
export function decodeNote(bytes: Uint8Array): Decoded {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return utf16(bytes, "utf-16le");
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return utf16(bytes, "utf-16be");
  if (bytes.includes(0)) {
    const encoding = markless16(bytes);
    return encoding === null ? textWithNuls(bytes) : utf16(bytes, encoding);
  }
  try {
    return { text: strictUtf8.decode(bytes), encoding: "utf-8", replaced: false };
  } catch {
    if (isSurelyWindows1252(bytes)) {
      return { text: new TextDecoder("windows-1252").decode(bytes), encoding: "windows-1252", replaced: false };
    }
    return { text: lenientUtf8.decode(bytes), encoding: "utf-8", replaced: true };
  }
}

function utf16(bytes: Uint8Array, encoding: "utf-16le" | "utf-16be"): Decoded {
  const decoded = new TextDecoder(encoding).decode(bytes);
  if (!decoded.includes("\0")) return { text: decoded, encoding, replaced: decoded.includes("\ufffd") };
  const text = nulsAsBlanks(decoded);
  return text === null ? { text } : { text, encoding, replaced: true };
}

/** What a crash or a tool has put a few NULs into is still a note where all else is valid: a binary file is neither. */
function textWithNuls(bytes: Uint8Array): Decoded {
  const encoding = isSurelyWindows1252(bytes) ? "windows-1252" : "utf-8";
  try {
    const text = nulsAsBlanks(new TextDecoder(encoding, { fatal: true }).decode(bytes));
    return text === null ? { text } : { text, encoding, replaced: true };
  } catch {
    return { text: null };
  }
}

/** A larger share of NULs is no slip. */
const MOST_NULS = 0.1;

/** The text with blanks for its NULs; null when they are many, or when it holds what only binary files do. */
function nulsAsBlanks(text: string): string | null {
  if (text.split("\0").length - 1 > text.length * MOST_NULS || BINARY.test(text)) return null;
  return text.replaceAll("\0", " ");
}

/** Control characters but NUL, white space, backspace and escape. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const BINARY = /[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f\ufffd]/;

/** UTF-16 text in a script of one-byte code points has a NUL in nearly every second byte, and none in the others. */
function markless16(bytes: Uint8Array): "utf-16le" | "utf-16be" | null {
  const length = Math.min(bytes.length, PROBE_BYTES) & ~1;
  if (bytes.length % 2 !== 0 || length < 4) return null;
  let even = 0;
  let odd = 0;
  for (let at = 0; at < length; at += 2) {
    if (bytes[at] === 0) even += 1;
    if (bytes[at + 1] === 0) odd += 1;
  }
  const most = length * 0.35;
  if (even === 0 && odd > most) return "utf-16le";
  return odd === 0 && even > most ? "utf-16be" : null;
}

/**
 * Western European letters stand alone or in pairs between ASCII letters, and never form a valid UTF-8 sequence; in the East
 * Asian encodings high bytes come in runs. Anything else than letters and a few marks makes it unsure.
 */
function isSurelyWindows1252(bytes: Uint8Array): boolean {
  let high = 0;
  let run = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) {
      run = 0;
      continue;
    }
    high += 1;
    run += 1;
    if (run > 2 || !isWestern(byte) || isContinuationPair(byte, bytes[at + 1] ?? 0)) return false;
  }
  return high > 0 && high * 4 < bytes.length;
}

function isContinuationPair(lead: number, next: number): boolean {
  return lead >= 0xc2 && lead <= 0xf4 && next >= 0x80 && next <= 0xbf;
}

/** Letters, quotation marks, dashes, ellipsis, euro, ¡ § ª « ° º » ¿. */
function isWestern(byte: number): boolean {
  if (byte >= 0xc0) return byte !== 0xd7 && byte !== 0xf7;
  return (byte >= 0x91 && byte <= 0x97) || [0x80, 0x85, 0xa1, 0xa7, 0xaa, 0xab, 0xb0, 0xba, 0xbb, 0xbf].includes(byte);
}

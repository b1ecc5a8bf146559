/*
 * Text of others on a person's terminal: control characters could move the cursor, hide what stands before them or retitle the window,
 * and marks of writing direction could turn words round.
 */

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** One line in which every control character and mark of direction is written out (`\x1b`, `\u202e`). */
export function printableLine(text: string): string {
  return text.replace(CONTROLS, escaped);
}

/** Lines of text in which every control character but line ends and tabs is written out. */
export function printableText(text: string): string {
  return text.replace(CONTROLS, (char) => (char === "\n" || char === "\t" ? char : escaped(char)));
}

function escaped(char: string): string {
  const code = char.charCodeAt(0);
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/*
 * Text of others as people are shown it, on a terminal sooner or later: control characters could move the cursor, hide what stands
 * before them or retitle the window, and marks of writing direction could turn words round.
 */

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** One line in which every control character and mark of direction is written out (`\x1b`, `\u202e`). */
export function printableLine(text: string): string {
  return text.replace(CONTROLS, escaped);
}

/** Lines of text in which every control character but line ends and tabs is written out, and what overrides direction too. */
export function printableText(text: string): string {
  return text.replace(CONTROLS, (char, at: number) => {
    const stays = /[\n\t\u200e\u200f]/.test(char) || (char === "\r" && text[at + 1] === "\n");
    return stays ? char : escaped(char);
  });
}

/** The lines of a text on one, with a single blank where a line ended and none at the ends. */
export function onOneLine(text: string): string {
  // A pattern with blanks before the line end would try every place of a long run of blanks, each to the run's end.
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");
}

/** A file's name on one line; one that holds such a character is percent-encoded, as names may be given, too. */
export function printableName(name: string): string {
  return name.search(CONTROLS) < 0 ? name : name.replaceAll("%", "%25").replace(CONTROLS, encodeURIComponent);
}

/** Longer than a sentence that names the longest path of any system: something in it is no name any more. */
const LONGEST_SHOWN = 5000;
const SHOWN_OF_LONG = 600;

/** A sentence for people: of a very long one, which quotes what was no name, its beginning and its end. */
export function shortened(sentence: string): string {
  if (sentence.length <= LONGEST_SHOWN) return sentence;
  const start = sentence.slice(0, SHOWN_OF_LONG).replace(/[\ud800-\udbff]$/, "");
  const end = sentence.slice(-SHOWN_OF_LONG).replace(/^[\udc00-\udfff]/, "");
  const left = (sentence.length - start.length - end.length).toLocaleString("en");
  return `${start}… (${left} characters left out) …${end}`;
}

/** An address (or the name of a model, which may be one) without what may be a key in it: user name, password and query. */
export function withoutCredentials(address: string): string {
  return address.replace(/:\/\/[^/?#\s]*@/, "://").replace(/(?<=:\/\/[^?#\s]*)\?[^#\s]*/, "");
}

function escaped(char: string): string {
  const code = char.charCodeAt(0);
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

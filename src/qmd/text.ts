/** Some lines of a text, each with its number where that is wanted; `beyond` says so when there is none that far down. */
export function linesOf(
  text: string,
  { from, count, numbers }: { from: number; count: number; numbers: boolean },
): { text: string; beyond: string | null } {
  const lines = text.split("\n");
  if (from > lines.length) {
    return { text: "", beyond: `The document has ${lines.length} ${lines.length === 1 ? "line" : "lines"}.` };
  }
  const wanted = lines.slice(from - 1, from - 1 + count).join("\n");
  return { text: numbers ? numbered(wanted, from) : wanted, beyond: null };
}

/** Each line with its number before it. */
export function numbered(text: string, from: number): string {
  return text
    .split("\n")
    .map((line, at) => `${from + at}: ${line}`)
    .join("\n");
}

/** The first `most` lines of a text, with a word on what is left out. */
export function firstLines(text: string, most: number): string {
  const lines = text.split("\n");
  if (lines.length <= most) return text;
  return `${lines.slice(0, most).join("\n")}\n\n[... truncated ${lines.length - most} more lines]`;
}

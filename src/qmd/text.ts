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

/** `trigger`, `importance` and `project` comments; they open and close on one line. */
const ANNOTATION = /<!--\s*(trigger|importance|project)\s*:([^]*?)-->/gi;

/** Longer lines are machine-made: they hold no annotations, and looking for some in each of their passages would be quadratic. */
const MAX_ANNOTATED_LINE = 8000;

const INVALID_PROJECT = "!invalid-project-annotation";

/** A half-open range of UTF-16 offsets. */
export type Range = { from: number; to: number };

export type Annotations = { importance?: number; triggers?: string[]; projects?: string[] };

/**
 * What is left of one line (without its `\n`) when annotation comments are taken out, blanks before the line's end included; a
 * carriage return stays. Null when the line has none, which is nearly always.
 */
export function keptRanges(line: string): Range[] | null {
  if (line.length > MAX_ANNOTATED_LINE || !line.includes("<!--")) return null;
  // Behind the last end of a comment no other is looked for from each of the beginnings.
  const closed = line.slice(0, line.lastIndexOf("-->") + 3);
  const kept: Range[] = [];
  let at = 0;
  for (const match of closed.matchAll(ANNOTATION)) {
    kept.push({ from: at, to: match.index });
    at = match.index + match[0].length;
  }
  if (kept.length === 0) return null;
  const contentEnd = line.endsWith("\r") ? line.length - 1 : line.length;
  kept.push({ from: at, to: contentEnd });
  if (line.slice(at, contentEnd).trim() === "") trimEnd(line, kept);
  kept.push({ from: contentEnd, to: line.length });
  return kept.filter((range) => range.to > range.from);
}

function trimEnd(line: string, kept: Range[]): void {
  for (let last = kept.at(-1); last !== undefined; last = kept.at(-1)) {
    last.to = last.from + line.slice(last.from, last.to).trimEnd().length;
    if (last.to > last.from) return;
    kept.pop();
  }
}

/**
 * The part of `text` in `[from, to)` without its annotation comments. Lines are judged whole, so a range that begins or ends in
 * the middle of a comment yields nothing of it.
 */
export function textWithoutAnnotations(text: string, from: number, to: number): string {
  const slice = text.slice(from, to);
  if (!slice.includes("<!--") && !slice.includes("-->")) return slice;
  const parts: string[] = [];
  for (let start = lineStart(text, from); start <= to;) {
    const end = lineEnd(text, start, to);
    const line = text.slice(start, end);
    const kept = keptRanges(line) ?? [{ from: 0, to: line.length }];
    parts.push(
      kept.map((range) => text.slice(clamp(start + range.from, from, to), clamp(start + range.to, from, to))).join(""),
    );
    if (end >= to) break;
    start = end + 1;
  }
  return parts.join("\n");
}

/** Where the line around `at` begins, or a place so far before it that the line holds no annotations. */
function lineStart(text: string, at: number): number {
  const floor = Math.max(0, at - MAX_ANNOTATED_LINE - 1);
  return floor + text.slice(floor, at).lastIndexOf("\n") + 1;
}

function lineEnd(text: string, start: number, to: number): number {
  const ceiling = Math.min(text.length, Math.max(to, start) + MAX_ANNOTATED_LINE + 1);
  const newline = text.slice(start, ceiling).indexOf("\n");
  return newline < 0 ? ceiling : start + newline;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

/**
 * The annotations of an entry's lines. Only lines that end with a comment count: a comment in the middle of a sentence is quoted
 * text. Triggers accumulate, the highest valid importance (1 to 10) wins, and a project key that can't be one marks the entry so
 * that it never matches a project.
 */
export function annotationsOf(lines: readonly string[]): Annotations {
  const triggers = new Set<string>();
  const projects = new Set<string>();
  let importance = 0;
  for (const line of lines) {
    if (line.length > MAX_ANNOTATED_LINE || !line.trimEnd().endsWith("-->")) continue;
    for (const [, name, value] of line.matchAll(ANNOTATION)) {
      if (name === undefined || value === undefined) continue;
      if (name.toLowerCase() === "trigger") addAll(triggers, listItems(value, /[,;|]/));
      else if (name.toLowerCase() === "project") addAll(projects, projectKeys(value));
      else importance = Math.max(importance, importanceOf(value));
    }
  }
  return {
    ...(importance > 0 ? { importance } : {}),
    ...(triggers.size > 0 ? { triggers: [...triggers] } : {}),
    ...(projects.size > 0 ? { projects: [...projects] } : {}),
  };
}

function importanceOf(value: string): number {
  const digits = value.trim();
  const number = /^\d+$/.test(digits) ? Number(digits) : 0;
  return number >= 1 && number <= 10 ? number : 0;
}

function projectKeys(value: string): string[] {
  const keys = value.split(";").map((key) => key.trim());
  return keys.some((key) => key === "" || /[<>]/.test(key)) ? [INVALID_PROJECT] : keys;
}

function listItems(value: string, separator: RegExp): string[] {
  return value
    .split(separator)
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

function addAll(set: Set<string>, items: readonly string[]): void {
  for (const item of items) set.add(item);
}

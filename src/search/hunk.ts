import { snippetOf } from "./snippet.ts";
import type { TermsBetween } from "./terms.ts";

/** A few lines of a document under a header that says where they stand, as in a unified diff. */
export type Hunk = {
  /** `@@ -3,4 @@ (2 before, 7 after)`. */
  header: string;
  text: string;
  /** The lines that `text` holds, and of these the one that answers best; all counted from 1 in the document. */
  startLine: number;
  endLine: number;
  line: number;
  /** Whether `text` holds a term of the query. */
  matches: boolean;
};

/** What makes a line answer: the query's terms in a text, and those of the intent, which count less. */
export type LineTerms = {
  termsIn: (text: string) => string[];
  intentIn?: (text: string) => string[];
  /** Finds most of the query's terms by where they stand, at less cost. */
  placed: (text: string) => TermsBetween;
};

const INTENT_WEIGHT = 0.3;

/**
 * qmd's snippet of a hit: the line of the passage that holds most of the query's terms, with one line before and two after it, cut
 * to `maxChars` UTF-16 units. Where the passage holds none of them it begins with the passage's first line that says something.
 */
export function hunkOf(
  hit: { body: string; startLine: number; endLine: number },
  maxChars: number,
  terms: LineTerms,
): Hunk {
  const first = Math.max(1, hit.startLine);
  // What may be shown reaches a little beyond the passage.
  const shownFrom = Math.max(1, first - 1);
  const { lines, total } = linesOf(hit.body, shownFrom, Math.max(first, hit.endLine) + 2);
  if (first > total) return hunkOf({ body: hit.body, startLine: total, endLine: total }, maxChars, terms);
  const last = Math.min(Math.max(first, hit.endLine), total);
  const places = placedLines(lines, shownFrom, terms);
  const best = bestLine(lines.slice(first - shownFrom, last - shownFrom + 1), first, places, terms);
  const from = Math.max(1, best - 1);
  const to = Math.min(total, best + 2);
  const { text, startLine, endLine } = cut(
    lines.slice(from - shownFrom, to - shownFrom + 1),
    { startLine: from, endLine: to },
    maxChars,
    places,
  );
  return {
    header: `@@ -${startLine},${endLine - startLine + 1} @@ (${startLine - 1} before, ${total - endLine} after)`,
    text,
    startLine,
    endLine,
    line: Math.min(Math.max(best, startLine), endLine),
    // Looked for by formats that print it.
    get matches() {
      return terms.placed(text)(0, text.length).length > 0 || terms.termsIn(text).length > 0;
    },
  };
}

/** The lines `from` to `to` of a text, counted from 1, and how many it has: a long one is not taken apart for a few of them. */
function linesOf(text: string, from: number, to: number): { lines: string[]; total: number } {
  let total = 1;
  let start = 0;
  let end = text.length;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    if (total === to) end = at;
    if (++total === from) start = at + 1;
  }
  return { lines: text.slice(start, end).split("\n"), total };
}

/** The terms in `length` characters that begin `at` characters behind the start of a line. */
type PlacedLines = (line: number, at: number, length: number) => string[];

function placedLines(lines: readonly string[], first: number, { placed }: LineTerms): PlacedLines {
  const between = placed(lines.join("\n"));
  let end = 0;
  const starts = lines.map((line) => (end += line.length + 1) - line.length - 1);
  return (line, at, length) => {
    const from = (starts[line - first] ?? end) + at;
    return between(from, from + length);
  };
}

/** The line that answers best of a passage's, which begin with line `first`. */
function bestLine(
  passage: readonly string[],
  first: number,
  places: PlacedLines,
  { termsIn, intentIn }: LineTerms,
): number {
  const scored = scoredBest(passage, (line, at) => places(first + at, 0, line.length), intentIn);
  if (scored >= 0) return first + scored;
  if (termsIn(passage.join("\n")).length > 0) return first + Math.max(0, scoredBest(passage, termsIn, intentIn));
  const filled = passage.findIndex((line) => line.trim() !== "");
  return first + Math.max(0, filled);
}

/** The place of the first line of those that hold most terms, −1 when none holds any. */
function scoredBest(
  lines: readonly string[],
  termsIn: (line: string, place: number) => string[],
  intentIn: LineTerms["intentIn"],
): number {
  let best = -1;
  let most = 0;
  for (const [place, line] of lines.entries()) {
    const score = termsIn(line, place).length + INTENT_WEIGHT * (intentIn?.(line).length ?? 0);
    if (score > most) {
      most = score;
      best = place;
    }
  }
  return best;
}

function cut(
  lines: readonly string[],
  place: { startLine: number; endLine: number },
  maxChars: number,
  places: PlacedLines,
): { text: string; startLine: number; endLine: number } {
  const text = lines.join("\n");
  if (text.length <= maxChars) return { text, ...place };
  const part = snippetOf({ text, ...place }, maxChars - 3, (piece, at) => places(place.startLine, at, piece.length));
  const lastLine = lines[part.endLine - place.startLine] ?? "";
  return lastLine !== "" && part.text.endsWith(lastLine) ? part : { ...part, text: `${part.text.trimEnd()}...` };
}

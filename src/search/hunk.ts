import { graphemeEnd, snippetOf } from "./snippet.ts";
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
 * How far from its passage a hit's lines are looked at, in UTF-16 units. Longer lines are a machine's, and most of one is no answer:
 * what is shown for a hit takes as long for a line of megabytes as for any other.
 */
const REACH = 16_000;
/** A word that a line would be cut in is left out, unless it is longer. */
const LONG_WORD = 64;

/** A passage in its document: its lines counted from 1, `pos` and `length` in UTF-16 units. */
type Place = { body: string; startLine: number; endLine: number; pos: number; length: number };

/**
 * qmd's snippet of a hit: the line of the passage that holds most of the query's terms, with one line before and two after it, cut
 * to `maxChars` UTF-16 units. Where the passage holds none of them it begins with the passage's first line that says something.
 */
export function hunkOf(hit: Place, maxChars: number, terms: LineTerms): Hunk {
  const first = Math.max(1, hit.startLine);
  const { lines, shownFrom, isCut, total } = linesAround(hit, maxChars);
  if (first > total) return hunkOf({ ...hit, startLine: total, endLine: total }, maxChars, terms);
  const shownTo = shownFrom + lines.length - 1;
  const passageFrom = Math.min(Math.max(first, shownFrom), shownTo);
  const passageTo = Math.min(Math.max(passageFrom, hit.endLine), shownTo);
  const places = placedLines(lines, shownFrom, terms);
  const passage = lines.slice(passageFrom - shownFrom, passageTo - shownFrom + 1);
  const best = bestLine(passage, passageFrom, places, terms);
  const from = Math.max(shownFrom, best - 1);
  const to = Math.min(shownTo, best + 2);
  const { text, startLine, endLine } = cut(
    { lines: lines.slice(from - shownFrom, to - shownFrom + 1), isCut: isCut && to === shownTo },
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

/**
 * The lines of a passage with one before and two after it, as far as they reach: `isCut` when the last one goes on. `total` is how many
 * lines the document has: a long one is not taken apart for a few of them.
 */
function linesAround(
  { body, startLine, endLine, pos, length }: Place,
  maxChars: number,
): { lines: string[]; shownFrom: number; isCut: boolean; total: number } {
  const from = Math.max(1, startLine - 1);
  const to = Math.max(1, startLine, endLine) + 2;
  let total = 1;
  let start = 0;
  let end = body.length;
  for (let at = body.indexOf("\n"); at >= 0; at = body.indexOf("\n", at + 1)) {
    if (total === to) end = at;
    if (++total === from) start = at + 1;
  }
  const near = Math.min(Math.max(pos, start), end);
  const nearFrom = near - start > REACH ? wordStart(body, near - REACH) : start;
  const nearTo = end - near > length + REACH ? graphemeEnd(body, near + length + REACH) : end;
  const lines = body.slice(nearFrom, nearTo).split("\n");
  // Of a line that would be no more than a few words, and begins so far away, nothing is shown.
  const isCut = nearTo < end && (lines.length === 1 || lines.at(-1)!.length > maxChars);
  if (nearTo < end && !isCut) lines.pop();
  const before = nearFrom === start ? 0 : body.slice(start, nearFrom).split("\n").length - 1;
  return { lines, shownFrom: from + before, isCut, total };
}

/** Where a word begins, at or soon after `at`. */
function wordStart(text: string, at: number): number {
  const blank = text.slice(at, at + LONG_WORD).search(/\s/);
  return blank < 0 ? graphemeEnd(text, at) : at + blank + 1;
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
  { lines, isCut }: { lines: readonly string[]; isCut: boolean },
  place: { startLine: number; endLine: number },
  maxChars: number,
  places: PlacedLines,
): { text: string; startLine: number; endLine: number } {
  const text = lines.join("\n");
  if (text.length <= maxChars) return { text, ...place };
  const part = snippetOf({ text, ...place }, maxChars - 3, (piece, at) => places(place.startLine, at, piece.length));
  const lastLine = lines[part.endLine - place.startLine] ?? "";
  const isEnd = lastLine !== "" && part.text.endsWith(lastLine) && !(isCut && part.endLine === place.endLine);
  return isEnd ? part : { ...part, text: `${part.text.trimEnd()}...` };
}

import { isAscii } from "./scripts.ts";

/** What is printed of a passage. */
export type Snippet = { text: string; startLine: number; endLine: number };

/** A line, or a piece of one that is too long to be printed whole. */
type Unit = { text: string; line: number; endsLine: boolean; terms: string[] };

/**
 * The part of a passage that is printed: all of it when it fits into `maxChars` UTF-16 units, else the run of whole lines that holds
 * the most of the query's terms (`termsIn` lists those in a piece of it, which begins at `at`; a term that stands all over the passage
 * tells little), the later start winning, filled up with what comes before. A line that is too long alone is treated as pieces of itself,
 * cut where no visible character is torn.
 */
export function snippetOf(
  passage: { text: string; startLine: number; endLine: number },
  maxChars: number,
  termsIn: (text: string, at: number) => string[],
): Snippet {
  const { text: whole, startLine, endLine } = passage;
  if (whole.length <= maxChars) return { text: whole, startLine, endLine };
  const units = unitsOf(passage.text, passage.startLine, maxChars, termsIn);
  const { from, to } = bestRun(units, maxChars);
  let text = "";
  for (let at = from; at <= to; at++) {
    const unit = units[at];
    if (unit) text += unit.text + (unit.endsLine && at < to ? "\n" : "");
  }
  return {
    text,
    startLine: units[from]?.line ?? passage.startLine,
    endLine: units[to]?.line ?? passage.endLine,
  };
}

function unitsOf(
  text: string,
  startLine: number,
  maxChars: number,
  termsIn: (text: string, at: number) => string[],
): Unit[] {
  const units: Unit[] = [];
  let place = 0;
  let line = startLine;
  for (const whole of text.split("\n")) {
    const pieces = whole.length <= maxChars ? [whole] : piecesOf(whole, Math.max(1, Math.floor(maxChars / 6)));
    const last = pieces.length - 1;
    for (let at = 0; at <= last; at++) {
      const piece = pieces[at]!;
      units.push({ text: piece, line, endsLine: at === last, terms: termsIn(piece, place) });
      place += piece.length + (at === last ? 1 : 0);
    }
    line++;
  }
  return units;
}

/** For every start the longest run that fits; the best of them, then what fits before it. */
function bestRun(units: Unit[], maxChars: number): { from: number; to: number } {
  const spread = new Map<string, number>();
  for (const { terms } of units) for (const term of terms) spread.set(term, (spread.get(term) ?? 0) + 1);
  const weight = (term: string): number => 1 + 1 / (spread.get(term) ?? 1);
  const held = new Map<string, number>();
  let worth = 0;
  let length = 0;
  let end = 0;
  let best = { from: 0, to: 0, worth: -1 };
  const size = (unit: Unit, first: boolean): number => unit.text.length + (first ? 0 : 1);
  for (let from = 0; from < units.length; from++) {
    for (let next = units[end]; next && length + size(next, end === from) <= maxChars; next = units[++end]) {
      length += size(next, end === from);
      for (const term of next.terms) {
        const count = held.get(term) ?? 0;
        if (count === 0) worth += weight(term);
        held.set(term, count + 1);
      }
    }
    if (worth > 0 ? worth >= best.worth - 1e-9 : worth > best.worth)
      best = { from, to: Math.max(from, end - 1), worth };
    const leaving = units[from];
    if (!leaving) break;
    length = Math.max(0, length - leaving.text.length - (end > from + 1 ? 1 : 0));
    for (const term of leaving.terms) {
      const count = (held.get(term) ?? 1) - 1;
      held.set(term, count);
      if (count === 0) worth -= weight(term);
    }
  }
  let { from } = best;
  let room = maxChars;
  for (let at = from; at <= best.to; at++) room -= (units[at]?.text.length ?? 0) + (at > from ? 1 : 0);
  for (let before = units[from - 1]; before && before.text.length + 1 <= room; before = units[from - 1]) {
    room -= before.text.length + 1;
    from -= 1;
  }
  return { from, to: best.to };
}

/** Cuts a long line into pieces of at most `length` units, at blanks where there are some, never inside a grapheme. */
function piecesOf(line: string, length: number): string[] {
  const pieces: string[] = [];
  let rest = line;
  while (rest.length > length) {
    const blank = rest.lastIndexOf(" ", length - 1);
    const cut = blank > length / 2 ? blank + 1 : graphemeEnd(rest, length);
    pieces.push(rest.slice(0, cut));
    rest = rest.slice(cut);
  }
  if (rest !== "") pieces.push(rest);
  return pieces;
}

let graphemes: Intl.Segmenter | undefined;

/**
 * The text's longest beginning of at most `maxChars` UTF-16 units that tears no visible character apart.
 */
export function cutAtGrapheme(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : text.slice(0, graphemeEnd(text, maxChars));
}

/** How far back a grapheme can begin: longer ones (a letter under dozens of marks) are cut between code points. */
const GRAPHEME_WINDOW = 64;

/** The last grapheme boundary at or before `at`, never 0: a first grapheme that is longer is cut between code points. */
export function graphemeEnd(text: string, at: number): number {
  const from = Math.max(0, at - GRAPHEME_WINDOW);
  const around = text.slice(from, at + GRAPHEME_WINDOW);
  // In ASCII every character is visible by itself, but for CR LF; loading the segmenter takes longer than a whole search.
  if (isAscii(around)) return text[at - 1] === "\r" && text[at] === "\n" && at > 1 ? at - 1 : at;
  graphemes ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  let boundary = 0;
  for (const { index } of graphemes.segment(around)) {
    if (from + index > at) break;
    boundary = from + index;
  }
  if (boundary > from) return boundary;
  const splitsPair = (text.codePointAt(at - 1) ?? 0) > 0xffff;
  return splitsPair && at > 1 ? at - 1 : at;
}

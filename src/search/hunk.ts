import { snippetOf } from "./snippet.ts";

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

/**
 * What makes a line answer: the query's terms in a text, and those of the intent, which count less. `guess` says cheaply which texts
 * can be passed over.
 */
export type LineTerms = {
  termsIn: (text: string) => string[];
  intentIn?: (text: string) => string[];
  guess: (text: string) => boolean;
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
  const lines = hit.body.split("\n");
  const total = lines.length;
  const first = Math.min(Math.max(1, hit.startLine), total);
  const last = Math.min(Math.max(first, hit.endLine), total);
  const best = bestLine(lines, first, last, terms);
  const from = Math.max(1, best - 1);
  const to = Math.min(total, best + 2);
  const shown = cut(lines.slice(from - 1, to), { startLine: from, endLine: to }, maxChars, (part) =>
    likelyTerms(part, terms),
  );
  const { text, startLine, endLine } = shown;
  return {
    header: `@@ -${startLine},${endLine - startLine + 1} @@ (${startLine - 1} before, ${total - endLine} after)`,
    text,
    startLine,
    endLine,
    line: Math.min(Math.max(best, startLine), endLine),
    matches: likelyTerms(text, terms).length > 0 || terms.termsIn(text).length > 0,
  };
}

/** The terms among the words of a text that `guess` lets pass: most words of most lines are never looked at closely. */
function likelyTerms(text: string, { termsIn, guess }: LineTerms): string[] {
  return guess(text) ? termsIn(text.split(" ").filter(guess).join(" ")) : [];
}

function bestLine(lines: readonly string[], first: number, last: number, terms: LineTerms): number {
  const scored = scoredBest(lines, first, last, (text) => likelyTerms(text, terms), terms.intentIn);
  if (scored > 0) return scored;
  if (terms.termsIn(lines.slice(first - 1, last).join("\n")).length > 0) {
    return scoredBest(lines, first, last, terms.termsIn, terms.intentIn);
  }
  const filled = lines.slice(first - 1, last).findIndex((text) => text.trim() !== "");
  return filled < 0 ? first : first + filled;
}

/** The first line of those that hold most terms, 0 when none holds any. */
function scoredBest(
  lines: readonly string[],
  first: number,
  last: number,
  termsIn: LineTerms["termsIn"],
  intentIn: LineTerms["intentIn"],
): number {
  let best = 0;
  let most = 0;
  for (let line = first; line <= last; line++) {
    const text = lines[line - 1] ?? "";
    const score = termsIn(text).length + INTENT_WEIGHT * (intentIn?.(text).length ?? 0);
    if (score > most) {
      most = score;
      best = line;
    }
  }
  return best;
}

function cut(
  lines: readonly string[],
  place: { startLine: number; endLine: number },
  maxChars: number,
  termsIn: (text: string) => string[],
): { text: string; startLine: number; endLine: number } {
  const text = lines.join("\n");
  if (text.length <= maxChars) return { text, ...place };
  const part = snippetOf({ text, ...place }, maxChars - 3, termsIn);
  const lastLine = lines[part.endLine - place.startLine] ?? "";
  return lastLine !== "" && part.text.endsWith(lastLine) ? part : { ...part, text: `${part.text.trimEnd()}...` };
}

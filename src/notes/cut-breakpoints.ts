import { splitsPair } from "./cut-lines.ts";
import { passageText } from "./passage-text.ts";
import type { Cutting, PassageDraft } from "./types.ts";

type BreakpointCutting = Extract<Cutting, { kind: "breakpoints" }>;

/** How well a passage ends before a line: `score` 1 to 100, `at` the offset of the newline before it. */
type BreakPoint = { at: number; score: number };

const HEADING_SCORES = [100, 90, 80, 70, 60, 50];
const FENCE_SCORE = 80;
const RULE_SCORE = 60;
const BLANK_SCORE = 20;
const LIST_SCORE = 5;
/** How much a break point loses towards the far end of the window. */
const DISTANCE_DECAY = 0.7;

/**
 * Passages of at most `maxChars`, each ending at the best break point in the last `windowChars` (headings before fences before
 * blank lines before list items before lines, nearer before farther), the next beginning `overlapChars` earlier. These are the cuts
 * that qmd 2.8.3 makes in its first pass, so its stored vectors fit. Passages of blanks are left out; `seq` counts them.
 */
export function cutAtBreakpoints(text: string, cutting: BreakpointCutting): PassageDraft[] {
  const passages: PassageDraft[] = [];
  const lines = lineCounter(text);
  const fences = text.length > cutting.maxChars ? fencesOf(text) : [];
  let start = 0;
  for (let seq = 0; start < text.length; seq++) {
    const end = passageEnd(text, start, fences, cutting);
    const run = passageText(text, start, end - start);
    const startLine = lines(start);
    if (run.trim() !== "")
      passages.push({ seq, startLine, endLine: lines(end), pos: start, length: end - start, text: run });
    if (end >= text.length) break;
    const next = beforePair(text, end - cutting.overlapChars);
    start = next > start ? next : end;
  }
  return passages;
}

function passageEnd(text: string, start: number, fences: readonly BreakFence[], cutting: BreakpointCutting): number {
  const target = start + cutting.maxChars;
  if (target >= text.length) return text.length;
  const best = bestBreak(text, target, fences, cutting.windowChars);
  const end = beforePair(text, best > start ? best : target);
  return end > start ? end : target;
}

function bestBreak(text: string, target: number, fences: readonly BreakFence[], windowChars: number): number {
  let best = -1;
  let bestScore = 0;
  for (const { at, score } of breakPoints(text, target - windowChars, target)) {
    const distance = (target - at) / windowChars;
    const weighted = score * (1 - DISTANCE_DECAY * distance * distance);
    if (weighted > bestScore && !isFenced(fences, at)) {
      best = at;
      bestScore = weighted;
    }
  }
  return best;
}

function* breakPoints(text: string, from: number, to: number): Generator<BreakPoint> {
  const first = Math.max(0, from);
  // In all of the text the next newline may be megabytes away, at every passage again.
  const window = text.slice(first, to + 1);
  for (let nl = window.indexOf("\n"); nl >= 0; nl = window.indexOf("\n", nl + 1)) {
    const at = first + nl;
    yield { at, score: lineScore(text, at + 1) };
  }
}

/** Score of a break before the line that begins at `start`; only as much of the line is looked at as decides. */
function lineScore(text: string, start: number): number {
  const head = text.slice(start, start + 80);
  const hashes = /^#+/.exec(head)?.[0].length ?? 0;
  if (hashes > 0) return HEADING_SCORES[hashes - 1] ?? 1;
  if (head.startsWith("```")) return FENCE_SCORE;
  if (/^(?:---|\*\*\*|___)\s*\n/.test(head)) return RULE_SCORE;
  if (head.startsWith("\n")) return BLANK_SCORE;
  return /^(?:[-*]|\d+\.)\s/.test(head) ? LIST_SCORE : 1;
}

type BreakFence = { from: number; to: number };

/** Fenced code: from the newline before its opening to the end of its closing mark; an unclosed one runs to the end. */
function fencesOf(text: string): BreakFence[] {
  const fences: BreakFence[] = [];
  let open = -1;
  for (let at = text.indexOf("\n```"); at >= 0; at = text.indexOf("\n```", at + 4)) {
    if (open < 0) open = at;
    else {
      fences.push({ from: open, to: at + 4 });
      open = -1;
    }
  }
  if (open >= 0) fences.push({ from: open, to: text.length });
  return fences;
}

/** Whether `at` lies strictly inside one of the fences, which are in order. */
function isFenced(fences: readonly BreakFence[], at: number): boolean {
  let low = 0;
  let high = fences.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((fences[middle]?.to ?? 0) > at) high = middle;
    else low = middle + 1;
  }
  const fence = fences[low];
  return fence !== undefined && at > fence.from;
}

function beforePair(text: string, at: number): number {
  return splitsPair(text, at) ? at - 1 : at;
}

/** Line numbers of offsets that never go back by more than an overlap: counts on from the last one. */
function lineCounter(text: string): (at: number) => number {
  let known = 0;
  let line = 1;
  return (at) => {
    const between = text.slice(Math.min(at, known), Math.max(at, known));
    const step = at >= known ? 1 : -1;
    for (let nl = between.indexOf("\n"); nl >= 0; nl = between.indexOf("\n", nl + 1)) line += step;
    known = at;
    return line;
  };
}

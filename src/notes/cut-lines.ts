import { keptRanges, type Range } from "./annotations.ts";
import { passageText } from "./passage-text.ts";
import type { PassageDraft } from "./types.ts";
import { characterWeight, weightOf } from "./weight.ts";

/** A line of the document; `text` is what annotations leave of it. */
export type Line = { number: number; start: number; raw: string; text: string; kept: Range[] | null };

/** A whole line or a piece of a long one: UTF-16 offsets into `line.text`. `weight` includes 1 for the line break. */
type Segment = { line: Line; from: number; to: number; weight: number };

export type LineWeights = { maxWeight: number; overlapWeight: number };

/** The lines of a text, split at `\n` only: a carriage return belongs to its line, and a final newline begins a last, empty line. */
export function* linesOf(text: string): Generator<Line> {
  const annotated = text.includes("<!--");
  let start = 0;
  for (let number = 1; ; number++) {
    const newline = text.indexOf("\n", start);
    const raw = text.slice(start, newline < 0 ? text.length : newline);
    const kept = annotated ? keptRanges(raw) : null;
    const left = kept === null ? raw : kept.map((range) => raw.slice(range.from, range.to)).join("");
    yield { number, start, raw, kept, text: left };
    if (newline < 0) return;
    start = newline + 1;
  }
}

/**
 * Packs whole lines into passages of at most `maxWeight` and repeats whole lines of at most `overlapWeight` at the start of the next
 * one. A longer line is cut at characters. Lines and hashes are those of OpenClaw 2026.9.6. Passages of blanks are left out.
 */
export function packLines(document: string, lines: Iterable<Line>, weights: LineWeights, firstSeq = 0): PassageDraft[] {
  const passages: PassageDraft[] = [];
  let current: Segment[] = [];
  let currentWeight = 0;
  const flush = (): void => {
    const passage = passageOf(document, current, firstSeq + passages.length);
    if (passage !== null) passages.push(passage);
  };
  for (const line of lines) {
    for (const segment of segmentsOf(line, weights.maxWeight)) {
      if (current.length > 0 && currentWeight + segment.weight > weights.maxWeight) {
        flush();
        const room = Math.max(0, weights.maxWeight - segment.weight);
        current = overlapOf(current, Math.min(weights.overlapWeight, room));
        currentWeight = current.reduce((sum, { weight }) => sum + weight, 0);
      }
      current.push(segment);
      currentWeight += segment.weight;
    }
  }
  if (current.length > 0) flush();
  return passages;
}

/** A line cut into runs of at most `maxWeight` UTF-16 units, and those again at characters where they weigh more. */
function segmentsOf(line: Line, maxWeight: number): Segment[] {
  const { text } = line;
  if (text.length === 0) return [{ line, from: 0, to: 0, weight: 1 }];
  // Nearly every line is short; no character weighs less than its length.
  const whole = text.length > maxWeight ? Infinity : weightOf(text);
  if (whole <= maxWeight) return [{ line, from: 0, to: text.length, weight: whole + 1 }];
  const segments: Segment[] = [];
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + maxWeight);
    if (to < text.length && splitsPair(text, to)) to -= 1;
    const run = text.slice(from, to);
    const weight = weightOf(run);
    if (weight <= maxWeight) segments.push({ line, from, to, weight: weight + 1 });
    else segments.push(...lighterSegments(line, from, run, maxWeight));
    from = to;
  }
  return segments;
}

function lighterSegments(line: Line, start: number, run: string, maxWeight: number): Segment[] {
  const segments: Segment[] = [];
  let from = start;
  let to = start;
  let weight = 0;
  for (const character of run) {
    const added = characterWeight(character);
    if (weight + added > maxWeight && to > from) {
      segments.push({ line, from, to, weight: weight + 1 });
      from = to;
      weight = 0;
    }
    to += character.length;
    weight += added;
  }
  segments.push({ line, from, to, weight: weight + 1 });
  return segments;
}

/** The last whole segments that fit into `room`; if not even the last one does, its end. */
function overlapOf(segments: readonly Segment[], room: number): Segment[] {
  let first = segments.length;
  let left = room;
  for (
    let segment = segments[first - 1];
    segment !== undefined && segment.weight <= left;
    segment = segments[first - 1]
  ) {
    left -= segment.weight;
    first -= 1;
  }
  if (first < segments.length) return segments.slice(first);
  const last = segments.at(-1);
  const tail = last === undefined ? null : tailOf(last, room - 1);
  return tail === null ? [] : [tail];
}

function tailOf(segment: Segment, maxWeight: number): Segment | null {
  const { text } = segment.line;
  let from = segment.to;
  let weight = 0;
  while (from > segment.from) {
    const before = from - 1 > segment.from && splitsPair(text, from - 1) ? from - 2 : from - 1;
    const added = characterWeight(text.slice(before, from));
    if (weight + added > maxWeight) break;
    weight += added;
    from = before;
  }
  return from === segment.to ? null : { line: segment.line, from, to: segment.to, weight: weight + 1 };
}

/** Whether cutting before `at` would part a surrogate pair. */
export function splitsPair(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;
}

function passageOf(document: string, segments: readonly Segment[], seq: number): PassageDraft | null {
  const first = segments[0];
  const last = segments.at(-1);
  if (first === undefined || last === undefined) return null;
  const pos = first.line.start + rawStart(first.line, first.from);
  const length = last.line.start + rawEnd(last.line, last.to) - pos;
  const text = passageText(document, pos, length);
  if (text.trim() === "") return null;
  const draft: PassageDraft = { seq, startLine: first.line.number, endLine: last.line.number, pos, length, text };
  if (segments.some(({ line }, index) => line === segments[index - 1]?.line)) {
    draft.hashedText = segments.map(({ line, from, to }) => line.text.slice(from, to)).join("\n");
  }
  return draft;
}

/** Offset in the raw line of the kept character at `index`, the line's start when nothing of it is kept. */
function rawStart({ kept, text }: Line, index: number): number {
  if (kept === null) return index;
  if (text === "") return 0;
  let left = index;
  for (const { from, to } of kept) {
    if (left < to - from) return from + left;
    left -= to - from;
  }
  return kept.at(-1)?.to ?? 0;
}

/** Offset in the raw line behind the kept character before `index`. */
function rawEnd(line: Line, index: number): number {
  return line.kept === null ? index : index === 0 ? 0 : rawStart(line, index - 1) + 1;
}

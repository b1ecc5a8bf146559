import { annotationsOf } from "./annotations.ts";
import { type Line, type LineWeights, linesOf, packLines } from "./cut-lines.ts";
import type { PassageDraft } from "./types.ts";

const ENTRY_START = /^(?:- |#{1,6}(?:\s|$))/;

/**
 * Passages of a curated file (`MEMORY.md`, `USER.md`): every top-level list item and every heading begins one of its own, and
 * carries the annotations of its lines. A long entry is cut like any other text; all its parts keep its annotations.
 */
export function cutEntries(text: string, weights: LineWeights): PassageDraft[] {
  const passages: PassageDraft[] = [];
  for (const group of entriesOf(text)) {
    const annotations = annotationsOf(group.map((line) => line.raw));
    for (const passage of packLines(text, group, weights, passages.length))
      passages.push({ ...passage, ...annotations });
  }
  return passages;
}

function* entriesOf(text: string): Generator<Line[]> {
  let group: Line[] = [];
  for (const line of linesOf(text)) {
    if (group.length > 0 && ENTRY_START.test(line.raw)) {
      yield group;
      group = [];
    }
    group.push(line);
  }
  yield group;
}

import { textWithoutAnnotations } from "./annotations.ts";

/**
 * A stored passage's text again: the run of `length` UTF-16 units at `pos` of the decoded document, freed of annotation comments.
 * Equal to the `text` that cutting gave the passage.
 */
export function passageText(documentText: string, pos: number, length: number): string {
  return textWithoutAnnotations(documentText, pos, pos + length);
}

import { stem } from "./stem.ts";

/** What a stretch of text is indexed as. */
export type Token = {
  /** What stands in the index. */
  term: string;
  /** The word as written, folded but not stemmed: for stop words and for showing. */
  surface: string;
  /**
   * `word`: a word or number, or a part of an identifier; `pair`: two neighbouring characters of an unspaced script;
   * `single`: one such character; `whole`: an identifier with all its parts.
   */
  kind: "word" | "pair" | "single" | "whole";
  /** Whether it is a part of an identifier that is also there as a whole. */
  part: boolean;
  /** Its script, a constant of `scripts.ts`; `DIGIT` for numbers and codes. */
  script: number;
};

/** Longer words are cut off here, in index and query alike: nobody types them, and they are mostly encoded data. */
export const MAX_TERM = 64;

/** A run of characters of one class, and what stands between it and the one before it. */
export type Atom = { text: string; script: number; before: string };

/** Adds a word as it stands in the index. */
export function addWord(tokens: Token[], word: string, script: number, part: boolean): void {
  const surface = word.length > MAX_TERM ? cutOff(word) : word;
  tokens.push({ term: stem(surface, script), surface, kind: "word", part, script });
}

/** The first `MAX_TERM` UTF-16 units, without half a character at the end. */
function cutOff(word: string): string {
  return word.slice(0, MAX_TERM).replace(/[\ud800-\udbff]$/, "");
}

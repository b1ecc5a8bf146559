import { frontMatterLength } from "./front-matter.ts";
import type { PassageDraft } from "./types.ts";

/** A longer heading is a paragraph. */
const MAX_HEADING = 200;
/** What is read of a heading: comments in it are taken out, in a time that grows with the square of their number. */
const READ_OF_HEADING = 1000;

/** A heading of Markdown, or the mark before or behind a block of code, in which a `#` begins a comment. */
const HEADING_OR_FENCE = /^(?:(#{1,6})[ \t]+(\S.*)|[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})(.*))$/gm;

/** Elsewhere a line that begins with `#` is a comment, or somebody's words. */
const MARKDOWN = /\.(?:md|markdown|mdx)$/i;

/** What a passage stands under, outermost first. `isBare`: it is a heading and nothing else, and what stands under it has all its words. */
export type Standing = { headings: string[]; isBare: boolean };

/**
 * The headings that each passage of a file stands under: those of the sections that its first line is in, without the heading that
 * begins it. A passage alone has none that are not its own.
 */
export function standingOf(
  path: string,
  text: string,
  passages: readonly Pick<PassageDraft, "pos" | "text">[],
): Standing[] {
  const above = MARKDOWN.test(path) ? headingsAbove(text, passages) : passages.map(() => []);
  return passages.map((passage, at) => {
    const headings = above[at] ?? [];
    return { headings, isBare: (above[at + 1]?.length ?? 0) > headings.length && isOnlyHeading(passage.text) };
  });
}

/** The headings above each passage of Markdown. */
export function headingsAbove(text: string, passages: readonly Pick<PassageDraft, "pos">[]): string[][] {
  if (passages.length < 2 || !text.includes("#")) return passages.map(() => []);
  const headings = headingsOf(text);
  const open: Heading[] = [];
  let next = 0;
  return passages.map(({ pos }) => {
    for (let heading = headings[next]; heading && heading.pos < pos; heading = headings[++next]) {
      closeSections(open, heading.level);
      open.push(heading);
    }
    // What is cut with an overlap may begin before the one before it ended, but never before it began.
    const own = headings[next];
    const above = own?.pos === pos ? open.filter(({ level }) => level < own.level) : open;
    return above.map(({ words }) => words);
  });
}

/** One that is no longer than what is kept of it, and without a comment that is not. */
function isOnlyHeading(text: string): boolean {
  return text.length <= MAX_HEADING && !text.includes("<!--") && /^#{1,6}[ \t]+\S[^\n]*\s*$/.test(text);
}

type Heading = { pos: number; level: number; words: string };

function headingsOf(text: string): Heading[] {
  const headings: Heading[] = [];
  const from = frontMatterLength(text);
  let fence: string | null = null;
  for (const found of text.matchAll(HEADING_OR_FENCE)) {
    const [, hashes, words, mark = "", behind = ""] = found;
    if (hashes !== undefined && words !== undefined) {
      if (fence === null && found.index >= from)
        headings.push({ pos: found.index, level: hashes.length, words: wordsOf(words) });
    } else if (fence === null) {
      // Marks on both sides of some words are code within a line.
      if (!behind.includes("`")) fence = mark;
    } else if (mark.startsWith(fence) && behind.trim() === "") fence = null;
  }
  return headings;
}

function wordsOf(heading: string): string {
  return heading
    .slice(0, READ_OF_HEADING)
    .replace(/<!--.*?-->/g, "")
    .slice(0, MAX_HEADING)
    .trim();
}

function closeSections(open: Heading[], level: number): void {
  while (open.length > 0 && open.at(-1)!.level >= level) open.pop();
}

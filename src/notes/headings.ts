import type { PassageDraft } from "./types.ts";

/** A longer heading is a paragraph. */
const MAX_HEADING = 200;

/** A heading of Markdown, or the beginning or end of a block of code, in which a `#` begins a comment. */
const HEADING_OR_FENCE = /^(?:(#{1,6})[ \t]+(\S.*)|[ \t]*(?:```|~~~).*)$/gm;

/**
 * The headings that each passage stands under, outermost first: those of the sections that its first line is in, without the heading
 * that begins it. A passage alone has none that are not its own.
 */
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

/** Whether a passage is a heading and nothing else. */
export function isOnlyHeading(text: string): boolean {
  return /^#{1,6}[ \t]+\S[^\n]*\s*$/.test(text);
}

type Heading = { pos: number; level: number; words: string };

function headingsOf(text: string): Heading[] {
  const headings: Heading[] = [];
  let isCode = false;
  for (const found of text.matchAll(HEADING_OR_FENCE)) {
    const [, hashes, words] = found;
    if (hashes === undefined || words === undefined) isCode = !isCode;
    else if (!isCode) headings.push({ pos: found.index, level: hashes.length, words: wordsOf(words) });
  }
  return headings;
}

function wordsOf(heading: string): string {
  return heading
    .replace(/<!--.*?-->/g, "")
    .slice(0, MAX_HEADING)
    .trim();
}

function closeSections(open: Heading[], level: number): void {
  while (open.length > 0 && open.at(-1)!.level >= level) open.pop();
}

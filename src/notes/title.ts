import { splitsPair } from "./cut-lines.ts";

/** A heading that says nothing about the note: the next one is its title. */
const EMPTY_TITLES = new Set(["Notes", "📝 Notes"]);

/** A longer title is a paragraph, or a file without line breaks. */
const MAX_TITLE = 300;

/**
 * A note's title as qmd 2.8.3 finds it: in `.md` the first heading of level 1 or 2, in `.org` `#+TITLE:` or the first headline,
 * otherwise the file name without its extension. At most 300 characters of it.
 */
export function titleOf(text: string, path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const dot = name.lastIndexOf(".");
  const extension = dot < 0 ? "" : name.slice(dot).toLowerCase();
  const found = extension === ".md" ? markdownTitle(text) : extension === ".org" ? orgTitle(text) : undefined;
  return shortened(found ?? (dot > 0 ? name.slice(0, dot) : name));
}

function markdownTitle(text: string): string | undefined {
  const title = /^##?\s+(.+)$/m.exec(text)?.[1]?.trim();
  if (title === undefined || !EMPTY_TITLES.has(title)) return title;
  return /^##\s+(.+)$/m.exec(text)?.[1]?.trim() ?? title;
}

function orgTitle(text: string): string | undefined {
  return (/^#\+TITLE:\s*(.+)$/im.exec(text) ?? /^\*+\s+(.+)$/m.exec(text))?.[1]?.trim();
}

function shortened(title: string): string {
  return title.length <= MAX_TITLE ? title : title.slice(0, splitsPair(title, MAX_TITLE) ? MAX_TITLE - 1 : MAX_TITLE);
}

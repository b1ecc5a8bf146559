/** A heading that says nothing about the note: the next one is its title. */
const EMPTY_TITLES = new Set(["Notes", "📝 Notes"]);

/**
 * A note's title as qmd 2.8.3 finds it: in `.md` the first heading of level 1 or 2, in `.org` `#+TITLE:` or the first headline,
 * otherwise the file name without its extension.
 */
export function titleOf(text: string, path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const dot = name.lastIndexOf(".");
  const extension = dot < 0 ? "" : name.slice(dot).toLowerCase();
  const found = extension === ".md" ? markdownTitle(text) : extension === ".org" ? orgTitle(text) : undefined;
  return found ?? (dot > 0 ? name.slice(0, dot) : name);
}

function markdownTitle(text: string): string | undefined {
  const title = /^##?\s+(.+)$/m.exec(text)?.[1]?.trim();
  if (title === undefined || !EMPTY_TITLES.has(title)) return title;
  return /^##\s+(.+)$/m.exec(text)?.[1]?.trim() ?? title;
}

function orgTitle(text: string): string | undefined {
  return (/^#\+TITLE:\s*(.+)$/im.exec(text) ?? /^\*+\s+(.+)$/m.exec(text))?.[1]?.trim();
}

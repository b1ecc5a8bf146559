import { isObject } from "../json.ts";
import { utcMidnight } from "./dates.ts";
import { titleOf } from "./title.ts";
import type { NoteFacts } from "./types.ts";

/** `---`, the YAML, and a closing `---` or `...`, all on lines of their own at the very start. */
const FRONT_MATTER = /^---[ \t]*\r?\n([^]*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/;

/** A longer block is no front matter that anyone wrote. */
const MAX_FRONT_MATTER = 20_000;

/**
 * What a note says about itself: its title (`titleOf`), and from YAML front matter `date` (a real date, kept as `YYYY-MM-DD`) and
 * `tags` (a list, or words separated by commas or blanks; `#` in front is dropped). Front matter that is no YAML is just text.
 */
export async function noteFacts(text: string, path: string): Promise<NoteFacts> {
  const title = titleOf(text, path);
  const yaml = frontMatter(text)?.[1];
  if (yaml === undefined || !/^["']?(?:tags?|date)["']?\s*:/m.test(yaml)) return { title, tags: [] };
  const fields = await parseFields(yaml);
  const date = dateOf(fields["date"]);
  return { title, tags: tagsOf(fields["tags"] ?? fields["tag"]), ...(date === null ? {} : { date }) };
}

/** How long the front matter of a note is, its marks included; 0 without one. */
export function frontMatterLength(text: string): number {
  return frontMatter(text)?.[0].length ?? 0;
}

function frontMatter(text: string): RegExpExecArray | null {
  return text.startsWith("---") ? FRONT_MATTER.exec(text.slice(0, MAX_FRONT_MATTER)) : null;
}

async function parseFields(yaml: string): Promise<Record<string, unknown>> {
  const { parse } = await import("yaml");
  try {
    const fields: unknown = parse(yaml, { logLevel: "silent", schema: "core", uniqueKeys: false, maxAliasCount: 20 });
    return isObject(fields) ? { ...fields } : {};
  } catch {
    return {};
  }
}

function tagsOf(value: unknown): string[] {
  const items: unknown[] = Array.isArray(value) ? value : typeof value === "string" ? value.split(/[,\s]+/) : [value];
  const tags = items
    .filter((item) => typeof item === "string" || typeof item === "number")
    .map((item) => String(item).trim().replace(/^#+/, ""))
    .filter((tag) => tag !== "");
  return [...new Set(tags)];
}

/** The date at the start of a string, if the calendar has it. */
function dateOf(value: unknown): string | null {
  const match = typeof value === "string" ? /^\s*(\d{4})-(\d{2})-(\d{2})(?!\d)/.exec(value) : null;
  if (match === null) return null;
  const day = `${match[1]}-${match[2]}-${match[3]}`;
  return utcMidnight(day) === null ? null : day;
}

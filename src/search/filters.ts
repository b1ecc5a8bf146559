import { MemqError } from "../errors.ts";
import { utcMidnight } from "../notes/dates.ts";
import type { DocumentRow } from "../store/types.ts";
import { DAY_MS, dayInName } from "./recency.ts";

/** Which notes count, beyond the collection. */
export type NoteFilter = {
  since?: number;
  until?: number;
  /** A note must carry all of them. */
  tags?: string[];
  /** Who asks may not see every note. */
  visible?: (note: Pick<DocumentRow, "collection" | "path">) => boolean;
};

const unitDays: Record<string, number> = { d: 1, w: 7 };

/**
 * Reads one end of a period: a day (`2026-02-10`, in this machine's zone), a time stamp (`2026-02-10T14:15:00Z`) or how long ago
 * (`7d`, `2w`, `3m`). Both ends count, so a day as `until` means its last millisecond. Milliseconds since 1970; throws `BAD_TIME`.
 */
export function parseTime(text: string, end: "since" | "until", now: number): number {
  const value = text.trim();
  const ago = /^(\d{1,5})([dwm])$/i.exec(value);
  if (ago) return timeAgo(Number(ago[1]), (ago[2] ?? "d").toLowerCase(), now);
  if (utcMidnight(value) !== null) {
    const day = localDay(value);
    return end === "since" ? day.from : day.to;
  }
  const stamped = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}/.test(value) && utcMidnight(value.slice(0, 10)) !== null;
  const at = stamped ? Date.parse(value.replace(" ", "T")) : Number.NaN;
  if (Number.isNaN(at)) {
    throw new MemqError("BAD_TIME", `${end}: "${text}" is neither a date nor a length of time.`, {
      hint: "Write a day (2026-02-10), a time stamp (2026-02-10T14:15:00Z) or 7d, 2w, 3m.",
      exitCode: 2,
    });
  }
  return at;
}

function timeAgo(count: number, unit: string, now: number): number {
  const days = unitDays[unit];
  if (days !== undefined) return now - count * days * DAY_MS;
  const then = new Date(now);
  const dayOfMonth = then.getDate();
  then.setDate(1);
  then.setMonth(then.getMonth() - count);
  const lastDay = new Date(then.getFullYear(), then.getMonth() + 1, 0).getDate();
  then.setDate(Math.min(dayOfMonth, lastDay));
  return then.getTime();
}

/** First and last millisecond of `YYYY-MM-DD` in this machine's zone. */
function localDay(day: string): { from: number; to: number } {
  const year = Number(day.slice(0, 4));
  const month = Number(day.slice(5, 7)) - 1;
  const date = Number(day.slice(8, 10));
  return { from: new Date(year, month, date).getTime(), to: new Date(year, month, date + 1).getTime() - 1 };
}

/** Whether a search asks for a part of the notes only. */
export function isFiltering(filter: NoteFilter): boolean {
  const { since, until, tags, visible } = filter;
  return since !== undefined || until !== undefined || (tags?.length ?? 0) > 0 || visible !== undefined;
}

/**
 * Whether a note lies in the period and carries every tag (case and a leading `#` don't matter). Its date is the day its name begins
 * with, else front matter's `date`, else its modification time; a day counts as a whole.
 */
export function passesFilter(
  note: Pick<DocumentRow, "path" | "date" | "mtimeMs" | "tags">,
  filter: NoteFilter,
): boolean {
  const day = dayInName(note.path) ?? (note.date !== null && utcMidnight(note.date) !== null ? note.date : null);
  const { from, to } = day === null ? { from: note.mtimeMs, to: note.mtimeMs } : localDay(day);
  if (filter.since !== undefined && to < filter.since) return false;
  if (filter.until !== undefined && from > filter.until) return false;
  if (!filter.tags || filter.tags.length === 0) return true;
  const own = new Set(note.tags.map(plainTag));
  return filter.tags.every((tag) => own.has(plainTag(tag)));
}

function plainTag(tag: string): string {
  return tag.replace(/^#/, "").normalize("NFC").toLowerCase();
}

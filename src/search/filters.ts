import { MemqError } from "../errors.ts";
import { DAY_MS, dateInZone, FOUR_DIGIT_YEARS, instantInZone, utcMidnight } from "../notes/dates.ts";
import type { DocumentRow } from "../store/types.ts";
import { dayInName } from "./recency.ts";

/** Which notes count, beyond the collection. */
export type NoteFilter = {
  since?: number;
  until?: number;
  /** In which days begin and end (IANA name); this machine's when absent. */
  timeZone?: string;
  /** A note must carry all of them. */
  tags?: string[];
  /** Who asks may not see every note. */
  visible?: (note: Pick<DocumentRow, "collection" | "path">) => boolean;
};

const UNIT_DAYS: Record<string, number> = { d: 1, w: 7 };

/**
 * Reads one end of a period: a day (`2026-02-10`), a time stamp (`2026-02-10T14:15:00Z`; days and stamps without an offset are in
 * `timeZone`, this machine's when absent) or how long ago (`7d`, `2w`, `3m`). Both ends count, so a day as `until` means its last
 * millisecond. Milliseconds since 1970; throws `BAD_TIME`.
 */
export function parseTime(text: string, end: "since" | "until", now: number, timeZone?: string): number {
  const value = text.trim();
  const ago = /^(\d{1,5})([dwm])$/i.exec(value);
  if (ago) return timeAgo(Number(ago[1]), (ago[2] ?? "d").toLowerCase(), now, timeZone);
  const midnight = utcMidnight(value);
  if (midnight !== null) {
    return end === "since" ? instantInZone(midnight, timeZone) : instantInZone(midnight + DAY_MS, timeZone) - 1;
  }
  const at = stampedTime(value.replace(" ", "T"), timeZone);
  if (Number.isNaN(at)) {
    throw new MemqError("BAD_TIME", `${end}: "${text}" is neither a date nor a length of time.`, {
      hint: "Write a day (2026-02-10), a time stamp (2026-02-10T14:15:00Z) or 7d, 2w, 3m.",
      exitCode: 2,
    });
  }
  return at;
}

/** A time stamp in milliseconds since 1970, or NaN. */
function stampedTime(stamp: string, timeZone: string | undefined): number {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(stamp) || utcMidnight(stamp.slice(0, 10)) === null) return Number.NaN;
  const wall = Date.parse(`${stamp}Z`);
  return Number.isNaN(wall) ? Date.parse(stamp) : instantInZone(wall, timeZone);
}

/** Months go by the calendar: the same time of the same day, or of the month's last day where it is shorter. */
function timeAgo(count: number, unit: string, now: number, timeZone: string | undefined): number {
  const days = UNIT_DAYS[unit];
  if (days !== undefined) return now - count * days * DAY_MS;
  const today = Date.parse(dateInZone(now, timeZone));
  const then = new Date(today);
  const dayOfMonth = then.getUTCDate();
  then.setUTCDate(1);
  then.setUTCMonth(then.getUTCMonth() - count);
  const lastDay = new Date(then);
  lastDay.setUTCMonth(lastDay.getUTCMonth() + 1, 0);
  then.setUTCDate(Math.min(dayOfMonth, lastDay.getUTCDate()));
  const sinceMidnight = now - instantInZone(today, timeZone);
  return instantInZone(then.getTime() + sinceMidnight, timeZone);
}

/** Whether a search asks for a part of the notes only. */
export function isFiltering(filter: NoteFilter): boolean {
  const { since, until, tags, visible } = filter;
  return since !== undefined || until !== undefined || (tags?.length ?? 0) > 0 || visible !== undefined;
}

/**
 * The test whether a note lies in the period and carries every tag (case and a leading `#` don't matter). Its date is the day its
 * name begins with, else front matter's `date`, else its modification time; a day counts as a whole.
 */
export function filterTest(
  filter: NoteFilter,
): (note: Pick<DocumentRow, "path" | "date" | "mtimeMs" | "tags">) => boolean {
  const { since = -Infinity, until = Infinity, timeZone, tags = [] } = filter;
  const [firstDay, lastDay] = [dayOf(since, timeZone), dayOf(until, timeZone)];
  const wanted = tags.map(plainTag);
  return (note) => {
    const day = dayInName(note.path) ?? (note.date !== null && utcMidnight(note.date) !== null ? note.date : null);
    const isWithin = day === null ? note.mtimeMs >= since && note.mtimeMs <= until : day >= firstDay && day <= lastDay;
    if (!isWithin || wanted.length === 0) return isWithin;
    const own = new Set(note.tags.map(plainTag));
    return wanted.every((tag) => own.has(tag));
  };
}

/** The day of an instant, in the order of days also where its year has not four digits. */
function dayOf(timeMs: number, timeZone: string | undefined): string {
  if (timeMs < FOUR_DIGIT_YEARS.from) return "";
  return timeMs > FOUR_DIGIT_YEARS.to ? "~" : dateInZone(timeMs, timeZone);
}

function plainTag(tag: string): string {
  return tag.replace(/^#/, "").normalize("NFC").toLowerCase();
}

import type { Collection, SearchProfile } from "../home/types.ts";
import { DAY_MS, utcMidnight } from "../notes/dates.ts";

/** What recency needs to know of a document. */
export type Dated = { path: string; mtimeMs: number; date: string | null };

const NAMED_DAY = /^(\d{4})-(\d{2})-(\d{2})(?=$|[-_.])/;
const EVERGREEN_NAMES = new Set(["MEMORY.md", "memory.md", "USER.md"]);

/**
 * The day that a document's base name begins with (`2026-02-10.md`, `trips/2026-02-10-lisbon.md`), as `YYYY-MM-DD`. Null when there
 * is none or it is no day of the calendar (`2026-02-30.md`).
 */
export function dayInName(path: string): string | null {
  const match = NAMED_DAY.exec(path.slice(path.lastIndexOf("/") + 1));
  return match && utcMidnight(match[0]) !== null ? match[0] : null;
}

/**
 * When a document is from, for recency, in milliseconds since 1970; null for one that never fades. Dated names count from midnight
 * UTC, transcripts from their last message, and undated notes only under `undated: "mtime"`. A negative modification time is none.
 */
export function fadesFrom(
  document: Dated,
  source: Collection["source"],
  undated: SearchProfile["recency"]["undated"],
): number | null {
  const modified = document.mtimeMs < 0 ? null : document.mtimeMs;
  if (source === "sessions") return lastMessageOf(document, modified);
  const day = dayInName(document.path);
  if (day !== null) return utcMidnight(day);
  if (undated === "evergreen" || EVERGREEN_NAMES.has(document.path)) return null;
  return modified;
}

/** Of the last message only the day is known; the file's own time is finer where it agrees, and wrong where the file was copied. */
function lastMessageOf({ date }: Dated, modified: number | null): number | null {
  const day = date === null ? null : utcMidnight(date);
  if (day === null) return modified;
  return modified !== null && modified >= day && modified < day + DAY_MS ? modified : day;
}

/**
 * The factor of a score for its age, in (0, 1]: `floor + (1 − floor) · e^(−ln 2 / halfLife · days)`. With a floor of 0 this is the
 * documented decay; what lies in the future has age 0.
 */
export function recencyFactor(from: number | null, asOf: number, recency: SearchProfile["recency"]): number {
  if (recency.mode === "off" || from === null) return 1;
  const days = Math.max(0, asOf - from) / DAY_MS;
  return recency.floor + (1 - recency.floor) * Math.exp((-Math.LN2 / recency.halfLifeDays) * days);
}

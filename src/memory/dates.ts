import { utcMidnight } from "../notes/dates.ts";

/** `YYYY-MM-DD` of an instant in a time zone (IANA name); the system's own zone when none is given. */
export function dateInZone(timeMs: number, timeZone?: string): string {
  const parts = new Intl.DateTimeFormat("en-CA", {
    timeZone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
  }).format(timeMs);
  return parts.slice(0, 10);
}

/** The day before a `YYYY-MM-DD`. */
export function dayBefore(date: string): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10);
}

/** Whether a string is `YYYY-MM-DD` and names a day that exists. */
export function isRealDate(date: string): boolean {
  return utcMidnight(date) !== null;
}

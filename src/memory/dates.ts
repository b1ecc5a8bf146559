import { DAY_MS, utcMidnight } from "../notes/dates.ts";

/** The day before a `YYYY-MM-DD`. */
export function dayBefore(date: string): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) - DAY_MS).toISOString().slice(0, 10);
}

/** Whether a string is `YYYY-MM-DD` and names a day that exists. */
export function isRealDate(date: string): boolean {
  return utcMidnight(date) !== null;
}

/** A day of 24 hours, in milliseconds. */
export const DAY_MS = 86_400_000;

/** Midnight UTC of `YYYY-MM-DD` in milliseconds since 1970, or null when it is no day of the calendar. */
export function utcMidnight(day: string): number | null {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  // Date.parse rolls 30 February over to March, so the day has to come back as it went in.
  return Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== day ? null : at;
}

/** `YYYY-MM-DD` of an instant in a time zone (IANA name); the system's own zone when none is given. Years 1000 to 9999 only. */
export function dateInZone(timeMs: number, timeZone?: string): string {
  return new Date(wallClock(timeMs, timeZone)).toISOString().slice(0, 10);
}

/**
 * The instant at which clocks in a time zone show what `wall` shows in UTC, both in milliseconds since 1970; the earlier one where
 * they show it twice; what they skip counts from the end of the gap, as with a clock that was not set forward.
 */
export function instantInZone(wall: number, timeZone?: string): number {
  const [before, after] = [wall - DAY_MS, wall + DAY_MS].map((near) => wall - (wallClock(near, timeZone) - near));
  const candidates = [before ?? wall, after ?? wall].sort((a, b) => a - b);
  return candidates.find((instant) => wallClock(instant, timeZone) === wall) ?? before ?? wall;
}

/** Instants whose year has four digits in every time zone. */
export const FOUR_DIGIT_YEARS = { from: Date.parse("1000-01-02T00:00:00Z"), to: Date.parse("9999-12-30T00:00:00Z") };

let formatter: { timeZone: string | undefined; format: Intl.DateTimeFormat } | undefined;

/** What clocks in a time zone show at an instant, as the milliseconds at which UTC shows it. */
function wallClock(timeMs: number, timeZone: string | undefined): number {
  if (timeZone === undefined) return timeMs - new Date(timeMs).getTimezoneOffset() * 60_000;
  if (formatter?.timeZone !== timeZone) {
    const digits = { month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" } as const;
    const format = new Intl.DateTimeFormat("en-u-hc-h23", { timeZone, era: "short", year: "numeric", ...digits });
    formatter = { timeZone, format };
  }
  const parts = new Map(formatter.format.formatToParts(timeMs).map(({ type, value }) => [type, value]));
  const of = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type));
  const year = parts.get("era") === "BC" ? 1 - of("year") : of("year");
  const wall = new Date(Date.UTC(2000, of("month") - 1, of("day"), of("hour"), of("minute"), of("second")));
  wall.setUTCFullYear(year, of("month") - 1, of("day"));
  return wall.getTime() + (((timeMs % 1000) + 1000) % 1000);
}

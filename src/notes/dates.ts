/** Midnight UTC of `YYYY-MM-DD` in milliseconds since 1970, or null when it is no day of the calendar. */
export function utcMidnight(day: string): number | null {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  // Date.parse rolls 30 February over to March, so the day has to come back as it went in.
  return Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== day ? null : at;
}

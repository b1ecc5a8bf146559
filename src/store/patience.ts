/** SQLite takes 32 bits, and a number beyond them for none. */
const MOST_MS = 2_147_483_647;

/** How many milliseconds to wait for another writer: `QMD_SQLITE_BUSY_TIMEOUT` where that is a whole number, else `fallback`. */
export function patienceMs(fallback: number): number {
  const value = process.env["QMD_SQLITE_BUSY_TIMEOUT"];
  return value && /^\d+$/.test(value) ? Math.min(Number(value), MOST_MS) : fallback;
}

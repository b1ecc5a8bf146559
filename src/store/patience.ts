/** How many milliseconds to wait for another writer: `QMD_SQLITE_BUSY_TIMEOUT` where that is a whole number, else `fallback`. */
export function patienceMs(fallback: number): number {
  const value = process.env["QMD_SQLITE_BUSY_TIMEOUT"];
  return value && /^\d+$/.test(value) ? Number(value) : fallback;
}

/**
 * The factor of a score for an entry's importance, 1 to 10 as its writer gave it: 0.80 for 1, 1 for 5, 1.25 for 10. An entry
 * without one is neutral.
 */
export function importanceFactor(importance: number | null): number {
  if (importance === null) return 1;
  return 0.75 + 0.05 * Math.min(10, Math.max(1, Math.floor(importance)));
}

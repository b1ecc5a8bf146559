/**
 * Edits (insert, delete, replace, swap neighbours) that turn one word into the other; Infinity where they are more than `most`, which
 * takes less than to count them.
 */
export function editDistance(from: string, to: string, most = Infinity): number {
  if (Math.abs(from.length - to.length) > most) return Infinity;
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let i = 1; i <= from.length; i++) {
    // Further from the diagonal than `most` there are more edits than that.
    const last = Math.min(to.length, i + most);
    const next = Array.from({ length: to.length + 1 }, () => Infinity);
    next[0] = i;
    let least = i;
    for (let j = Math.max(1, i - most); j <= last; j++) {
      const same = from[i - 1] === to[j - 1];
      let cost = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) {
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      }
      next[j] = cost;
      least = Math.min(least, cost);
    }
    // A swap reaches over one row.
    if (least > most && Math.min(...row) > most) return Infinity;
    before = row;
    row = next;
  }
  const edits = row[to.length] ?? from.length;
  return edits > most ? Infinity : edits;
}

/** The candidate nearest to `word`, or undefined when none is near enough to be what was meant. */
export function nearestName(word: string, candidates: readonly string[]): string | undefined {
  const wanted = word.toLowerCase();
  const limit = Math.max(1, Math.ceil(wanted.length / 3));
  let best: { name: string; distance: number } | undefined;
  for (const name of candidates) {
    const distance = editDistance(wanted, name.toLowerCase(), limit);
    if (distance <= limit && (best === undefined || distance < best.distance)) best = { name, distance };
  }
  return best?.name;
}

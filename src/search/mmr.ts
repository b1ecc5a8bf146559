/** A text as the 32-bit hashes of its distinct tokens, ascending. */
export type TokenSet = Uint32Array;

const BLANK = 32;

/** The distinct tokens of a string of tokens joined by blanks. Hashed (FNV-1a) as they are read: no token is cut out of the string. */
export function tokenSet(tokens: string): TokenSet {
  const hashes: number[] = [];
  let hash = 0x811c9dc5;
  let length = 0;
  for (let at = 0; at <= tokens.length; at++) {
    const code = at < tokens.length ? tokens.charCodeAt(at) : BLANK;
    if (code !== BLANK) {
      hash = Math.imul(hash ^ code, 0x01000193);
      length++;
    } else if (length > 0) {
      hashes.push(hash);
      hash = 0x811c9dc5;
      length = 0;
    }
  }
  const sorted = Uint32Array.from(hashes).sort();
  let kept = 0;
  for (let at = 0; at < sorted.length; at++) {
    if (at === 0 || sorted[at] !== sorted[at - 1]) sorted[kept++] = sorted[at]!;
  }
  return sorted.slice(0, kept);
}

export type Diversity<T> = {
  /** 1: the order as it comes; 0: only unlikeness counts. */
  lambda: number;
  /** In [0, 1], highest first within each group. */
  relevance: (row: T) => number;
  /** The tokens of a row's text, joined by blanks. */
  tokens: (row: T) => string;
};

type Waiting<T> = { row: T; gain: number; set: TokenSet | null; similarity: number; comparedTo: number };

/**
 * Yields rows by maximal marginal relevance, `λ · relevance − (1 − λ) · (largest similarity to a row already out)`, group after
 * group (Carbonell and Goldstein 1998). The first row of all stays first. A row's similarity only grows, so the value known so far
 * bounds it from above and most rows are never compared at all; the order is that of the full computation.
 */
export function* diversify<T>(groups: T[][], diversity: Diversity<T>): Generator<T> {
  const { lambda } = diversity;
  const out: TokenSet[] = [];
  for (const group of groups) {
    const waiting: Waiting<T>[] = group.map((row) => ({
      row,
      gain: lambda * diversity.relevance(row),
      set: null,
      similarity: 0,
      comparedTo: 0,
    }));
    while (waiting.length > 0) {
      const at = out.length === 0 || lambda === 1 ? 0 : indexOfBest(waiting, out, lambda, diversity.tokens);
      const [next] = waiting.splice(at, 1);
      if (!next) return;
      if (lambda < 1) out.push(next.set ?? tokenSet(diversity.tokens(next.row)));
      yield next.row;
    }
  }
}

function indexOfBest<T>(waiting: Waiting<T>[], out: TokenSet[], lambda: number, tokens: (row: T) => string): number {
  let best = 0;
  let bestValue = -Infinity;
  for (const [index, entry] of waiting.entries()) {
    if (entry.gain <= bestValue) break;
    if (entry.gain - (1 - lambda) * entry.similarity <= bestValue) continue;
    entry.set ??= tokenSet(tokens(entry.row));
    for (; entry.comparedTo < out.length; entry.comparedTo++) {
      const other = out[entry.comparedTo];
      if (other) entry.similarity = Math.max(entry.similarity, similarity(entry.set, other));
    }
    const value = entry.gain - (1 - lambda) * entry.similarity;
    if (value > bestValue) {
      best = index;
      bestValue = value;
    }
  }
  return best;
}

/**
 * The Jaccard similarity (shared tokens over all tokens) that two notes on one subject have anyway. Only what goes beyond it tells
 * that one repeats the other; counted from 0, it sends a second note with facts of its own behind a stray one.
 */
const SAME_SUBJECT = 0.4;

/** How far a text repeats another, 0 to 1; two texts without any token are alike. */
function similarity(a: TokenSet, b: TokenSet): number {
  if (a.length === 0 && b.length === 0) return 1;
  let shared = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const difference = a[i]! - b[j]!;
    if (difference === 0) shared++;
    if (difference <= 0) i++;
    if (difference >= 0) j++;
  }
  const jaccard = shared / (a.length + b.length - shared);
  return Math.max(0, (jaccard - SAME_SUBJECT) / (1 - SAME_SUBJECT));
}

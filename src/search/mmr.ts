/** A text as the distinct numbers of its tokens; `Vocabulary` gives the numbers. */
export type TokenSet = Uint32Array;

/** Numbers the tokens of one search, so that comparing two texts costs array reads and not string hashing. */
export class Vocabulary {
  private readonly numbers = new Map<string, number>();

  get size(): number {
    return this.numbers.size;
  }

  /** The distinct tokens of a string of tokens joined by blanks. */
  tokenSet(tokens: string): TokenSet {
    const distinct = new Set<number>();
    for (const token of tokens.split(" ")) {
      if (token === "") continue;
      let number = this.numbers.get(token);
      if (number === undefined) this.numbers.set(token, (number = this.numbers.size));
      distinct.add(number);
    }
    return Uint32Array.from(distinct);
  }
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
  const vocabulary = new Vocabulary();
  const out: Marked[] = [];
  for (const group of groups) {
    const waiting: Waiting<T>[] = group.map((row) => ({
      row,
      gain: lambda * diversity.relevance(row),
      set: null,
      similarity: 0,
      comparedTo: 0,
    }));
    while (waiting.length > 0) {
      const at = out.length === 0 || lambda === 1 ? 0 : indexOfBest(waiting, out, lambda, vocabulary, diversity.tokens);
      const [next] = waiting.splice(at, 1);
      if (!next) return;
      if (lambda < 1) {
        next.set ??= vocabulary.tokenSet(diversity.tokens(next.row));
        out.push(marked(next.set, vocabulary.size));
      }
      yield next.row;
    }
  }
}

function indexOfBest<T>(
  waiting: Waiting<T>[],
  out: Marked[],
  lambda: number,
  vocabulary: Vocabulary,
  tokens: (row: T) => string,
): number {
  let best = 0;
  let bestValue = -Infinity;
  for (const [index, entry] of waiting.entries()) {
    if (entry.gain <= bestValue) break;
    if (entry.gain - (1 - lambda) * entry.similarity <= bestValue) continue;
    entry.set ??= vocabulary.tokenSet(tokens(entry.row));
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

/** A token set as a table, `bits[number]` = 1 when it holds the token; numbers past its end were given later. */
type Marked = { bits: Uint8Array; size: number };

function marked(set: TokenSet, vocabularySize: number): Marked {
  const bits = new Uint8Array(vocabularySize);
  for (const number of set) bits[number] = 1;
  return { bits, size: set.length };
}

/**
 * The Jaccard similarity (shared tokens over all tokens) that two notes on one subject have anyway. Only what goes beyond it tells
 * that one repeats the other; counted from 0, it sends a second note with facts of its own behind a stray one.
 */
const SAME_SUBJECT = 0.4;

/** How far a text repeats another, 0 to 1; two texts without any token are alike. */
function similarity(set: TokenSet, other: Marked): number {
  if (set.length === 0 && other.size === 0) return 1;
  let shared = 0;
  for (const number of set) shared += other.bits[number] ?? 0;
  const jaccard = shared / (set.length + other.size - shared);
  return Math.max(0, (jaccard - SAME_SUBJECT) / (1 - SAME_SUBJECT));
}

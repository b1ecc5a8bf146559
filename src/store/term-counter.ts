import { expectsMuchWork } from "../long-running.ts";
import { MOST_COUNTED } from "./common-terms.ts";

/** Longer words are not counted. */
const MOST_CHARACTERS = 64;
/** Slots of the table for each term: few of the words that are no terms meet one. */
const SLOTS_PER_TERM = 4;
/** So many texts of a sample name the terms that are counted in all of it. */
const NAMING = 64;

/**
 * Counts some terms in strings of tokens, which blanks part and which are folded already, so that FTS5 counts the same. Where code is
 * compiled, it goes from blank to blank and looks a token up by its ends and its length; what has those of a term is compared: a third of
 * the time of splitting the string and looking up its parts. Where it is not, that is the faster form, since native code does most of it.
 */
export class TermCounter {
  /** How often each term stands in the strings since `reset`, at most `MOST_COUNTED`. */
  readonly counts: Uint8Array;
  /** The terms that do, `held` of them. */
  readonly found: Int32Array;
  held = 0;
  /** Open addressing: numbers of terms, −1 where there is none, and their keys. */
  private readonly slots: Int32Array;
  private readonly keys: Int32Array;
  private readonly numbers: Map<string, number> | null;

  constructor(
    private readonly terms: readonly string[],
    isCompiled = expectsMuchWork(),
  ) {
    this.numbers = isCompiled ? null : new Map(terms.map((term, number) => [term, number]));
    const bits = Math.ceil(Math.log2(SLOTS_PER_TERM * (terms.length + 1)));
    this.counts = new Uint8Array(terms.length);
    this.found = new Int32Array(terms.length);
    this.slots = new Int32Array(2 ** bits).fill(-1);
    this.keys = new Int32Array(2 ** bits);
    for (const [number, term] of terms.entries()) {
      const key = keyOf(term, 0, term.length);
      let slot = slotOf(key, bits);
      while (this.slots[slot] !== -1) slot = (slot + 1) % this.slots.length;
      this.slots[slot] = number;
      this.keys[slot] = key;
    }
  }

  reset(): void {
    for (let nth = 0; nth < this.held; nth++) this.counts[this.found[nth]!] = 0;
    this.held = 0;
  }

  /** Counts the terms in a string of tokens; how many tokens it has. */
  count(text: string): number {
    return this.numbers === null ? this.countedInPlace(text) : this.countedInParts(text, this.numbers);
  }

  private countedInParts(text: string, numbers: ReadonlyMap<string, number>): number {
    const parts = text.split(" ");
    let tokens = 0;
    for (let nth = 0; nth < parts.length; nth++) {
      const token = parts[nth]!;
      if (token !== "") tokens++;
      const term = numbers.get(token);
      if (term === undefined) continue;
      const count = this.counts[term]!;
      if (count === 0) this.found[this.held++] = term;
      if (count < MOST_COUNTED) this.counts[term] = count + 1;
    }
    return tokens;
  }

  private countedInPlace(text: string): number {
    const { slots, keys, terms, counts, found } = this;
    const last = slots.length - 1;
    const bits = 32 - Math.clz32(last);
    let { held } = this;
    let tokens = 0;
    for (let start = 0; start < text.length;) {
      const blank = text.indexOf(" ", start);
      const end = blank < 0 ? text.length : blank;
      if (end > start) {
        tokens++;
        const key = keyOf(text, start, end);
        for (let slot = slotOf(key, bits); slots[slot]! >= 0; slot = (slot + 1) & last) {
          const term = slots[slot]!;
          if (keys[slot] !== key || !isAt(terms[term]!, text, start, end)) continue;
          const count = counts[term]!;
          if (count === 0) found[held++] = term;
          if (count < MOST_COUNTED) counts[term] = count + 1;
          break;
        }
      }
      start = end + 1;
    }
    this.held = held;
    return tokens;
  }
}

/** First, second and last character and the length of a token. */
function keyOf(text: string, start: number, end: number): number {
  const length = end - start;
  const second = length > 1 ? text.charCodeAt(start + 1) : 0;
  return text.charCodeAt(start) ^ (second << 8) ^ (text.charCodeAt(end - 1) << 16) ^ (length << 24);
}

/** Multiplicative hashing (Knuth): by the golden ratio, of which the highest bits are taken. */
function slotOf(key: number, bits: number): number {
  return Math.imul(key, 0x9e3779b1) >>> (32 - bits);
}

function isAt(term: string, text: string, start: number, end: number): boolean {
  const { length } = term;
  if (length !== end - start) return false;
  for (let at = 0; at < length; at++) if (term.charCodeAt(at) !== text.charCodeAt(start + at)) return false;
  return true;
}

/** The terms that more than `share` of the texts hold, as good as all of them, the commonest first and at most `most`. */
export function commonestTerms(texts: readonly string[], share: number, most: number): string[] {
  const step = Math.max(1, Math.floor(texts.length / NAMING));
  const named = new Map<string, number>();
  for (let nth = 0; nth < texts.length; nth += step)
    for (const token of new Set(texts[nth]!.split(" "))) named.set(token, (named.get(token) ?? 0) + 1);
  // Most words stand in one text alone, and that is not how common ones are.
  const fewest = texts.length > NAMING ? 2 : 1;
  const terms = [...named.keys()].filter((term) => named.get(term)! >= fewest && isCountable(term));
  const counter = new TermCounter(terms);
  const held = new Float64Array(terms.length);
  for (const text of texts) {
    counter.reset();
    counter.count(text);
    for (let nth = 0; nth < counter.held; nth++) held[counter.found[nth]!]!++;
  }
  return [...terms.keys()]
    .filter((term) => held[term]! > share * texts.length)
    .sort((a, b) => held[b]! - held[a]!)
    .slice(0, most)
    .map((term) => terms[term]!);
}

/** Half a pair of surrogates would be another character in the index. */
function isCountable(term: string): boolean {
  return term !== "" && term.length <= MOST_CHARACTERS && !term.includes("\ufffd") && term.isWellFormed();
}

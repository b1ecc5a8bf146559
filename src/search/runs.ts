import { endsOf, offsetsOf, type PackedTexts, packedTexts } from "./packed.ts";
import type { ParsedQuery } from "./query.ts";

/** What a passage's runs of characters add to its score; `body` is its tokens joined by blanks. */
export type RunScorer = (body: string) => number;

/** Five characters: the end of one word, the blank and the beginning of the next are a run too, and so is most of a word. */
const RUN_LENGTH = 5;
const WEIGHT = 0.15;
/** Half of a character beyond the first 65,536: a run that begins or ends between two halves is none. */
const SURROGATE = /[\ud800-\udfff]/;
/** Saturation of a run's frequency, as of a word's. */
const K1 = 1.2;
/** Of a query with more runs the first are looked for. */
const MAX_RUNS = 512;

/** A process that asks few questions ends before a loop over all characters is compiled: so many are answered by native search. */
const ASKED_BEFORE_LOOP = 5;
/** So few runs are looked for faster than the compiled loop walks: most questions have no more. */
const FEW_RUNS = 80;
let asked = 0;

/** Weights are of the passages that the keyword leg found: whoever scores other passages of the same query must use the same. */
const scorers = new WeakMap<ParsedQuery, RunScorer>();

/**
 * Scores by the runs of characters that a text shares with the query: character n-grams across words (McNamee and Mayfield 2004,
 * "Character n-gram tokenization for European language text retrieval"). They say what words leave out: forms and compounds that a
 * stemmer keeps apart, and which words, little ones too, stand next to each other. A run weighs what it tells about the passages that
 * `bodies` are the tokens of: nothing when all of them hold it. Scripts without blanks have pairs for all that, and no runs here.
 */
export function runScorer(query: ParsedQuery, bodies: readonly string[], packed?: PackedTexts): RunScorer {
  const runs = runsOf(query.words);
  if (runs.length === 0) return () => 0;
  const isSearched = runs.length <= FEW_RUNS || asked++ < ASKED_BEFORE_LOOP;
  const { held, unitOf } = isSearched ? runsSearchedIn(bodies, runs, query.words, packed) : runsWalkedIn(bodies, runs);
  const weights = held.map(({ length }) => Math.log((bodies.length + 1) / (length + 1)));
  const asUnits = weights.map(() => 0);
  for (const unit of unitOf) if (unit >= 0) asUnits[unit]! += weights[unit]!;
  const scores = summed(held, asUnits, bodies.length);
  const known = new Map(bodies.map((body, place) => [body, scores[place]!]));
  const unheld = Math.log(bodies.length + 1);
  const score: RunScorer = (body) => {
    const sum = known.get(body);
    if (sum !== undefined) return WEIGHT * sum;
    const asRuns = unitOf.map((unit) => weights[unit] ?? unheld);
    return WEIGHT * summed(runsWalkedIn([body], runs).held, asRuns, 1)[0]!;
  };
  scorers.set(query, score);
  return score;
}

/** What units are worth together in each of so many bodies, each saturated. */
function summed(held: readonly Held[][], weights: readonly number[], bodies: number): number[] {
  const sums = Array.from({ length: bodies }, () => 0);
  for (let unit = 0; unit < held.length; unit++) {
    const weight = weights[unit]! * (K1 + 1);
    const bodiesOf = held[unit]!;
    for (let nth = 0; nth < bodiesOf.length; nth++) {
      const { body, count } = bodiesOf[nth]!;
      sums[body]! += (weight * count) / (count + K1);
    }
  }
  return sums;
}

/** The scorer that was last made for a query, or null. */
export function knownRunScorer(query: ParsedQuery): RunScorer | null {
  return scorers.get(query) ?? null;
}

/** The different runs of a string of words. */
function runsOf(words: string): string[] {
  const runs = new Set(words === "" ? [] : runsWithin(` ${words} `));
  return [...runs].slice(0, MAX_RUNS);
}

function runsWithin(text: string): string[] {
  const runs: string[] = [];
  for (let at = 0; at + RUN_LENGTH <= text.length; at++) runs.push(text.slice(at, at + RUN_LENGTH));
  return SURROGATE.test(text) ? runs.filter((run) => run.isWellFormed()) : runs;
}

/** A body, by its place, and how often it holds something. */
type Held = { body: number; count: number };

/**
 * The bodies that hold each unit: a run, or several that always stand together. `unitOf` is the unit of each run, −1 where no body holds
 * it. No typed arrays: to interpreted code each of their elements costs ten of a list's.
 */
export type RunCounts = { held: Held[][]; unitOf: number[] };

/** Where a word is this long, none of its runs reaches so far into it as those that begin or end outside of it don't. */
const LONG_WORD = 2 * (RUN_LENGTH - 2) + 1;

/**
 * Counts runs in bodies that are searched for one after the other, in native code. Most runs stand where a whole word of the question
 * does: long ones of `words` are looked for first, and their middles struck out of `packed`. A run that stands nowhere else has the
 * word's count.
 */
export function runsSearchedIn(
  bodies: readonly string[],
  runs: readonly string[],
  words = "",
  packed = packedTexts(bodies),
): RunCounts {
  const ends = endsOf(packed);
  const longWords = [...new Set(words.split(" "))].filter((word) => word.length >= LONG_WORD && !SURROGATE.test(word));
  const unitOf = runs.map(() => -1);
  const held: Held[][] = [];
  /** Of each run the units of the words that it is in, as often as it is. */
  const within = new Map(runs.map((run): [string, number[]] => [run, []]));
  for (const word of longWords) {
    const offsets = offsetsOf(packed, ` ${word} `);
    if (offsets.length === 0) continue;
    // What the runs that begin or end outside of the word reach of it stays.
    const from = 1 + Buffer.byteLength(word.slice(0, RUN_LENGTH - 2));
    const to = 1 + Buffer.byteLength(word.slice(0, 2 - RUN_LENGTH));
    for (const at of offsets) packed.bytes.fill(0, at + from, at + to);
    for (const run of runsWithin(` ${word} `)) within.get(run)?.push(held.length);
    held.push(heldAt(offsets, ends));
  }
  for (const [place, run] of runs.entries()) {
    const offsets = offsetsOf(packed, run);
    const owners = within.get(run)!;
    if (offsets.length === 0 && owners.length < 2) {
      unitOf[place] = owners[0] ?? -1;
      continue;
    }
    unitOf[place] = held.length;
    held.push(owners.reduce((sum, owner) => together(sum, held[owner]!), heldAt(offsets, ends)));
  }
  return { held, unitOf };
}

/** The bodies in which something stands that was found at `offsets`. */
function heldAt(offsets: readonly number[], ends: readonly number[]): Held[] {
  const held: Held[] = [];
  let body = 0;
  let last: Held | undefined;
  for (let nth = 0; nth < offsets.length; nth++) {
    while (offsets[nth]! >= ends[body]!) body++;
    if (last?.body === body) last.count++;
    else held.push((last = { body, count: 1 }));
  }
  return held;
}

/** Two lists of bodies as one, the counts of a body added up; ascending, as they are. */
function together(some: readonly Held[], others: readonly Held[]): Held[] {
  const held: Held[] = [];
  let next = 0;
  for (const one of some) {
    while (next < others.length && others[next]!.body < one.body) held.push(others[next++]!);
    const more = others[next]?.body === one.body ? others[next++]!.count : 0;
    held.push(more === 0 ? one : { body: one.body, count: one.count + more });
  }
  while (next < others.length) held.push(others[next++]!);
  return held;
}

const BITS_PER_CHARACTER = 30 / RUN_LENGTH;
const RUN_BITS = 0x3fffffff;
const SLOTS = 4096;

/** The same by one walk over each body: where the loop is compiled, hundreds of runs are counted in half the time. */
export function runsWalkedIn(bodies: readonly string[], runs: readonly string[]): RunCounts {
  const slots = new Uint8Array(SLOTS);
  const places = new Map(runs.map((run, place) => [run, place]));
  for (const run of runs) {
    let hash = 0;
    for (let at = 0; at < RUN_LENGTH; at++) hash = nextHash(hash, run.charCodeAt(at));
    slots[slotOf(hash)] = 1;
  }
  const held = runs.map((): Held[] => []);
  for (const [nth, body] of bodies.entries()) {
    const text = ` ${body} `;
    let hash = 0;
    for (let at = 0; at < text.length; at++) {
      hash = nextHash(hash, text.charCodeAt(at));
      if (at < RUN_LENGTH - 1 || slots[slotOf(hash)] === 0) continue;
      const place = places.get(text.slice(at + 1 - RUN_LENGTH, at + 1));
      if (place === undefined) continue;
      const last = held[place]!.at(-1);
      if (last?.body === nth) last.count++;
      else held[place]!.push({ body: nth, count: 1 });
    }
  }
  return { held, unitOf: runs.map((_, place) => place) };
}

/** The hash of the run that ends one character further on: the oldest character is shifted out. */
function nextHash(hash: number, code: number): number {
  return ((hash << BITS_PER_CHARACTER) ^ code) & RUN_BITS;
}

function slotOf(hash: number): number {
  return (hash ^ (hash >>> 12) ^ (hash >>> 24)) & (SLOTS - 1);
}

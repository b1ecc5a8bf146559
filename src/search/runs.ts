import type { ParsedQuery } from "./query.ts";

/** What a passage's runs of characters add to its score; `body` is its tokens joined by blanks. */
export type RunScorer = (body: string) => number;

/** Five characters: the end of one word, the blank and the beginning of the next are a run too, and so is most of a word. */
const RUN_LENGTH = 5;
const WEIGHT = 0.15;
/** Saturation of a run's frequency, as of a word's. */
const K1 = 1.2;
/** Of a query with more runs the first are looked for. */
const MAX_RUNS = 512;

/** A process that asks few questions ends before a loop over all characters is compiled: so many are answered by native search. */
const ASKED_BEFORE_LOOP = 5;
let asked = 0;

/** Weights are of the passages that the keyword leg found: whoever scores other passages of the same query must use the same. */
const scorers = new WeakMap<ParsedQuery, RunScorer>();

/**
 * Scores by the runs of characters that a text shares with the query: character n-grams across words (McNamee and Mayfield 2004,
 * "Character n-gram tokenization for European language text retrieval"). They say what words leave out: forms and compounds that a
 * stemmer keeps apart, and which words, little ones too, stand next to each other. A run weighs what it tells about the passages that
 * `bodies` are the tokens of: nothing when all of them hold it. Scripts without blanks have pairs for all that, and no runs here.
 */
export function runScorer(query: ParsedQuery, bodies: readonly string[]): RunScorer {
  const runs = runsOf(query.words);
  if (runs.length === 0) return () => 0;
  const count = asked++ < ASKED_BEFORE_LOOP ? runsSearchedIn : runsWalkedIn;
  const known = new Map<string, Uint16Array>();
  const frequencies = new Float64Array(runs.length);
  count(bodies, runs).forEach((counts, at) => {
    known.set(bodies[at]!, counts);
    for (let place = 0; place < counts.length; place++) if (counts[place]! > 0) frequencies[place]!++;
  });
  const weights = frequencies.map((frequency) => Math.log((known.size + 1) / (frequency + 1)));
  const score: RunScorer = (body) => {
    const counts = known.get(body) ?? runsWalkedIn([body], runs)[0]!;
    let sum = 0;
    for (let place = 0; place < counts.length; place++) {
      const count = counts[place]!;
      if (count > 0) sum += (weights[place]! * count * (K1 + 1)) / (count + K1);
    }
    return WEIGHT * sum;
  };
  scorers.set(query, score);
  return score;
}

/** The scorer that was last made for a query, or null. */
export function knownRunScorer(query: ParsedQuery): RunScorer | null {
  return scorers.get(query) ?? null;
}

/** The different runs of a string of words. */
function runsOf(words: string): string[] {
  const runs = new Set<string>();
  const text = words === "" ? "" : ` ${words} `;
  for (let at = 0; at + RUN_LENGTH <= text.length && runs.size < MAX_RUNS; at++)
    runs.add(text.slice(at, at + RUN_LENGTH));
  return [...runs];
}

/** How often each body holds each run: bytes are searched for one run after the other, in native code. */
export function runsSearchedIn(bodies: readonly string[], runs: readonly string[]): Uint16Array[] {
  const text = ` ${bodies.join(" \n ")} `;
  const isBytes = Buffer.byteLength(text) === text.length;
  const [encoding, width] = isBytes ? (["latin1", 1] as const) : (["utf16le", 2] as const);
  const bytes = Buffer.from(text, encoding);
  let end = 0;
  const ends = bodies.map((body) => (end += width * (body.length + " \n ".length)));
  const counts = bodies.map(() => new Uint16Array(runs.length));
  for (const [place, run] of runs.entries()) {
    const wanted = Buffer.from(run, encoding);
    let body = 0;
    for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) {
      if (at % width !== 0) continue;
      while (at >= ends[body]!) body++;
      counts[body]![place]!++;
    }
  }
  return counts;
}

const BITS_PER_CHARACTER = 30 / RUN_LENGTH;
const RUN_BITS = 0x3fffffff;
const SLOTS = 4096;

/** The same by one walk over each body: faster by much where the loop is compiled. */
export function runsWalkedIn(bodies: readonly string[], runs: readonly string[]): Uint16Array[] {
  const slots = new Uint8Array(SLOTS);
  const places = new Map(runs.map((run, place) => [run, place]));
  for (const run of runs) {
    let hash = 0;
    for (let at = 0; at < RUN_LENGTH; at++) hash = nextHash(hash, run.charCodeAt(at));
    slots[slotOf(hash)] = 1;
  }
  return bodies.map((body) => {
    const counts = new Uint16Array(runs.length);
    const text = ` ${body} `;
    let hash = 0;
    for (let at = 0; at < text.length; at++) {
      hash = nextHash(hash, text.charCodeAt(at));
      if (at < RUN_LENGTH - 1 || slots[slotOf(hash)] === 0) continue;
      const place = places.get(text.slice(at + 1 - RUN_LENGTH, at + 1));
      if (place !== undefined) counts[place]!++;
    }
    return counts;
  });
}

/** The hash of the run that ends one character further on: the oldest character is shifted out. */
function nextHash(hash: number, code: number): number {
  return ((hash << BITS_PER_CHARACTER) ^ code) & RUN_BITS;
}

function slotOf(hash: number): number {
  return (hash ^ (hash >>> 12) ^ (hash >>> 24)) & (SLOTS - 1);
}

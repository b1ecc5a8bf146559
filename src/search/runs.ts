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

const BITS_PER_CHARACTER = 30 / RUN_LENGTH;
const RUN_BITS = 0x3fffffff;
const SLOTS = 4096;
const BLANK = 32;

/** Weights are of the passages that the keyword leg found: whoever scores other passages of the same query must use the same. */
const scorers = new WeakMap<ParsedQuery, RunScorer>();

/**
 * Scores by the runs of characters that a text shares with the query: character n-grams across words (McNamee and Mayfield 2004,
 * "Character n-gram tokenization for European language text retrieval"). They say what words leave out: forms and compounds that a
 * stemmer keeps apart, and which words, little ones too, stand next to each other. A run weighs what it tells about the passages that
 * `bodies` are the tokens of: nothing when all of them hold it. Scripts without blanks have pairs for all that, and no runs here.
 */
export function runScorer(query: ParsedQuery, bodies: Iterable<string>): RunScorer {
  const runs = runsOf(query.words);
  if (runs.size === 0) return () => 0;
  const slots = new Uint8Array(SLOTS);
  for (const run of runs.keys()) slots[slotOf(run)] = 1;
  const countsIn = (body: string): Uint16Array => {
    const counts = new Uint16Array(runs.size);
    let run = BLANK;
    for (let at = 0; at <= body.length; at++) {
      run = nextRun(run, at < body.length ? body.charCodeAt(at) : BLANK);
      if (slots[slotOf(run)] === 0) continue;
      const place = runs.get(run);
      if (place !== undefined) counts[place]!++;
    }
    return counts;
  };
  const known = new Map<string, Uint16Array>();
  const frequencies = new Float64Array(runs.size);
  for (const body of bodies) {
    const counts = countsIn(body);
    known.set(body, counts);
    for (let place = 0; place < counts.length; place++) if (counts[place]! > 0) frequencies[place]!++;
  }
  const weights = frequencies.map((frequency) => Math.log((known.size + 1) / (frequency + 1)));
  const score: RunScorer = (body) => {
    const counts = known.get(body) ?? countsIn(body);
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

/** The runs of a string of words with their places in a list; a run is a number made of its characters. */
function runsOf(words: string): Map<number, number> {
  const runs = new Map<number, number>();
  const text = words === "" ? "" : ` ${words} `;
  let run = 0;
  for (let at = 0; at < text.length && runs.size < MAX_RUNS; at++) {
    run = nextRun(run, text.charCodeAt(at));
    if (at >= RUN_LENGTH - 1 && !runs.has(run)) runs.set(run, runs.size);
  }
  return runs;
}

/** The run that ends one character further on: the oldest character is shifted out. */
function nextRun(run: number, code: number): number {
  return ((run << BITS_PER_CHARACTER) ^ code) & RUN_BITS;
}

function slotOf(run: number): number {
  return (run ^ (run >>> 12) ^ (run >>> 24)) & (SLOTS - 1);
}

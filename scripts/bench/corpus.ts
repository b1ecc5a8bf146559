import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Deterministic numbers in [0, 1) (mulberry32, public domain). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const ONSETS = [
  "b",
  "br",
  "c",
  "ch",
  "d",
  "dr",
  "f",
  "g",
  "gr",
  "h",
  "j",
  "k",
  "l",
  "m",
  "n",
  "p",
  "pl",
  "r",
  "s",
  "st",
  "t",
  "tr",
  "v",
  "w",
  "z",
];
const VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "io", "ou"];
const CODAS = ["", "", "", "n", "r", "s", "t", "l", "m", "nd", "ck", "st"];
const COMMON =
  "the of and to in is for on with that it was as at by from be this are or an have not we will can has but".split(" ");

/** A corpus whose words follow Zipf's law, as prose does; the same seed gives the same notes. */
export type Corpus = { word: (rank: number) => string; note: (n: number) => { path: string; text: string } };

const VOCABULARY = 40_000;

/** The corpus of a seed: a vocabulary of made-up words behind common ones, drawn by their ranks. */
export function seededCorpus(seed: number): Corpus {
  const random = seededRandom(seed);
  const pick = (list: readonly string[]): string => list[Math.floor(random() * list.length)] ?? "";
  const words: string[] = [...COMMON];
  const seen = new Set(words);
  while (words.length < VOCABULARY) {
    const syllables = 1 + Math.floor(random() * 3);
    let word = "";
    for (let i = 0; i <= syllables; i++) word += pick(ONSETS) + pick(VOWELS) + pick(CODAS);
    if (!seen.has(word)) words.push(word);
    seen.add(word);
  }
  const cumulative = new Float64Array(VOCABULARY);
  let total = 0;
  for (let rank = 0; rank < VOCABULARY; rank++) cumulative[rank] = total += 1 / (rank + 2.7);
  const draw = (random: () => number): string => {
    const target = random() * total;
    let low = 0;
    let high = VOCABULARY - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((cumulative[middle] ?? 0) < target) low = middle + 1;
      else high = middle;
    }
    return words[low] ?? "";
  };
  return { word: (rank) => words[rank] ?? "", note: (n) => seededNote(n, seededRandom(seed * 1_000_003 + n), draw) };
}

/** One note of about 4 kB: a heading, sections, prose, a list, an identifier of its own. */
function seededNote(
  n: number,
  random: () => number,
  draw: (random: () => number) => string,
): { path: string; text: string } {
  const sentence = (): string => {
    const words = Array.from({ length: 8 + Math.floor(random() * 14) }, () => draw(random)).join(" ");
    return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
  };
  const title = Array.from({ length: 4 }, () => draw(random)).join(" ");
  const lines = [`# ${title}`, "", `Ticket NOTE-${n} of project_${n % 97}.`, ""];
  const size = 1_500 + Math.floor(random() * 5_000);
  let length = 0;
  while (length < size) {
    if (random() < 0.2) lines.push("", `## ${draw(random)} ${draw(random)}`, "");
    const line =
      random() < 0.3 ? `- ${sentence()}` : Array.from({ length: 1 + Math.floor(random() * 4) }, sentence).join(" ");
    lines.push(line);
    length += line.length;
  }
  const day = new Date(Date.UTC(2024, 0, 1) + (n % 700) * 86_400_000).toISOString().slice(0, 10);
  const path = n % 3 === 0 ? `memory/${day}-${n}.md` : `memory/area-${n % 40}/note-${n}.md`;
  return { path, text: `${lines.join("\n")}\n` };
}

/** Writes so many notes below a folder; returns their bytes. */
export function writeNotes(corpus: Corpus, folder: string, notes: number): number {
  let bytes = 0;
  for (let n = 0; n < notes; n++) {
    const { path, text } = corpus.note(n);
    const full = join(folder, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
    bytes += text.length;
  }
  return bytes;
}

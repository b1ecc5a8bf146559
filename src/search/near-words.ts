import { corpusStats } from "../store/corpus-stats.ts";
import { type CountedTerm, heldTerms, termsEndingIn, termsFrom } from "../store/keyword.ts";
import type { Index } from "../store/types.ts";
import { characterClass } from "./scripts.ts";
import { stem } from "./stem.ts";

/** A word of the index that a word of the query may mean, and how much it counts of that word. */
export type NearWord = { term: string; weight: number };

/** One letter too many, too few, exchanged or out of place; `ue` for `ü`. */
const MISSPELT = 0.7;
/** The same beginning, a part of a compound, a compound that ends in it. */
const AKIN = 0.5;
/** A shorter word is one letter away from too many others. */
const FEWEST_LETTERS = 5;
/** What is part of a compound has so many, and so has what is left of it: `rain` is no part of `train`. */
const FEWEST_OF_PART = 4;
const MOST_WORDS = 8;
/** In more passages than these all words that begin with two letters, and the whole vocabulary, take too long: up to here a millisecond, and twenty. */
const MANY_PASSAGES = { start: 20_000, whole: 3000 };
/** Two forms of a word have at least so much of the longer in common, and so many letters: `marco` is no form of `march`. */
const SHARED = 0.75;
const FEWEST_SHARED = 5;

/**
 * What a word may mean that no passage holds: a word of the index with one letter mistaken; failing that, the two that it is put together
 * of (after Koehn and Knight 2003, "Empirical methods for compound splitting"); failing that, a form that the stemmer keeps apart. Of
 * the index only words that begin with the same two letters (three in a large one) are looked at: few are mistaken there, and to read all
 * takes longer than a search.
 */
export function nearWords(index: Index, word: string): NearWord[] {
  if (word.length < FEWEST_LETTERS) return [];
  const isLarge = corpusStats(index).passages > MANY_PASSAGES.start;
  const near = beginningsOf(word, isLarge ? 3 : 2).flatMap((start) => termsFrom(index, start));
  const spelt = withoutUmlauts(word);
  const misspelt = near.filter(({ term }) => isOneLetterOff(word, term) || withoutUmlauts(term) === spelt);
  if (misspelt.length > 0) return commonest(misspelt, MISSPELT);
  const parts = partsOf(index, word);
  if (parts.length > 0) return parts.map((term) => ({ term, weight: AKIN }));
  return commonest(
    near.filter(({ term }) => isOtherForm(word, term)),
    AKIN,
  );
}

/** The compounds that end in a word, or else what a compound ends in: for this the whole vocabulary is read, unless it is large. */
export function wordsOfSameEnd(index: Index, word: string): NearWord[] {
  if (word.length < FEWEST_OF_PART || corpusStats(index).passages > MANY_PASSAGES.whole) return [];
  const longer = termsEndingIn(index, word).filter(({ term }) => term.length >= word.length + FEWEST_OF_PART);
  if (longer.length > 0) return commonest(longer, AKIN);
  const most = Math.max(0, word.length - 2 * FEWEST_OF_PART + 1);
  const all = Array.from({ length: most }, (_, at) => stemOf(word.slice(FEWEST_OF_PART + at)));
  // Shorter ones are endings as often as words: `ment` of `fundamentally`.
  const ends = all.filter(({ length }) => length >= FEWEST_LETTERS);
  const held = heldTerms(index, ends);
  const longest = ends.find((end) => held.has(end));
  return longest === undefined ? [] : [{ term: longest, weight: AKIN }];
}

/** Of several only one is meant, and a passage that holds them all is no better than one that holds the word: they share its weight. */
function commonest(words: CountedTerm[], weight: number): NearWord[] {
  const sorted = words.sort((a, b) => b.doc - a.doc).slice(0, MOST_WORDS);
  return sorted.map(({ term }) => ({ term, weight: weight / sorted.length }));
}

/** The first letters; `ä` and the British `ae` of `paediatrician` may be one letter or two. */
function beginningsOf(word: string, length: number): string[] {
  const starts = new Set([word.slice(0, length)]);
  for (const at of [0, 1]) {
    const [before, letter, behind] = [word.slice(0, at), word[at]!, word.slice(at + 1)];
    if ("aou".includes(letter)) {
      if (behind.startsWith("e"))
        for (const one of [letter, "e"]) starts.add((before + one + behind.slice(1)).slice(0, length));
      else starts.add(`${before}${letter}e${behind}`.slice(0, length));
    } else if (letter === "e") for (const two of ["ae", "oe"]) starts.add((before + two + behind).slice(0, length));
  }
  return [...starts];
}

/** Umlauts lose their dots where words are folded; who has none on the keyboard writes an `e` behind. */
function withoutUmlauts(word: string): string {
  return word.replace(/([aou])e/g, "$1");
}

/** Whether one letter more, less or other makes one word of the other, or two neighbours that change places. */
function isOneLetterOff(word: string, other: string): boolean {
  const longer = Math.max(word.length, other.length);
  if (longer - Math.min(word.length, other.length) > 1 || longer <= FEWEST_LETTERS) return false;
  const start = sharedStart(word, other);
  const rest = [word.slice(start), other.slice(start)] as const;
  if (word.length > other.length) return rest[0].slice(1) === rest[1];
  if (word.length < other.length) return rest[0] === rest[1].slice(1);
  if (rest[0].slice(1) === rest[1].slice(1)) return true;
  return rest[0][0] === rest[1][1] && rest[0][1] === rest[1][0] && rest[0].slice(2) === rest[1].slice(2);
}

function isOtherForm(word: string, other: string): boolean {
  return sharedStart(word, other) >= Math.max(FEWEST_SHARED, SHARED * Math.max(word.length, other.length));
}

function sharedStart(word: string, other: string): number {
  let length = 0;
  while (length < word.length && word[length] === other[length]) length++;
  return length;
}

/** What may stand between the parts of a compound. */
const LINK = /(?:es|s|en|n|er|e)$/;

/** The two words of the index that a word consists of; of several such pairs the one whose shorter word is longest. */
function partsOf(index: Index, word: string): string[] {
  const pairs: [string[], string][] = [];
  for (let at = FEWEST_OF_PART; at <= word.length - FEWEST_OF_PART; at++) {
    const front = word.slice(0, at);
    const fronts = [front, front.replace(LINK, "")].filter(({ length }) => length >= FEWEST_OF_PART);
    pairs.push([fronts.map(stemOf), stemOf(word.slice(at))]);
  }
  const held = heldTerms(index, [...new Set(pairs.flat(2))]);
  let best: string[] = [];
  let most = 0;
  for (const [fronts, end] of pairs) {
    const front = fronts.find((one) => held.has(one));
    if (front === undefined || !held.has(end)) continue;
    const shorter = Math.min(front.length, end.length);
    if (shorter > most) [best, most] = [[front, end], shorter];
  }
  return best;
}

function stemOf(word: string): string {
  return stem(word, characterClass(word.codePointAt(0)!));
}

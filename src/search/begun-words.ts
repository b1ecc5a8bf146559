import { commonestTermsFrom, documentFrequencies } from "../store/keyword.ts";
import type { Index } from "../store/types.ts";
import { type NearWord, nearWords, wordsOfSameEnd } from "./near-words.ts";
import type { ParsedQuery, QueryTerm } from "./query.ts";
import { isAscii } from "./scripts.ts";
import { withSplitNumbers } from "./split-numbers.ts";

/** Fewer letters begin too many words. */
const FEWEST_LETTERS = { ascii: 2, other: 3 };
/** Of the words that begin so, the commonest are taken. */
const MOST_WORDS = 16;
/** Of a pasted log so many words that no passage holds are looked at: each is a walk over all that begin so. */
const MOST_UNKNOWN = 32;
/** Of them so many are looked for by what they may mean, and by how words end: a question has fewer, and this takes longer. */
const MOST_NEAR = 8;
const MOST_ENDS = 4;

/**
 * The query, with words for each word of it that no passage holds: those of the index that begin with it, as `auth` does
 * `authentication`, or else those that it may mean (`near-words.ts`). A word that the index knows stands for itself alone, so nothing
 * ranks differently for it; a quoted one means itself, and so does one that a model wrote (`byModel`): it does not misspell. Where words
 * are all there is (`onlyWords`) the whole vocabulary is read sooner than to find nothing.
 */
export function withBegunWords(
  index: Index,
  typed: ParsedQuery,
  { byModel = false, onlyWords = false }: { byModel?: boolean; onlyWords?: boolean } = {},
): ParsedQuery {
  if (typed.match === null) return typed;
  const parsed = withSplitNumbers(index, typed);
  const isWord = wordTest(parsed);
  const words = parsed.terms.filter(isWord).map(({ term }) => term);
  const held = new Map([...(parsed.held ?? []), ...documentFrequencies(index, words)]);
  const quoted = new Set(parsed.phrases.flat());
  const isOpen = (word: string): boolean => !byModel && !quoted.has(word);
  const unknown = words.filter((word) => held.get(word) === 0).slice(0, MOST_UNKNOWN);
  const meant = new Map(unknown.map((word, at) => [word, begunOrNear(index, word, at < MOST_NEAR && isOpen(word))]));
  const isNothingHeld = unknown.length === parsed.terms.filter((term) => term.finds && !isOfDate(term)).length;
  if (onlyWords && isNothingHeld && [...meant.values()].every((found) => found.length === 0)) {
    for (const word of unknown.filter(isOpen).slice(0, MOST_ENDS)) meant.set(word, wordsOfSameEnd(index, word));
  }
  if ([...meant.values()].every((found) => found.length === 0)) return { ...parsed, held };
  const known = new Set(parsed.terms.map(({ term }) => term));
  const terms = parsed.terms.flatMap((term): QueryTerm[] => {
    const found = (isWord(term) ? meant.get(term.term) : undefined) ?? [];
    if (found.length === 0) return [term];
    const added = found.filter((one) => !known.has(one.term));
    for (const one of added) known.add(one.term);
    const terms = added.map((one) => Object.assign({}, term, { term: one.term, weight: term.weight * one.weight }));
    // What only may be meant leaves the word in its place: a synonym of it may be what the note says.
    return added.some(({ weight }) => weight < 1) ? [term, ...terms] : terms;
  });
  const any = terms.filter(({ finds }) => finds).map(({ term }) => ({ tokens: [term] }));
  return { ...parsed, held, terms, match: { ...typed.match, any } };
}

function begunOrNear(index: Index, word: string, orNear: boolean): NearWord[] {
  const begun = commonestTermsFrom(index, word, MOST_WORDS);
  if (begun.length > 0) return begun.map((term) => ({ term, weight: 1 }));
  return orNear ? nearWords(index, word) : [];
}

function isOfDate({ date, alternative }: QueryTerm): boolean {
  return date === true || alternative !== undefined;
}

/**
 * Makes a test whether a term is a word that may stand for others. A part of an identifier with a number is none: `de` of an account's
 * number begins any word, and what is like the `note` of `NOTE-4711` is no note of that number.
 */
function wordTest({ terms }: ParsedQuery): (term: QueryTerm) => boolean {
  const isNumbered = terms.some((term) => term.kind === "whole" && !isOfDate(term) && /\p{N}/u.test(term.term));
  return ({ term, kind, finds, identifier, part, date }) => {
    if (kind !== "word" || !finds || identifier || date === true || (part && isNumbered)) return false;
    const fewest = isAscii(term) ? FEWEST_LETTERS.ascii : FEWEST_LETTERS.other;
    return term.length >= fewest && isOfLetters(term);
  };
}

/** An expression over all of Unicode takes long to make, and most words are ASCII. */
function isOfLetters(term: string): boolean {
  return isAscii(term) ? /^[a-z]+$/i.test(term) : /^[\p{L}\p{M}]+$/u.test(term);
}

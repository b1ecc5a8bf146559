import type { KeywordMatch } from "../store/types.ts";
import { DIGIT, HANGUL, characterClass } from "./scripts.ts";
import { stem } from "./stem.ts";
import { datesOf, type QueryDates } from "./query-dates.ts";
import { cutAtGrapheme } from "./snippet.ts";
import { isStopWord, languagesOf } from "./stopwords.ts";
import type { Token } from "./token.ts";
import { analyse } from "./tokens.ts";

/** `plain`: words, a quoted phrase is preferred. `qmd`: a quoted phrase is demanded and `-term` excludes. */
export type Grammar = "plain" | "qmd";

export type QueryTerm = {
  /** As in the index. */
  term: string;
  /** How much a match counts, 1 for an ordinary word. */
  weight: number;
  /** Passages are found by it; other terms only add to the score of what was found. */
  finds: boolean;
  kind: Token["kind"];
  /** A name of something rather than a word: with digits in it, or made of parts. */
  identifier: boolean;
  /** Only there as a part of an identifier that is a term of its own. */
  part: boolean;
  /** Names a day together with others, and stands for no other word. */
  date?: boolean;
  /** Of a term that stands for a date of the query, and was not typed: the date's number. Its terms are alternatives, the best counts. */
  alternative?: number;
};

/** A query as the keyword leg understands it: tokens only, nothing of it is syntax any more. */
export type ParsedQuery = {
  /** What was typed, without exclusions: for the other legs. */
  text: string;
  /** Alternatives, each once. */
  terms: QueryTerm[];
  /** Quoted runs of terms. */
  phrases: string[][];
  /** Whether a passage must hold every phrase. */
  demandPhrases: boolean;
  /** Runs of terms that a passage must not hold. */
  excluded: string[][];
  /** All words in their order, stop words too, as in the index and joined by blanks; no pairs and characters of unspaced scripts. */
  words: string;
  /** No word but stop words: they are searched all the same. */
  onlyStopWords: boolean;
  /** What a passage must hold, null when there is nothing to search for. */
  match: KeywordMatch | null;
  /** How many passages hold a term, where that was counted already. */
  held?: ReadonlyMap<string, number>;
};

type Segment = { text: string; quoted: boolean; excluded: boolean };

/** What is read of a query, in characters: a pasted log is searched by its beginning. */
export const MAX_QUERY_CHARS = 10_000;
/** Nobody means so many: a pasted text with quotes in it is searched by its words and the first of them. */
const MAX_PHRASES = 32;

/**
 * Reads a query. Never throws: whatever is typed is words, except what the grammar says. A day without its year is the last one before
 * `asOf`, in milliseconds since 1970, and yesterday the one before its day in `timeZone` (the system's when absent).
 */
export function parseQuery(typed: string, grammar: Grammar, asOf = Date.now(), timeZone?: string): ParsedQuery {
  const text = cutAtGrapheme(typed, MAX_QUERY_CHARS);
  const segments = grammar === "qmd" ? qmdSegments(text) : plainSegments(text);
  const wanted = segments.filter((segment) => !segment.excluded);
  const excluded = phrasesOf(segments.filter((segment) => segment.excluded));
  const phrases = phrasesOf(wanted.filter((segment) => segment.quoted)).slice(0, MAX_PHRASES);
  const cleaned = wanted.map((segment) => segment.text).join(" ");
  const tokens = analyse(cleaned);
  const { kept, onlyStopWords } = withoutStopWords(tokens, new Set(phrases.flat()));
  const parsed = {
    text: cleaned,
    terms: withDates(queryTerms(kept), datesOf(wanted.map(spokenText).join(" "), asOf, timeZone)),
    phrases,
    demandPhrases: grammar === "qmd",
    excluded,
    words: tokens.flatMap(({ kind, term }) => (kind === "word" ? [term] : [])).join(" "),
    onlyStopWords,
  };
  return { ...parsed, match: matchOf(parsed) };
}

/** A segment as far as it may say a day: who quotes "yesterday" or "last June" means these words. */
function spokenText({ text, quoted }: Segment): string {
  return quoted && !/\d/.test(text) ? '""' : text;
}

function plainSegments(text: string): Segment[] {
  const segments: Segment[] = [];
  let end = 0;
  for (const found of text.matchAll(/"([^"]+)"|\u201c([^\u201d]+)\u201d/g)) {
    segments.push({ text: text.slice(end, found.index), quoted: false, excluded: false });
    segments.push({ text: found[1] ?? found[2] ?? "", quoted: true, excluded: false });
    end = found.index + found[0].length;
  }
  segments.push({ text: text.slice(end), quoted: false, excluded: false });
  return segments;
}

/** `-` excludes at the beginning of a word or before a quote; a quote that is never closed reaches to the end. */
function qmdSegments(text: string): Segment[] {
  const segments: Segment[] = [];
  for (const found of text.matchAll(/(-?)"([^"]*)(?:"|$)|([^\s"]+)/g)) {
    const word = found[3];
    if (word === undefined) segments.push({ text: found[2] ?? "", quoted: true, excluded: found[1] === "-" });
    else if (/^-[^\s-]/.test(word)) segments.push({ text: word.slice(1), quoted: false, excluded: true });
    else segments.push({ text: word, quoted: false, excluded: false });
  }
  return segments;
}

/** The runs of terms that the segments stand for, each once: for each one FTS5 walks over all that its words are in. */
function phrasesOf(segments: readonly Segment[]): string[][] {
  const phrases = new Map<string, string[]>();
  for (const { text } of segments) {
    const terms = phraseTerms(analyse(text));
    if (terms.length > 0) phrases.set(terms.join(" "), terms);
  }
  return [...phrases.values()];
}

/** Terms that stand side by side in the index where the text occurs. */
function phraseTerms(tokens: Token[]): string[] {
  const sequence = tokens.filter((token) => token.kind !== "whole" && !isPartOfRun(token));
  return sequence.map((token) => token.term);
}

/** A character of a run that is there in pairs too. */
function isPartOfRun(token: Token): boolean {
  return token.kind === "single" && token.part;
}

/** What a character counts next to the pairs it is in, in scripts whose characters mean something by themselves. */
const SINGLE_WEIGHT = 0.3;
/** What a pair counts when one of its characters is a particle or the like. */
const HALF_STOP_WEIGHT = 0.5;

type Weighed = Token & { weight: number };

function withoutStopWords(tokens: Token[], quoted: Set<string>): { kept: Weighed[]; onlyStopWords: boolean } {
  const languages = languagesOf(tokens);
  const isStop = (surface: string): boolean => languages.some((language) => isStopWord(language, surface));
  const weighed = tokens.map((token) => ({ ...token, weight: quoted.has(token.term) ? 1 : weightOf(token, isStop) }));
  const kept = weighed.filter((token) => token.weight > 0);
  if (kept.length > 0) return { kept, onlyStopWords: false };
  return { kept: tokens.map((token) => ({ ...token, weight: 1 })), onlyStopWords: tokens.length > 0 };
}

function weightOf(token: Token, isStop: (surface: string) => boolean): number {
  if (token.kind === "whole") return 1;
  if (isStop(token.surface)) return 0;
  if (token.kind === "pair") {
    const [first = "", second = ""] = token.surface.match(/\P{M}\p{M}*/gu) ?? [];
    return [1, HALF_STOP_WEIGHT, 0][Number(isStop(first)) + Number(isStop(second))] ?? 1;
  }
  if (!isPartOfRun(token)) return 1;
  return token.script <= HANGUL ? SINGLE_WEIGHT : 0;
}

function queryTerms(tokens: Weighed[]): QueryTerm[] {
  const terms = new Map<string, QueryTerm>();
  for (const { term, weight, kind, part, script } of tokens) {
    const identifier = kind === "whole" || (script === DIGIT && !part);
    const finds = !(kind === "single" && part);
    const known = terms.get(term);
    if (known === undefined) terms.set(term, { term, weight, finds, kind, identifier, part });
    else {
      known.weight = Math.max(known.weight, weight);
      known.part &&= part;
    }
  }
  const all = [...terms.values()];
  if (!all.some((term) => term.finds)) for (const term of all) term.finds = true;
  return all;
}

/** What a day's or a year's number counts by itself: any list and any hour holds one. What a month's name counts: it has thirty days. */
const DATE_NUMBER_WEIGHT = 0.3;
const DATE_MONTH_WEIGHT = 0.5;

/** The terms, and the dates of the text as names of notes have them; they only weigh, and look up nothing. */
function withDates(terms: QueryTerm[], dates: QueryDates): QueryTerm[] {
  if (dates.terms.length === 0) return terms;
  const months = new Set(Array.from(dates.months, (name) => stem(name, characterClass(name.codePointAt(0)!))));
  const words = terms.map((term) => {
    // The numbers of `2026-03-14` stand close together in any other date of that month.
    const kind = term.part ? "whole" : term.kind;
    if (dates.numbers.has(term.term))
      return { ...term, kind, weight: DATE_NUMBER_WEIGHT, identifier: false, date: true };
    return months.has(term.term) ? { ...term, weight: DATE_MONTH_WEIGHT, date: true } : term;
  });
  const added = new Map([...dates.written, ...dates.terms].map((date) => [date.term, date]));
  const traits = { kind: "whole" as const, identifier: false, part: false };
  for (const { term } of terms) added.delete(term);
  const alternatives = Array.from(added.values(), ({ date, ...term }) => ({ ...term, ...traits, alternative: date }));
  return [...words, ...alternatives];
}

/** Any of the terms, each demanded phrase, none of the excluded ones. */
function matchOf(parsed: Omit<ParsedQuery, "match">): KeywordMatch | null {
  if (parsed.terms.length === 0) return null;
  return {
    any: parsed.terms.filter((term) => term.finds).map(({ term }) => ({ tokens: [term] })),
    all: parsed.demandPhrases ? parsed.phrases.map((tokens) => ({ tokens })) : [],
    none: parsed.excluded.map((tokens) => ({ tokens })),
  };
}

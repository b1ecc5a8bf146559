import type { ParsedQuery } from "./query.ts";
import { isAscii } from "./scripts.ts";
import { tokenFinder } from "./tokens.ts";

/** Lists the terms of a query that a text holds, each once. */
export function termFinder(parsed: ParsedQuery): (text: string) => string[] {
  const whole = new Set(parsed.terms.map((term) => term.term));
  return tokenFinder(whole);
}

/** An inflected word has all of its form in the index but so many characters, and at least so many; a few are irregular. */
const OWN_END = 2;
const SHARED_START = 3;

/** Lists the terms that stand in a part of a text, each once. */
export type TermsBetween = (from: number, to: number) => string[];

/**
 * Finds the terms of a query in a text by where they stand, at little cost: only words that begin like a term or hold something beyond
 * ASCII are looked at closely, so an irregular form (`bought` for `buy`) is passed over. Parts are best asked for in their order.
 */
export function termPlacer(parsed: ParsedQuery, termsIn: (text: string) => string[]): (text: string) => TermsBetween {
  const starts = parsed.terms.map(({ term }) => term.slice(0, Math.max(SHARED_START, term.length - OWN_END)));
  const known = new Map<string, string[]>();
  const termsOf = (word: string): string[] => {
    let terms = known.get(word);
    if (terms === undefined) known.set(word, (terms = termsIn(word)));
    return terms;
  };
  const pattern = [...new Set(starts.map(startPattern))].join("|");
  const likely = new RegExp(pattern, "gi");
  let likelyToo: RegExp | undefined;
  return (text) => {
    if (!isAscii(text)) {
      const words = (likelyToo ??= new RegExp(pattern === "" ? NOT_ASCII : `${pattern}|${NOT_ASCII}`, "gi"));
      return (from, to) => termsIn(likelyWords(text.slice(from, to), words));
    }
    const places = pattern === "" ? [] : placesOf(text, likely, termsOf);
    let next = 0;
    return (from, to) => {
      if (from <= (places[next - 1]?.at ?? -1)) next = 0;
      while (next < places.length && places[next]!.at < from) next++;
      const found: string[] = [];
      for (let place = places[next]; place && place.at < to; place = places[++next])
        for (const term of place.terms) if (!found.includes(term)) found.push(term);
      return found;
    };
  };
}

/** The beginning of a term as an expression; an identifier may have connectors in it. */
function startPattern(start: string): string {
  const characters = Array.from(start, (character) => character.replace(/[\\^$.*+?()[\]{}|/]/, String.raw`\$&`));
  return characters.join("[^A-Za-z0-9 \n]?");
}

const NOT_ASCII = String.raw`[^\0-\x7f]`;

function likelyWords(text: string, likely: RegExp): string {
  return text
    .split(" ")
    .filter((word) => word.search(likely) >= 0)
    .join(" ");
}

/** Of a longer word only so much around a match is looked at: it is data without blanks, and a term in it one of many. */
const LONG_WORD = 2000;

/** The words of an ASCII text that hold terms, in their order. A term begins where no letter stands before, or with a capital. */
function placesOf(
  text: string,
  likely: RegExp,
  termsOf: (word: string) => string[],
): { at: number; terms: string[] }[] {
  const places: { at: number; terms: string[] }[] = [];
  likely.lastIndex = 0;
  for (let found = likely.exec(text); found !== null; found = likely.exec(text)) {
    const at = found.index;
    if (text.charCodeAt(at) >= 97 && /[A-Za-z]/.test(text.charAt(at - 1))) continue;
    const before = text.slice(Math.max(0, at - LONG_WORD), at);
    const start = at - before.length + 1 + Math.max(before.lastIndexOf(" "), before.lastIndexOf("\n"));
    const behind = text.slice(at, at + LONG_WORD);
    const length = behind.search(/[ \n]/);
    const end = at + (length < 0 ? behind.length : length);
    const terms = termsOf(text.slice(start, end));
    if (terms.length > 0) places.push({ at, terms });
    likely.lastIndex = end;
  }
  return places;
}

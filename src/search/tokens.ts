import { addCompound, joins } from "./compound.ts";
import {
  EMOJI,
  HIRAGANA,
  KATAKANA,
  LATIN,
  MARK,
  SEPARATOR,
  UNSPACED,
  characterClass,
  foldKana,
  foldWord,
  isAscii,
} from "./scripts.ts";
import { irregularRows } from "./stem-english.ts";
import { stem } from "./stem.ts";
import { type Atom, MAX_TERM, type Token } from "./token.ts";

/** Terms of a chunk of text, each with a blank before it. */
type Terms = { chunk: string; words: string; behind: string };

/**
 * Text repeats itself, so what a chunk becomes is worked out once. A table by hash and not a `Map`, because it is asked without
 * cutting the chunk out of the text; of two chunks with one hash the later stays. It begins small, since a single search needs
 * little of it, and grows with the text that is read.
 */
const MAX_CACHE_BITS = 17;
const MAX_CACHED_CHUNK = 32;
let cacheBits = 8;
let cached = 0;
let cache: (Terms | undefined)[] = [];

function remember(slot: number, terms: Terms): void {
  if (cache[slot] === undefined) cached++;
  cache[slot] = terms;
  if (cached < cache.length / 2 || cacheBits === MAX_CACHE_BITS) return;
  cacheBits += 3;
  cached = 0;
  cache = Array.from({ length: 1 << cacheBits });
}

/**
 * The tokens a text is indexed as: its words in order, then identifiers as wholes and characters of unspaced scripts by
 * themselves (at the end, so that words that are neighbours in the text are neighbours here). Queries are made of the same tokens.
 */
export function indexTokens(text: string): string[] {
  const joined = indexTokenString(text);
  return joined === "" ? [] : joined.split(" ");
}

/** `indexTokens` joined by single blanks. */
export function indexTokenString(text: string): string {
  let words = "";
  let behind = "";
  forEachChunk(text, (normal, start, end) => {
    const terms = termsOf(normal, start, end);
    words += terms.words;
    if (terms.behind !== "") behind += terms.behind;
  });
  return (words + behind).slice(1);
}

/** In so short a text every word is looked at closely: to know how its words may begin takes longer. */
const SHORT_TEXT = 64;

/**
 * Makes a finder of those of `wanted` (index tokens) that are among the tokens of a text, each once. A search looks for few words in
 * the text of its hits, so plain words that begin like no form of them are passed over.
 */
export function tokenFinder(wanted: ReadonlySet<string>): (text: string) => string[] {
  let starts: Set<number> | undefined;
  return (text) => {
    const found = new Set<string>();
    const begins = text.length <= SHORT_TEXT ? null : (starts ??= startsOf(wanted));
    forEachChunk(text, (normal, start, end) => {
      if (begins?.has(startOf(normal, start, end)) === false && isPlainWord(normal, start, end)) return;
      const { words, behind } = workedOut(normal.slice(start, end));
      for (const token of (words + behind).split(" ")) if (wanted.has(token)) found.add(token);
    });
    return [...found];
  };
}

/** The beginnings of plain words that may come to one of the tokens: inflection leaves two letters alone, unless it is irregular. */
function startsOf(tokens: ReadonlySet<string>): Set<number> {
  const starts = new Set(Array.from(tokens, (token) => startOf(token, 0, token.length)));
  // Irregular forms have irregular forms too.
  const beginnings = new Set(Array.from(tokens, (token) => token.slice(0, 2)));
  for (const beginning of beginnings) {
    for (const [base = "", ...forms] of irregularRows(beginning)) {
      if (!tokens.has(stem(base, LATIN))) continue;
      for (const form of forms) {
        starts.add(startOf(form, 0, form.length));
        beginnings.add(form.slice(0, 2));
      }
    }
  }
  return starts;
}

/** The first two characters as a number, ASCII letters without regard to case; of a single one there is no second. */
function startOf(text: string, start: number, end: number): number {
  const second = start + 1 < end ? text.charCodeAt(start + 1) | 32 : 0;
  return ((text.charCodeAt(start) | 32) << 16) | second;
}

/** `PLAIN_WORD` for a part of a text; longer words than `MAX_TERM` are looked at closely. */
function isPlainWord(text: string, start: number, end: number): boolean {
  if (end - start > MAX_TERM) return false;
  const first = text.charCodeAt(start) | 32;
  if (first < 97 || first > 122) return false;
  for (let index = start + 1; index < end; index++) {
    const code = text.charCodeAt(index);
    if (code < 97 || code > 122) return false;
  }
  return true;
}

/** The tokens of a text with what is known of each; words first. */
export function analyse(text: string): Token[] {
  const words: Token[] = [];
  const behind: Token[] = [];
  forEachChunk(text, (normal, start, end) => {
    for (const token of tokensOfChunk(normal.slice(start, end))) (isBehind(token) ? behind : words).push(token);
  });
  return [...words, ...behind];
}

/** 1 for ASCII characters that mean nothing at either end of a word: all but letters, digits and `#`, `@`, `+`. */
const trimmed = new Uint8Array(128).fill(1);
for (const kept of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789#@+") trimmed[kept.charCodeAt(0)] = 0;

/** Calls `visit` with each run of characters between blanks and control characters, without punctuation around it: a chunk. */
function forEachChunk(text: string, visit: (normal: string, start: number, end: number) => void): void {
  const normal = isAscii(text) ? text : text.normalize("NFKC");
  const length = normal.length;
  let index = 0;
  while (index < length) {
    while (index < length && trimmed[normal.charCodeAt(index)] === 1) index++;
    const start = index;
    while (index < length && normal.charCodeAt(index) > 32) index++;
    let end = index;
    while (end > start && trimmed[normal.charCodeAt(end - 1)] === 1) end--;
    if (end > start) visit(normal, start, end);
  }
}

function termsOf(text: string, start: number, end: number): Terms {
  if (end - start > MAX_CACHED_CHUNK) return workedOut(text.slice(start, end));
  if (cache.length === 0) cache = Array.from({ length: 1 << cacheBits });
  let hash = end - start;
  for (let index = start; index < end; index++) hash = (Math.imul(hash, 31) + text.charCodeAt(index)) | 0;
  const slot = (hash ^ (hash >>> MAX_CACHE_BITS)) & (cache.length - 1);
  const known = cache[slot];
  if (known !== undefined && known.chunk.length === end - start && text.startsWith(known.chunk, start)) return known;
  const terms = workedOut(text.slice(start, end));
  remember(slot, terms);
  return terms;
}

/** A word of ASCII letters without an inner capital: most words of many languages, and nothing about them needs a closer look. */
const PLAIN_WORD = /^[A-Za-z]?[a-z]*$/;

function workedOut(chunk: string): Terms {
  if (chunk.length <= MAX_TERM && PLAIN_WORD.test(chunk))
    return { chunk, words: ` ${stem(chunk.toLowerCase(), LATIN)}`, behind: "" };
  const terms: Terms = { chunk, words: "", behind: "" };
  for (const token of tokensOfChunk(chunk)) terms[isBehind(token) ? "behind" : "words"] += ` ${token.term}`;
  return terms;
}

function tokensOfChunk(chunk: string): Token[] {
  if (chunk.length <= MAX_TERM && PLAIN_WORD.test(chunk)) {
    const surface = chunk.toLowerCase();
    return [{ term: stem(surface, LATIN), surface, kind: "word", part: false, script: LATIN }];
  }
  const { atoms, rest } = atomsOf(chunk.includes(",") ? chunk.replace(/(?<=\d),(?=\d{3}(?!\d))/g, "") : chunk);
  const tokens: Token[] = [];
  let first = 0;
  while (first < atoms.length) {
    let next = first + 1;
    while (next < atoms.length && joins(atoms[next - 1]!, atoms[next]!)) next++;
    const run = atoms.slice(first, next);
    const after = atoms[next]?.before ?? rest;
    if (run[0]!.script >= UNSPACED) addPairs(tokens, run[0]!);
    else addCompound(tokens, run, after);
    first = next;
  }
  return tokens;
}

/** Cuts a chunk where letters, digits, scripts or upper and lower case change, and at everything that is neither. */
function atomsOf(chunk: string): { atoms: Atom[]; rest: string } {
  const atoms: Atom[] = [];
  let before = "";
  let current: Atom | undefined;
  for (const character of chunk) {
    const kind = characterClass(character.codePointAt(0)!);
    if (kind === SEPARATOR) {
      before += character;
      current = undefined;
    } else if (kind === MARK) {
      if (current !== undefined) current.text += character;
    } else if (
      current !== undefined &&
      kind !== EMOJI &&
      (current.script === kind || isProlonged(current, character, kind))
    ) {
      current.text += character;
    } else {
      current = { text: character, script: kind, before };
      before = "";
      atoms.push(current);
    }
  }
  return { atoms: atoms.flatMap(splitCamelCase), rest: before };
}

const SOUND_MARK = "ー";

/** Whether a character goes on with hiragana that the sound mark of katakana is among: `らーめん`. */
function isProlonged(atom: Atom, character: string, kind: number): boolean {
  if (atom.script === HIRAGANA) return character === SOUND_MARK;
  if (kind !== HIRAGANA || atom.text !== SOUND_MARK) return false;
  atom.script = HIRAGANA;
  return true;
}

function splitCamelCase(atom: Atom): Atom[] {
  if (atom.script !== LATIN) return [atom];
  // Expressions over all of Unicode take long to make, and most queries are ASCII.
  const camelCase = isAscii(atom.text) ? /[a-z][A-Z]|[A-Z][A-Z][a-z]/ : /\p{Ll}\p{M}*\p{Lu}|\p{Lu}\p{Lu}\p{Ll}/u;
  if (!camelCase.test(atom.text)) return [atom];
  // Looking ahead comes first: looking back over a run of marks from each of them would take quadratic time.
  const parts = atom.text.split(/(?=\p{Lu})(?<=\p{Ll}\p{M}*)|(?=\p{Lu}\p{Ll}{2})(?<=\p{Lu})/u);
  return parts.map((text, index) => ({ text, script: LATIN, before: index === 0 ? atom.before : "" }));
}

/**
 * Overlapping pairs, and each character by itself: one may be a word, and particles glued to a word change its pairs. Katakana stand as
 * hiragana; as a surface they stay what they are, since hiragana may be particles.
 */
function addPairs(tokens: Token[], atom: Atom): void {
  const { script } = atom;
  const termOf = (surface: string): string => (script === KATAKANA ? foldKana(surface) : surface);
  const characters = foldWord(atom.text, script).match(/\P{M}\p{M}*/gu) ?? [];
  for (let index = 0; index + 1 < characters.length; index++) {
    const surface = characters[index]! + characters[index + 1]!;
    tokens.push({ term: termOf(surface), surface, kind: "pair", part: false, script });
  }
  for (const surface of characters) {
    tokens.push({ term: termOf(surface), surface, kind: "single", part: characters.length > 1, script });
  }
}

/** Whether a token stands behind the words, since it has no place of its own among them. */
function isBehind(token: Token): boolean {
  return token.kind === "whole" || (token.kind === "single" && token.part);
}

import {
  DIGIT,
  EMOJI,
  LATIN,
  LETTER,
  MARK,
  SEPARATOR,
  UNSPACED,
  characterClass,
  foldDigits,
  foldWord,
  isAscii,
} from "./scripts.ts";
import { irregularForms } from "./stem-english.ts";
import { stem } from "./stem.ts";

/** What a stretch of text is indexed as. */
export type Token = {
  /** What stands in the index. */
  term: string;
  /** The word as written, folded but not stemmed: for stop words and for showing. */
  surface: string;
  /**
   * `word`: a word or number, or a part of an identifier; `pair`: two neighbouring characters of an unspaced script;
   * `single`: one such character; `whole`: an identifier with all its parts.
   */
  kind: "word" | "pair" | "single" | "whole";
  /** Whether it is a part of an identifier that is also there as a whole. */
  part: boolean;
  /** Its script, a constant of `scripts.ts`; `DIGIT` for numbers and codes. */
  script: number;
};

/** Longer words are cut off here, in index and query alike: nobody types them, and they are mostly encoded data. */
const MAX_TERM = 64;
/** A word of letters and digits that changes between them more often is a code (a hash, a key) and has no parts. */
const MAX_KIND_CHANGES = 2;

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
let cache: (Terms | undefined)[] = emptyCache();

function emptyCache(): (Terms | undefined)[] {
  return Array.from({ length: 1 << cacheBits });
}

function remember(slot: number, terms: Terms): void {
  if (cache[slot] === undefined) cached++;
  cache[slot] = terms;
  if (cached < cache.length / 2 || cacheBits === MAX_CACHE_BITS) return;
  cacheBits += 3;
  cached = 0;
  cache = emptyCache();
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

/**
 * Makes a finder of those of `wanted` (index tokens) that are among the tokens of a text, each once. A search looks for few words in
 * the text of its hits, so plain words that begin like no form of them are passed over.
 */
export function tokenFinder(wanted: ReadonlySet<string>): (text: string) => string[] {
  const starts = startsOf(wanted);
  const known = new Map<string, string[]>();
  const wantedOf = (chunk: string): string[] => {
    const { words, behind } = workedOut(chunk);
    const tokens = (words + behind).split(" ").filter((token) => wanted.has(token));
    known.set(chunk, tokens);
    return tokens;
  };
  return (text) => {
    const found = new Set<string>();
    forEachChunk(text, (normal, start, end) => {
      if (!starts.has(startOf(normal, start, end)) && isPlainWord(normal, start, end)) return;
      const chunk = normal.slice(start, end);
      for (const token of known.get(chunk) ?? wantedOf(chunk)) found.add(token);
    });
    return [...found];
  };
}

/** The beginnings of plain words that may come to one of the tokens: inflection leaves two letters alone, unless it is irregular. */
function startsOf(tokens: ReadonlySet<string>): Set<number> {
  irregularStarts ??= Map.groupBy(irregularForms(), ([, base]) => startOf(base, 0, base.length));
  const starts = new Set(Array.from(tokens, (token) => startOf(token, 0, token.length)));
  for (const start of starts)
    for (const [form, base] of irregularStarts.get(start) ?? [])
      if (tokens.has(stem(base, LATIN))) starts.add(startOf(form, 0, form.length));
  return starts;
}

/** Irregular forms with their base forms, by how the base form begins. */
let irregularStarts: Map<number, [form: string, base: string][]> | undefined;

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

/** A run of characters of one class, and what stands between it and the one before it. */
type Atom = { text: string; script: number; before: string };

function tokensOfChunk(chunk: string): Token[] {
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
    } else if (current !== undefined && current.script === kind && kind !== EMOJI) {
      current.text += character;
    } else {
      current = { text: character, script: kind, before };
      before = "";
      atoms.push(current);
    }
  }
  return { atoms: atoms.flatMap(splitCamelCase), rest: before };
}

function splitCamelCase(atom: Atom): Atom[] {
  if (atom.script !== LATIN || !/\p{Ll}\p{M}*\p{Lu}|\p{Lu}\p{Lu}\p{Ll}/u.test(atom.text)) return [atom];
  const parts = atom.text.split(/(?<=\p{Ll}\p{M}*)(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})/u);
  return parts.map((text, index) => ({ text, script: LATIN, before: index === 0 ? atom.before : "" }));
}

/** What may stand between two parts of one identifier. */
const CONNECTORS = new Set(["", ".", "-", "_", "/", "\\", "/.", "@", "&", "+", "\u2010", "\u2011"]);

function joins(left: Atom, right: Atom): boolean {
  if (left.script >= UNSPACED || right.script >= UNSPACED || left.script === EMOJI || right.script === EMOJI)
    return false;
  if (right.before === ":") return left.script === DIGIT && right.script === DIGIT;
  // `don't` is one word and `Ann's` is Ann, but `l'homme` is two words.
  if (right.before === "'" || right.before === "\u2019") return right.text.length === 1;
  if (!CONNECTORS.has(right.before)) return false;
  // What is written without its connector must not bring two scripts together, which would part it again.
  const kept = connector(left, right) !== "";
  return kept || left.script === right.script || left.script === DIGIT || right.script === DIGIT;
}

/** Overlapping pairs, and each character by itself: one may be a word, and particles glued to a word change its pairs. */
function addPairs(tokens: Token[], atom: Atom): void {
  const { script } = atom;
  const characters = foldWord(atom.text, script).match(/\P{M}\p{M}*/gu) ?? [];
  for (let index = 0; index + 1 < characters.length; index++) {
    const pair = characters[index]! + characters[index + 1]!;
    tokens.push({ term: pair, surface: pair, kind: "pair", part: false, script });
  }
  for (const character of characters) {
    tokens.push({ term: character, surface: character, kind: "single", part: characters.length > 1, script });
  }
}

/** Whether a token stands behind the words, since it has no place of its own among them. */
function isBehind(token: Token): boolean {
  return token.kind === "whole" || (token.kind === "single" && token.part);
}

function addCompound(tokens: Token[], run: Atom[], after: string): void {
  const atoms = joinApostrophes(run.map(foldAtom).filter((atom) => atom.text !== ""));
  const first = atoms[0];
  if (first === undefined) return;
  const acronym =
    atoms.length > 1 && atoms.every((atom, index) => isLetter(atom) && (index === 0 || atom.before === "."));
  if (acronym) {
    addWord(tokens, atoms.map((atom) => atom.text).join(""), LATIN, false);
    return;
  }
  const wholes = new Set<string>();
  if (atoms.length > 1) addWholes(wholes, atoms, 0);
  const tag = first.before.at(-1);
  if ((tag === "#" || tag === "@") && first.script !== DIGIT) wholes.add(tag + canonical(atoms));
  const sharp = /^(\+\+|#)/.exec(after)?.[1];
  if (
    sharp !== undefined &&
    atoms.length === 1 &&
    first.script === LATIN &&
    (sharp === "++" || first.text.length === 1)
  ) {
    wholes.add(first.text + sharp);
  }
  for (const group of groupsOf(atoms)) {
    if (group.length - 1 > MAX_KIND_CHANGES && group.some((atom) => atom.script === DIGIT)) {
      const code = group.map((atom) => atom.text).join("");
      wholes.delete(code);
      addWord(tokens, code, DIGIT, false);
    } else {
      for (const atom of group) addWord(tokens, atom.text, atom.script, wholes.size > 0);
    }
  }
  const script = atoms.find((atom) => atom.script >= LETTER)?.script ?? first.script;
  for (const whole of wholes) {
    // `data-sets` written together is a word like any other.
    const term = /^[\p{L}\p{M}]+$/u.test(whole) ? stem(whole, script) : whole;
    if (whole.length <= MAX_TERM)
      tokens.push({ term, surface: whole, kind: "whole", part: false, script: first.script });
  }
}

function isLetter(atom: Atom): boolean {
  return atom.script >= LETTER && atom.script < UNSPACED && atom.text.length === 1;
}

function foldAtom(atom: Atom): Atom {
  return { ...atom, text: atom.script === DIGIT ? foldDigits(atom.text) : foldWord(atom.text, atom.script) };
}

/** Contractions put together, the possessive dropped. */
function joinApostrophes(atoms: Atom[]): Atom[] {
  const joined: Atom[] = [];
  for (const atom of atoms) {
    const previous = joined.at(-1);
    const isJoint = atom.before === "'" || atom.before === "\u2019";
    if (previous === undefined || !isJoint || atom.script !== previous.script) joined.push(atom);
    else if (atom.text !== "s") previous.text += atom.text;
  }
  return joined;
}

/** Runs of atoms with nothing between them. */
function groupsOf(atoms: Atom[]): Atom[][] {
  const groups: Atom[][] = [];
  for (const atom of atoms) {
    if (atom.before === "" && groups.length > 0) groups.at(-1)!.push(atom);
    else groups.push([atom]);
  }
  return groups;
}

/** What binds more loosely comes first. */
const LEVELS = [/^[/\\]/, /^@$/, /^[.:&+]$/, /^/];

/** Adds an identifier as a whole, and those of its parts that are identifiers themselves. */
function addWholes(wholes: Set<string>, atoms: Atom[], level: number): void {
  if (atoms.length < 2 || level >= LEVELS.length) return;
  const pieces = splitAtLevel(atoms, level);
  if (pieces.length > 1) wholes.add(canonical(atoms));
  if (level === LEVELS.length - 1) {
    if (pieces.length === 3 && /^\d{4}-\d\d-\d\d$/.test(canonical(atoms))) wholes.add(canonical(atoms.slice(0, 2)));
  } else {
    for (const piece of pieces) addWholes(wholes, piece, level + 1);
  }
}

function splitAtLevel(atoms: Atom[], level: number): Atom[][] {
  const pieces: Atom[][] = [];
  atoms.forEach((atom, index) => {
    if (index > 0 && !LEVELS[level]!.test(atom.before)) pieces.at(-1)!.push(atom);
    else pieces.push([atom]);
  });
  return pieces;
}

/**
 * How an identifier is written in the index: `fooBar`, `foo_bar` and `foo-bar` are the same word, and a dash stays only
 * between numbers, where leaving it out would make another number.
 */
function canonical(atoms: Atom[]): string {
  let text = "";
  atoms.forEach((atom, index) => {
    if (index > 0) text += connector(atoms[index - 1]!, atom);
    text += atom.text;
  });
  return text;
}

function connector(left: Atom, right: Atom): string {
  switch (right.before) {
    case "/":
    case "/.":
    case "\\":
      return "/";
    case "@":
    case ".":
    case ":":
    case "&":
    case "+":
      return right.before;
    default:
      return right.before !== "" && left.script === DIGIT && right.script === DIGIT ? "-" : "";
  }
}

function addWord(tokens: Token[], word: string, script: number, part: boolean): void {
  const surface = word.length > MAX_TERM ? cutOff(word) : word;
  tokens.push({ term: stem(surface, script), surface, kind: "word", part, script });
}

/** The first `MAX_TERM` UTF-16 units, without half a character at the end. */
function cutOff(word: string): string {
  return word.slice(0, MAX_TERM).replace(/[\ud800-\udbff]$/, "");
}

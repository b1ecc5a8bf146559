import { DIGIT, EMOJI, LATIN, LETTER, UNSPACED, characterClass, foldDigits, foldWord, isAscii } from "./scripts.ts";
import { stem } from "./stem.ts";
import { addWord, type Atom, MAX_TERM, type Token } from "./token.ts";

/** A word of letters and digits that changes between them more often is a code (a hash, a key) and has no parts. */
const MAX_KIND_CHANGES = 2;

/** What may stand between two parts of one identifier. */
const CONNECTORS = new Set(["", ".", "-", "_", "/", "\\", "/.", "@", "&", "+", "\u2010", "\u2011"]);

/** Whether two neighbours are parts of one word or identifier. */
export function joins(left: Atom, right: Atom): boolean {
  if (left.script >= UNSPACED || right.script >= UNSPACED || left.script === EMOJI || right.script === EMOJI)
    return false;
  if (right.before === ":") return left.script === DIGIT && right.script === DIGIT;
  // What is written without its connector must not bring two scripts together, which would part it again.
  const isOneScript = left.script === right.script || left.script === DIGIT || right.script === DIGIT;
  // `don't` is one word and `Ann's` is Ann, but `l'homme` is two words.
  if (right.before === "'" || right.before === "\u2019") return isOneScript && right.text.length === 1;
  return CONNECTORS.has(right.before) && (isOneScript || connector(left, right) !== "");
}

/** Adds the tokens of neighbours that are joined: its words, and as wholes the identifiers that they make. `after` follows them. */
export function addCompound(tokens: Token[], run: Atom[], after: string): void {
  const atoms = joinApostrophes(run.map(foldAtom).filter((atom) => atom.text !== ""));
  const first = atoms[0];
  if (first === undefined) return;
  if (isAcronym(atoms)) {
    addWord(tokens, lettersOf(atoms), first.script, false);
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
      const code = lettersOf(group);
      wholes.delete(code);
      addWord(tokens, code, DIGIT, false);
    } else {
      for (const atom of group) addWord(tokens, atom.text, atom.script, wholes.size > 0);
    }
  }
  for (const whole of wholes) {
    if (whole.length > MAX_TERM) continue;
    // `data-sets` written together is a word like any other, and of one script.
    const letters = isAscii(whole) ? /^[a-z]+$/i : /^[\p{L}\p{M}]+$/u;
    const term = letters.test(whole) ? stem(whole, characterClass(whole.codePointAt(0)!)) : whole;
    tokens.push({ term, surface: whole, kind: "whole", part: false, script: first.script });
  }
}

/** Single letters of one script with dots between them: `U.S.A.` is a word. */
function isAcronym(atoms: Atom[]): boolean {
  const { script } = atoms[0]!;
  if (atoms.length < 2 || script < LETTER || script >= UNSPACED) return false;
  return atoms.every(
    (atom, index) => atom.script === script && atom.text.length === 1 && (index === 0 || atom.before === "."),
  );
}

function lettersOf(atoms: Atom[]): string {
  return atoms.map((atom) => atom.text).join("");
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
  if (pieces.length > 1) wholes.add(isAcronym(atoms) ? lettersOf(atoms) : canonical(atoms));
  if (level === LEVELS.length - 1) {
    addDate(wholes, pieces);
  } else {
    for (const piece of pieces) addWholes(wholes, piece, level + 1);
  }
}

/** Adds the day and the month that an identifier is or begins with: `2026-11-28-router`. */
function addDate(wholes: Set<string>, pieces: Atom[][]): void {
  const day = canonical(pieces.slice(0, 3).flat());
  if (!/^\d{4}-\d\d-\d\d$/.test(day)) return;
  wholes.add(day);
  wholes.add(day.slice(0, 7));
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

import { lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { isMediaPath } from "../home/media.ts";
import { isInside } from "../home/paths.ts";
import type { Collection } from "../home/types.ts";
import { cutPassages } from "../notes/cut.ts";
import { decodeNote, MAX_NOTE_BYTES } from "../notes/decode.ts";
import { type Standing, standingOf } from "../notes/headings.ts";
import type { Cutting, PassageDraft } from "../notes/types.ts";
import { sha256 } from "../sha256.ts";
import type { DocumentRow } from "../store/types.ts";
import { indexTokens } from "./tokens.ts";

/** How a document's file stands to what is indexed of it. */
export type FileState = {
  /** What all names of a file share, and hard links with it; of one that is gone its name. */
  inode: string;
} & (
  | { state: "current" | "gone" }
  /** Something else stands under its name: a folder, a device, binary data, a link that leads out of the collection. */
  | { state: "unsuitable" }
  /** There, as far as one can tell, but it may not be looked at. */
  | { state: "unreadable" }
  /** Changed, as size and time say, and too large to be read while somebody waits for an answer. */
  | { state: "unread" }
  /** The file as it is now. */
  | { state: "changed"; text: string; passages: StandingPassage[] }
);

/** A passage of a file as it is now, with what it stands under. */
export type StandingPassage = PassageDraft & Standing;

/**
 * What looking through changed files may still cost the answer that waits for it, and a server's other answers with it: bytes to
 * read and cut (2 MB take about 20 ms), and characters of passages to make tokens of (128,000 take about 50 ms).
 */
export type LookBudget = { bytes: number; characters: number };

/** For one answer. */
export function lookBudget(): LookBudget {
  return { bytes: 2 * 1024 * 1024, characters: 128_000 };
}

/**
 * Looks at the file behind a document: one `stat` when nothing changed. A file that was touched but says the same is current.
 * Transcripts only grow, and pictures and sounds are shown by a label, so for those it is enough that they are there.
 */
export function fileState(
  document: DocumentRow,
  collection: Collection,
  cutting: Cutting,
  budget: LookBudget,
): FileState {
  const path = join(collection.root, document.path);
  try {
    const stat = collection.followLinks ? statSync(path) : lstatSync(path);
    if (!stat.isFile()) return { state: "unsuitable", inode: path };
    const inode = `${stat.dev}:${stat.ino}`;
    const isKnown =
      (stat.mtimeMs === document.mtimeMs && stat.size === document.size) ||
      collection.source === "sessions" ||
      isMediaPath(document.path, collection.media);
    if (isKnown) return { state: "current", inode };
    if (!isInRoot(path, collection)) return { state: "unsuitable", inode };
    if (stat.size > budget.bytes) return { state: "unread", inode };
    budget.bytes -= stat.size;
    const passages = passagesIfChanged(readFileSync(path), document, cutting);
    if (passages === "none") return { state: "unsuitable", inode };
    return passages === null ? { state: "current", inode } : { state: "changed", inode, ...passages };
  } catch (error) {
    return { state: isGone(error) ? "gone" : "unreadable", inode: path };
  }
}

function isGone(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
}

/** Whether nothing stands at a path, as far as one may look. */
export function isMissing(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return isGone(error);
  }
}

/** The text of a document's file as it is now, or null when the file is gone or is no note any more. */
export function textNow(document: Pick<DocumentRow, "path">, collection: Collection): string | null {
  const path = join(collection.root, document.path);
  try {
    if (!isInRoot(path, collection)) return null;
    const stat = statSync(path);
    return stat.isFile() && stat.size <= MAX_NOTE_BYTES ? decodeNote(readFileSync(path)).text : null;
  } catch {
    return null;
  }
}

/** What was indexed lay inside the root; a link put in its place must not lead out of it. */
function isInRoot(path: string, { root }: Collection): boolean {
  return isInside(realpathSync(path), realpathSync(root));
}

/** The text of a file and its passages, null when it says what is indexed, "none" when it is no text any more. */
function passagesIfChanged(
  bytes: Buffer,
  document: DocumentRow,
  cutting: Cutting,
): { text: string; passages: StandingPassage[] } | "none" | null {
  const { text } = decodeNote(bytes);
  if (text === null) return "none";
  const hash = sha256(text);
  // What another program indexed since has the file's hash, but passages of the text before it.
  if (hash === document.hash && document.mtimeMs >= 0) return null;
  const passages = cutPassages(text, cutting);
  const standing = standingOf(document.path, text, passages);
  return { text, passages: passages.map((passage, at) => Object.assign(passage, standing[at])) };
}

/** Below this share of common tokens a passage is another one and not an edited one. */
const SAME_PASSAGE = 0.5;

/**
 * The passage of a changed file that now stands where a hit stood: the same text, else the one that holds the most of the query
 * and is most like the old one, else (where meaning and not words had found it) an edited form of it. Null when there is none
 * any more: then the hit is no hit.
 */
export function passageNow(
  hit: { text: string; fromKeyword: boolean; fromVector: boolean; byName: boolean },
  passages: StandingPassage[],
  { termsIn, tokensIn }: PassageWords,
): PassageDraft | null {
  const same = samePassage(hit, passages);
  if (same) return same;
  const before = tokensIn(hit.text);
  let best: { passage: PassageDraft; terms: number; likeness: number } | null = null;
  for (const passage of passages) {
    // What stands under it was found by its words.
    if (passage.isBare) continue;
    const terms = hit.fromKeyword ? termsOf(passage, termsIn).size : 0;
    if (terms < (best?.terms ?? 0) || (terms === 0 && !hit.fromVector)) continue;
    const likeness = jaccard(before, tokensIn(passage.text));
    if (terms === 0 && likeness < SAME_PASSAGE) continue;
    if (!best || terms > best.terms || (terms === best.terms && likeness > best.likeness)) {
      best = { passage, terms, likeness };
    }
  }
  return best?.passage ?? (hit.byName ? (passages[0] ?? null) : null);
}

function termsOf({ headings, text }: StandingPassage, termsIn: PassageWords["termsIn"]): ReadonlySet<string> {
  return new Set([...headings, text].flatMap(termsIn));
}

/** The passage that says what a hit said, or undefined. */
export function samePassage(hit: { text: string }, passages: PassageDraft[]): PassageDraft | undefined {
  return passages.find((passage) => passage.text === hit.text);
}

/** What is asked of a passage: which of the query's terms it holds, and all its tokens. */
export type PassageWords = { termsIn: (text: string) => string[]; tokensIn: (text: string) => ReadonlySet<string> };

/** Makes out each text's words once: several hits of a file are looked for among the same passages. */
export function passageWords(termsIn: (text: string) => string[]): PassageWords {
  return { termsIn: once(termsIn), tokensIn: once((text) => new Set(indexTokens(text))) };
}

function once<T>(make: (text: string) => T): (text: string) => T {
  const made = new Map<string, T>();
  return (text) => {
    const known = made.get(text);
    if (known !== undefined) return known;
    const value = make(text);
    made.set(text, value);
    return value;
  };
}

function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const token of a) if (b.has(token)) shared++;
  const all = a.size + b.size - shared;
  return all === 0 ? 1 : shared / all;
}

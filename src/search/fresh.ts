import { lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { isInside } from "../home/paths.ts";
import type { Collection } from "../home/types.ts";
import { cutPassages } from "../notes/cut.ts";
import { decodeNote } from "../notes/decode.ts";
import type { Cutting, PassageDraft } from "../notes/types.ts";
import type { DocumentRow } from "../store/types.ts";
import { indexTokens } from "./tokens.ts";

/** How a document's file stands to what is indexed of it. */
export type FileState = {
  /** What all names of a file share, and hard links with it; of one that is gone its name. */
  inode: string;
} & (
  | { state: "current" | "gone" }
  /** The file as it is now; no passages when it holds no text any more. */
  | { state: "changed"; text: string; passages: PassageDraft[] }
);

/**
 * Looks at the file behind a document: one `stat` when nothing changed. A file that was touched but says the same is current.
 * Transcripts only grow, and pictures and sounds are shown by a label, so for those it is enough that they are there.
 */
export function fileState(document: DocumentRow, collection: Collection, cutting: Cutting): FileState {
  const path = join(collection.root, document.path);
  const gone: FileState = { state: "gone", inode: path };
  try {
    const stat = collection.followLinks ? statSync(path) : lstatSync(path);
    if (!stat.isFile()) return gone;
    const inode = `${stat.dev}:${stat.ino}`;
    const isKnown =
      (stat.mtimeMs === document.mtimeMs && stat.size === document.size) ||
      collection.source === "sessions" ||
      isMedia(document.path, collection);
    if (isKnown) return { state: "current", inode };
    if (!isInRoot(path, collection)) return gone;
    const passages = passagesIfChanged(readFileSync(path), document, cutting);
    return passages === null ? { state: "current", inode } : { state: "changed", inode, ...passages };
  } catch {
    return gone;
  }
}

/** The text of a document's file as it is now, or null when the file is gone or is no text any more. */
export function textNow(document: Pick<DocumentRow, "path">, collection: Collection): string | null {
  const path = join(collection.root, document.path);
  try {
    return isInRoot(path, collection) && statSync(path).isFile() ? decodeNote(readFileSync(path)).text : null;
  } catch {
    return null;
  }
}

/** What was indexed lay inside the root; a link put in its place must not lead out of it. */
function isInRoot(path: string, { root }: Collection): boolean {
  return isInside(realpathSync(path), realpathSync(root));
}

/** The text of a file and its passages, or null when it says what is indexed. */
function passagesIfChanged(
  bytes: Buffer,
  document: DocumentRow,
  cutting: Cutting,
): { text: string; passages: PassageDraft[] } | null {
  const { text } = decodeNote(bytes);
  if (text === null) return { text: "", passages: [] };
  const hash = new Bun.CryptoHasher("sha256").update(text).digest("hex");
  // What another program indexed since has the file's hash, but passages of the text before it.
  return hash === document.hash && document.mtimeMs >= 0 ? null : { text, passages: cutPassages(text, cutting) };
}

function isMedia(path: string, collection: Collection): boolean {
  const extension = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  return collection.media?.extensions.some((known) => known.replace(/^\./, "").toLowerCase() === extension) ?? false;
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
  passages: PassageDraft[],
  termsIn: (text: string) => string[],
): PassageDraft | null {
  const same = passages.find((passage) => passage.text === hit.text);
  if (same) return same;
  const before = new Set(indexTokens(hit.text));
  let best: { passage: PassageDraft; terms: number; likeness: number } | null = null;
  for (const passage of passages) {
    const terms = hit.fromKeyword ? termsIn(passage.text).length : 0;
    const likeness = jaccard(before, new Set(indexTokens(passage.text)));
    if (terms === 0 && !(hit.fromVector && likeness >= SAME_PASSAGE)) continue;
    if (!best || terms > best.terms || (terms === best.terms && likeness > best.likeness)) {
      best = { passage, terms, likeness };
    }
  }
  return best?.passage ?? (hit.byName ? (passages[0] ?? null) : null);
}

function jaccard(a: Set<string>, b: Set<string>): number {
  const shared = a.intersection(b).size;
  const all = a.size + b.size - shared;
  return all === 0 ? 1 : shared / all;
}

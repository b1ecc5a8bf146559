import { readFileSync } from "node:fs";
import { messageOf } from "../errors.ts";
import { documentCutting } from "../home/document-cutting.ts";
import type { Collection, Home } from "../home/types.ts";
import { cutPassages } from "../notes/cut.ts";
import { decodeNote, MAX_NOTE_BYTES, MAX_NOTE_MB } from "../notes/decode.ts";
import { noteFacts } from "../notes/front-matter.ts";
import { standingOf } from "../notes/headings.ts";
import { mediaLabel, mediaType } from "../notes/media.ts";
import type { NoteFacts, PassageDraft } from "../notes/types.ts";
import { indexTokenString } from "../search/tokens.ts";
import { passageTokenString } from "../search/turns.ts";
import { sha256 } from "../sha256.ts";
import type { DocumentDraft, PassageToStore } from "../store/types.ts";
import { errorCode, fileProblem, type ScannedFile, throwIfExhausted } from "./scan.ts";

/** What reading a file came to. */
export type ReadDocument =
  /** New or changed. */
  | { kind: "draft"; draft: DocumentDraft; notice?: string }
  /** The text that the index holds already. */
  | { kind: "same" }
  /** A blank file of a qmd home, which has no document. */
  | { kind: "blank" }
  /** Not a text, or too large: it has no document. */
  | { kind: "unsuitable"; reason: string }
  /** Could not be read this time; the index keeps what it has. `gone` when it vanished after the scan. */
  | { kind: "failed"; reason: string; gone: boolean };

/** The context in which a file is read. A file that still has `knownHash` is not cut. */
export type ReadContext = { home: Home; collection: Collection; knownHash: string | null };

/**
 * Why a sync leaves a file out, found out without cutting it: "" for a blank one, which needs no word; null when it is taken. In a
 * server `readDocument` would keep everyone waiting.
 */
export function reasonLeftOut(file: ScannedFile, home: Home, collection: Collection): string | null {
  if (isTooLarge(file)) return TOO_LARGE;
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(`${collection.root}/${file.path}`);
  } catch (error) {
    return fileProblem(error);
  }
  if (file.kind === "media") return mediaType(bytes) === null ? NO_MEDIA : null;
  const { text } = decodeNote(bytes);
  if (text === null) return NO_TEXT;
  return isBlank(text, home) ? "" : null;
}

const TOO_LARGE = `it is larger than ${MAX_NOTE_MB} MB`;
const NO_TEXT = "it is not a text file";
const NO_MEDIA = "it is neither an image nor a sound";

/** Whether a file is no note by its size alone. */
export function isTooLarge({ kind, size }: ScannedFile): boolean {
  return kind === "text" && size > MAX_NOTE_BYTES;
}

/** A home of qmd's has no document of a blank file. */
function isBlank(text: string, { kind }: Home): boolean {
  return kind === "qmd" && text.trim() === "";
}

/** Reads, decodes and hashes a file, and if its text is new to the index cuts it and makes its index tokens. */
export async function readDocument(file: ScannedFile, context: ReadContext): Promise<ReadDocument> {
  if (isTooLarge(file)) return { kind: "unsuitable", reason: TOO_LARGE };
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(`${context.collection.root}/${file.path}`);
  } catch (error) {
    throwIfExhausted(error);
    return { kind: "failed", reason: fileProblem(error), gone: errorCode(error) === "ENOENT" };
  }
  try {
    return file.kind === "media" ? mediaDocument(bytes, file, context) : await textDocument(bytes, file, context);
  } catch (error) {
    // One file must not end the sync of all others.
    return { kind: "failed", reason: `it could not be taken in: ${messageOf(error)}`, gone: false };
  }
}

async function textDocument(bytes: Uint8Array, file: ScannedFile, context: ReadContext): Promise<ReadDocument> {
  const { home, collection, knownHash } = context;
  const decoded = decodeNote(bytes);
  if (decoded.text === null) return { kind: "unsuitable", reason: NO_TEXT };
  const source = await sourceOf(decoded.text, file.path, collection);
  const { text } = source;
  if (isBlank(text, home)) return { kind: "blank" };
  const hash = sha256(text);
  if (hash === knownHash) return { kind: "same" };
  const { title, date, tags } = await source.facts();
  const facts: PassageFacts = {
    nameTokens: indexTokenString(`${title} ${file.path}`),
    lineOf: source.lineOf,
    keyOf: home.kind === "qmd" ? (_, seq) => `${hash}_${seq}` : (textHash) => `${textHash}_0`,
  };
  const drafts = cutPassages(text, documentCutting(home, collection, file.path));
  // In a transcript a line that begins with `#` is somebody's words.
  const standing = collection.source === "sessions" ? [] : standingOf(file.path, text, drafts);
  const tokensOfHeading = new Map<string, string>();
  const passages = drafts.map((passage, at) => {
    const stored = toStore(passage, facts);
    const { headings = [], isBare = false } = standing[at] ?? {};
    for (const heading of headings) {
      if (heading === title) continue;
      if (!tokensOfHeading.has(heading)) tokensOfHeading.set(heading, indexTokenString(heading));
      stored.nameTokens += ` ${tokensOfHeading.get(heading)}`;
    }
    // Short as it is, it would stand before every entry that answers.
    if (isBare) stored.tokens = "";
    return stored;
  });
  const draft = draftOf(file, collection, { title, hash, text, date: date ?? null, tags, passages });
  return decoded.replaced
    ? { kind: "draft", draft, notice: "some of its bytes are no text and were replaced" }
    : { kind: "draft", draft };
}

/** What is indexed of a file: its text, or of a transcript what was said, whose lines stand elsewhere in the file. */
type Source = { text: string; facts: () => Promise<NoteFacts>; lineOf: (line: number) => number };

async function sourceOf(text: string, path: string, { source }: Collection): Promise<Source> {
  // Transcripts that were exported to a qmd collection are Markdown already.
  if (source !== "sessions" || path.endsWith(".md"))
    return { text, facts: () => noteFacts(text, path), lineOf: (line) => line };
  const { renderTranscript, sessionIdOf } = await import("../notes/transcript.ts");
  const transcript = renderTranscript(text);
  const last = transcript.lastActivityMs;
  const date = last === null ? {} : { date: new Date(last).toISOString().slice(0, 10) };
  return {
    text: transcript.text,
    facts: async () => ({ title: sessionIdOf(path.slice(path.lastIndexOf("/") + 1)), tags: [], ...date }),
    lineOf: (line) => transcript.sourceLines[line - 1] ?? line,
  };
}

type PassageFacts = {
  nameTokens: string;
  lineOf: (line: number) => number;
  keyOf: (textHash: string, seq: number) => string;
};

function toStore(passage: PassageDraft, { nameTokens, lineOf, keyOf }: PassageFacts): PassageToStore {
  const textHash = sha256(passage.hashedText ?? passage.text);
  return {
    ...passage,
    startLine: lineOf(passage.startLine),
    endLine: lineOf(passage.endLine),
    tokens: passageTokenString(passage.text),
    nameTokens,
    textHash,
    vectorKey: keyOf(textHash, passage.seq),
  };
}

/** A picture or sound: one passage that names it; its hash covers the label and the data. */
function mediaDocument(data: Uint8Array, file: ScannedFile, { collection, knownHash }: ReadContext): ReadDocument {
  const mimeType = mediaType(data);
  if (mimeType === null) return { kind: "unsuitable", reason: NO_MEDIA };
  const path = `${collection.pathPrefix}${file.path}`;
  const text = mediaLabel(mimeType, path);
  const hash = mediaHash(path, mimeType, data);
  if (hash === knownHash) return { kind: "same" };
  const name = file.path.slice(file.path.lastIndexOf("/") + 1);
  const passage: PassageToStore = {
    seq: 0,
    startLine: 1,
    endLine: 1,
    pos: 0,
    length: text.length,
    text,
    tokens: indexTokenString(text),
    nameTokens: indexTokenString(file.path),
    textHash: hash,
    vectorKey: `${hash}_0`,
  };
  return {
    kind: "draft",
    draft: draftOf(file, collection, { title: name, hash, text, date: null, tags: [], passages: [passage] }),
  };
}

/** Hash of a picture's or sound's document: of its path, label, type and content. */
export function mediaHash(path: string, mimeType: string, data: Uint8Array): string {
  return sha256(JSON.stringify({ path, contentText: mediaLabel(mimeType, path), mimeType, dataHash: sha256(data) }));
}

type Content = Pick<DocumentDraft, "title" | "hash" | "text" | "date" | "tags" | "passages">;

function draftOf(
  { path, size, mtimeMs, birthtimeMs }: ScannedFile,
  collection: Collection,
  content: Content,
): DocumentDraft {
  return { collection: collection.name, path, size, mtimeMs, birthtimeMs, ...content };
}

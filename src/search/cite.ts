import { join } from "node:path";
import { documentCutting } from "../home/document-cutting.ts";
import { realPath } from "../home/paths.ts";
import type { Collection, Home } from "../home/types.ts";
import { passageText } from "../notes/passage-text.ts";
import type { PassageDraft } from "../notes/types.ts";
import { contentTexts, countWithoutPassages, documentsByHashPrefix, documentsById } from "../store/documents.ts";
import { passagesById } from "../store/passages.ts";
import type { DocumentRow, Index, PassageRow } from "../store/types.ts";
import { type FileState, fileState, lookBudget, passageNow, passageWords, samePassage } from "./fresh.ts";
import { textScoreOf } from "./fuse.ts";
import type { Ranked } from "./rank.ts";
import { snippetOf } from "./snippet.ts";
import type { Hit, SearchRequest } from "./types.ts";

export type CiteContext = {
  index: Index;
  home: Home;
  request: SearchRequest;
  collections: Map<string, Collection>;
  /** The query's terms that a text holds. */
  termsIn: (text: string) => string[];
};

/** `stale`: a file that was looked at is gone or changed since the last sync, or another program has written to the index. */
export type Cited = { hits: Hit[]; notices: string[]; stale: boolean };

/**
 * Turns the first rows into hits, as many as are asked for, each checked against its file: what is gone is left out and counted,
 * what changed is shown as it is now.
 */
export function cite(rows: Iterable<Ranked>, limit: number, context: CiteContext): Cited {
  const stored: Stored = { documents: new Map(), passages: new Map(), texts: new Map() };
  const files = new Map<number, FileState>();
  const budget = lookBudget();
  const words = passageWords(context.termsIn);
  /** Changed files whose passages are looked through; the budget is charged once for each. */
  const looked = new Set<number>();
  const shown: ShownBefore = new Map();
  const noted: Noted = {
    gone: new Set(),
    unsuitable: new Set(),
    outdated: new Set(),
    unread: new Set(),
    unreadable: new Set(),
  };
  const hits: Hit[] = [];
  if (limit < 1) return { hits, notices: [], stale: false };
  for (const row of readAhead(rows, limit, context.index, stored)) {
    const document = stored.documents.get(row.documentId);
    const collection = document && context.collections.get(document.collection);
    if (!document || !collection) continue;
    const cutting = documentCutting(context.home, collection, document.path);
    let file = files.get(document.id) ?? fileState(document, collection, cutting, budget);
    files.set(document.id, file);
    const name = `${collection.pathPrefix}${document.path}`;
    if ((file.state === "gone" || file.state === "unsuitable") && !context.request.keepGone) {
      noted[file.state].add(name);
      continue;
    }
    const passage = stored.passages.get(row.passageId);
    const whole = stored.texts.get(document.hash);
    // A sync that runs meanwhile may have replaced it.
    if (!passage || whole === undefined) continue;
    const text = passageText(whole, passage.pos, passage.length);
    if (file.state === "changed" && !looked.has(document.id) && !samePassage({ text }, file.passages)) {
      if (file.text.length > budget.characters) file = { state: "unread", inode: file.inode };
      else {
        budget.characters -= file.text.length;
        looked.add(document.id);
      }
    }
    if (file.state === "unread" || file.state === "unreadable") noted[file.state].add(name);
    const cited =
      file.state === "changed"
        ? passageNow({ ...row, text, byName: row.nameTier > 0 }, file.passages, words)
        : { ...passage, text };
    const body = file.state === "changed" ? file.text : whole;
    if (cited === null) noted.outdated.add(name);
    else {
      const hit = hitOf(row, firstOfFile(document, context), { ...cited, body }, context);
      if (isNew(hit, document, file.inode, context, shown)) hits.push(hit);
    }
    if (hits.length === limit) break;
  }
  const uncut = context.index.isShared ? countWithoutPassages(context.index, context.request.collections) : 0;
  // What can't be read now can't be synced either.
  const stale = uncut > 0 || files.values().some(({ state }) => state !== "current" && state !== "unreadable");
  return { hits, notices: [...noticesOf(noted), ...uncutNotice(uncut)], stale };
}

/** What the index holds of the rows that were looked at. */
type Stored = {
  documents: Map<number, DocumentRow>;
  passages: Map<number, PassageRow>;
  texts: Map<string, string>;
};

/** Rows are read from the index by so many at most. */
const MOST_AHEAD = 64;

/** The rows, as many at a time as will probably be shown: one query reads them together for little more than a single one. */
function* readAhead(rows: Iterable<Ranked>, limit: number, index: Index, stored: Stored): Generator<Ranked> {
  const size = Math.min(limit, MOST_AHEAD);
  let block: Ranked[] = [];
  for (const row of rows) {
    block.push(row);
    if (block.length < size) continue;
    readStored(block, index, stored);
    yield* block;
    block = [];
  }
  readStored(block, index, stored);
  yield* block;
}

function readStored(rows: readonly Ranked[], index: Index, { documents, passages, texts }: Stored): void {
  if (rows.length === 0) return;
  const unread = new Set(rows.map(({ documentId }) => documentId).filter((id) => !documents.has(id)));
  const found = documentsById(index, [...unread]);
  for (const [id, document] of found) documents.set(id, document);
  const hashes = new Set(Array.from(found.values(), ({ hash }) => hash).filter((hash) => !texts.has(hash)));
  for (const [hash, text] of contentTexts(index, [...hashes])) texts.set(hash, text);
  for (const [id, row] of passagesById(
    index,
    rows.map(({ passageId }) => passageId),
  ))
    passages.set(id, row);
}

/** A document's file by its real path, where several collections, or links in one, may lead to the same one. */
function realFileOf({ collection, path }: DocumentRow, { collections, request }: CiteContext): string {
  const { root = "", followLinks = false } = collections.get(collection) ?? {};
  const file = join(root, path);
  if (request.collections.length < 2 && !followLinks) return file;
  // A file that is gone is known by its name alone.
  return realPath(file);
}

/** The same file as a document of the first searched collection that holds it, whichever of them the query found. */
function firstOfFile(document: DocumentRow, context: CiteContext): DocumentRow {
  const order = context.request.collections;
  const own = order.indexOf(document.collection);
  if (own <= 0) return document;
  const realFile = realFileOf(document, context);
  return documentsByHashPrefix(context.index, document.hash)
    .filter(({ collection }) => order.indexOf(collection) >= 0 && order.indexOf(collection) < own)
    .filter((other) => realFileOf(other, context) === realFile)
    .reduce(
      (first, other) => (order.indexOf(other.collection) < order.indexOf(first.collection) ? other : first),
      document,
    );
}

/** The documents that were shown, by the inode of their file and, where passages are shown, by what was. */
type ShownBefore = Map<string, DocumentRow[]>;

/**
 * Two collections may hold the same file, and two passages of a changed one may have become one: each is shown once. Only what has
 * one inode is looked at: real paths take longer to find out than all else about a file.
 */
function isNew(hit: Hit, document: DocumentRow, inode: string, context: CiteContext, shown: ShownBefore): boolean {
  const key = context.request.profile.unit === "documents" ? inode : `${inode}\0${hit.startLine}\0${hit.text}`;
  const before = shown.get(key) ?? [];
  const isSame = (other: DocumentRow): boolean =>
    other.id === document.id || realFileOf(other, context) === realFileOf(document, context);
  if (before.some(isSame)) return false;
  shown.set(key, [...before, document]);
  return true;
}

type CitedPassage = Pick<PassageDraft, "startLine" | "endLine" | "pos" | "length" | "text"> & {
  body: string;
  importance?: number | null;
  triggers?: string[] | null;
};

function hitOf(row: Ranked, document: DocumentRow, shown: CitedPassage, context: CiteContext): Hit {
  const { profile, explain } = context.request;
  const textKind = profile.fusion === "weighted" ? profile.textScore : "bm25";
  const { importance, triggers } = shown;
  // What was said stands on lines of the transcript that are not in a row: only the passage's own ends are known.
  const isTranscript = context.collections.get(document.collection)?.source === "sessions";
  return {
    passageId: row.passageId,
    documentId: document.id,
    collection: document.collection,
    path: document.path,
    title: document.title,
    hash: document.hash,
    startLine: shown.startLine,
    endLine: shown.endLine,
    pos: shown.pos,
    length: shown.length,
    score: row.score,
    ...(row.cosine === null ? {} : { vectorScore: row.cosine }),
    ...(row.bm25 === null ? {} : { textScore: textScoreOf(row.bm25, textKind) }),
    text: shown.text,
    body: shown.body,
    // Looked for by surfaces that print it; others choose lines of their own.
    get snippet() {
      const snippet = snippetOf(shown, profile.snippetChars, context.termsIn);
      return isTranscript ? { ...snippet, startLine: shown.startLine, endLine: shown.endLine } : snippet;
    },
    ...(importance === null || importance === undefined ? {} : { importance }),
    ...(triggers ? { triggers } : {}),
    ...(explain ? { explain: explanationOf(row) } : {}),
  };
}

function explanationOf(row: Ranked): NonNullable<Hit["explain"]> {
  const { bm25, cosine, key, level, recency, importance, nameTier } = row;
  return { bm25, cosine, key, level, recency, importance, nameTier };
}

/** Names of files that are not answered as they stand in the index, or are and had better not. */
type Noted = Record<"gone" | "unsuitable" | "outdated" | "unread" | "unreadable", Set<string>>;

function noticesOf({ gone, unsuitable, outdated, unread, unreadable }: Noted): string[] {
  const sentences: [Set<string>, (files: string) => string][] = [
    [gone, (files) => `Left out: ${files}, gone since the last sync.`],
    [unsuitable, (files) => `Left out: ${files}, no text file of the collection any more.`],
    [outdated, (files) => `Left out: ${files}, changed since the last sync and no longer matching.`],
    [unread, (files) => `Shown as indexed: ${files}, changed since the last sync and too long to be searched anew.`],
    [unreadable, (files) => `Shown as indexed: ${files}, which can't be read.`],
  ];
  return sentences.filter(([files]) => files.size > 0).map(([files, sentence]) => sentence(listed(files)));
}

function uncutNotice(documents: number): string[] {
  if (documents === 0) return [];
  const what = documents === 1 ? "1 document" : `${documents} documents`;
  return [
    `Left out: ${what} that another program added or changed since the last update; the next update indexes them.`,
  ];
}

function listed(paths: Set<string>): string {
  const [first = ""] = paths;
  if (paths.size === 1) return `1 file (${first})`;
  return `${paths.size} files (${first} and ${paths.size - 1} more)`;
}

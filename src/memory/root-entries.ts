import { cutPassages } from "../notes/cut.ts";
import type { Cutting } from "../notes/types.ts";
import { textScoreOf } from "../search/fuse.ts";
import { scoreTexts } from "../search/keyword.ts";
import { parseQuery } from "../search/query.ts";
import { indexTokens } from "../search/tokens.ts";
import { type OwnNote, readOwnNote } from "./own-note.ts";
import { phraseWords, type TrustedEntry } from "./recall.ts";

/** What a workspace's root files hold: the entries with triggers, and sentences about the files that could not be read. */
export type RootEntries = { entries: TrustedEntry[]; unread: string[]; files: EntryFile[] };

/** One file: the tokens of each entry by the line it begins in, their number, and how many entries hold each token. */
type EntryFile = {
  path: string;
  note: OwnNote;
  entries: TrustedEntry[];
  texts: Map<number, string[]>;
  tokens: number;
  frequencies: Map<string, number>;
  /** Tokens and trigger phrases by what they were made from: an edit leaves most entries as they were. */
  words: Map<string, EntryWords>;
};

type EntryWords = { tokens: string[]; phrases: string[][] };

/** Nobody curates more, and the tokens of all of it are made before a message is answered. */
const MAX_CURATED_BYTES = 1024 * 1024;

/** What was read of each workspace's files: a message comes with every turn, the files change now and then. */
const known = new Map<string, EntryFile>();

/**
 * The entries of a workspace's curated root files as these are now. `paths` are relative to the workspace; of two names of one file
 * the first counts.
 */
export async function readRootEntries(
  workspace: string,
  paths: Iterable<string>,
  cutting: Cutting,
): Promise<RootEntries> {
  const unread: string[] = [];
  const files = new Map<string, EntryFile>();
  for (const path of paths) {
    const key = `${workspace}\0${path}`;
    const before = known.get(key);
    const note = await readOwnNote(workspace, path, MAX_CURATED_BYTES, before?.note);
    if (typeof note === "string") unread.push(note);
    if (note === null || typeof note === "string" || files.has(note.file)) continue;
    const file = note === before?.note ? before : entryFile(path, note, cutting, before?.words);
    known.set(key, file);
    files.set(note.file, file);
  }
  return { entries: [...files.values()].flatMap(({ entries }) => entries), unread, files: [...files.values()] };
}

function entryFile(path: string, note: OwnNote, cutting: Cutting, known?: Map<string, EntryWords>): EntryFile {
  const entries: TrustedEntry[] = [];
  const texts = new Map<number, string[]>();
  const words = new Map<string, EntryWords>();
  const frequencies = new Map<string, number>();
  let total = 0;
  for (const { text, startLine, triggers = [], projects = [] } of cutPassages(note.text, cutting)) {
    const source = [text, ...triggers].join("\0");
    const made = known?.get(source) ?? { tokens: indexTokens(text), phrases: triggers.map(phraseWords) };
    words.set(source, made);
    const { tokens, phrases } = made;
    texts.set(startLine, tokens);
    total += tokens.length;
    for (const token of new Set(tokens)) frequencies.set(token, (frequencies.get(token) ?? 0) + 1);
    if (triggers.length === 0) continue;
    entries.push({ text: text.trim(), path, startLine, phrases, projects });
  }
  return { path, note, entries, texts, tokens: total, frequencies, words };
}

/** How well some of the entries answer a message by their words, 0 to 1, by `path:startLine`. */
export function relevanceOfEntries(
  { files }: RootEntries,
  message: string,
  asked: readonly TrustedEntry[],
): Map<string, number> {
  if (asked.length === 0) return new Map();
  const byPath = new Map(files.map((file) => [file.path, file]));
  const texts = asked.map(({ path, startLine }) => byPath.get(path)?.texts.get(startLine) ?? []);
  const scores = scoreTexts(parseQuery(message, "plain"), texts, {
    passages: files.reduce((sum, file) => sum + file.texts.size, 0),
    tokens: files.reduce((sum, file) => sum + file.tokens, 0),
    frequencyOf: (term) => files.reduce((sum, { frequencies }) => sum + (frequencies.get(term) ?? 0), 0),
  });
  return new Map(
    asked.map(({ path, startLine }, at) => [`${path}:${startLine}`, textScoreOf(scores[at] ?? 0, "bm25")]),
  );
}

import { cutPassages } from "../notes/cut.ts";
import type { Cutting } from "../notes/types.ts";
import { textScoreOf } from "../search/fuse.ts";
import { type LooseText, scoreTexts } from "../search/keyword.ts";
import { parseQuery } from "../search/query.ts";
import { indexTokens } from "../search/tokens.ts";
import { type OwnNote, readOwnNote } from "./own-note.ts";
import { phraseWords, type TrustedEntry } from "./recall.ts";

/** Entries with triggers, and the words of all entries, by `path:startLine`. */
export type RootEntries = { entries: TrustedEntry[]; texts: Map<string, LooseText> };

type KnownFile = { note: OwnNote } & RootEntries;

/** What was read of each workspace's files: a message comes with every turn, the files change now and then. */
const known = new Map<string, KnownFile>();

/**
 * The entries of a workspace's curated root files as these are now, for a home that does not index them per entry. `paths` are relative
 * to the workspace; of two names of one file the first counts.
 */
export async function readRootEntries(
  workspace: string,
  paths: Iterable<string>,
  cutting: Cutting,
): Promise<RootEntries> {
  const all: RootEntries = { entries: [], texts: new Map() };
  const seen = new Set<string>();
  for (const path of paths) {
    const key = `${workspace}\0${path}`;
    const before = known.get(key);
    const note = await readOwnNote(workspace, path, before?.note);
    if (note === null || typeof note === "string" || seen.has(note.file)) continue;
    seen.add(note.file);
    const file = note === before?.note ? before : { note, ...entriesOf(path, note.text, cutting) };
    known.set(key, file);
    all.entries.push(...file.entries);
    for (const [place, text] of file.texts) all.texts.set(place, text);
  }
  return all;
}

function entriesOf(path: string, text: string, cutting: Cutting): RootEntries {
  const entries: TrustedEntry[] = [];
  const texts = new Map<string, LooseText>();
  for (const { text: entry, startLine, triggers = [], projects = [] } of cutPassages(text, cutting)) {
    const tokens = indexTokens(entry);
    texts.set(`${path}:${startLine}`, { tokens, words: new Set(tokens) });
    if (triggers.length === 0) continue;
    entries.push({ text: entry.trim(), path, startLine, phrases: triggers.map(phraseWords), projects });
  }
  return { entries, texts };
}

/** How well some of the entries answer a message by their words, 0 to 1, by `path:startLine`. */
export function relevanceOfEntries(
  { texts }: RootEntries,
  message: string,
  asked: TrustedEntry[],
): Map<string, number> {
  const places = asked.map(({ path, startLine }) => `${path}:${startLine}`);
  const wanted = places.map((place) => texts.get(place) ?? { tokens: [], words: new Set<string>() });
  const scores = scoreTexts(parseQuery(message, "plain"), wanted, [...texts.values()]);
  return new Map(places.map((place, at) => [place, textScoreOf(scores[at] ?? 0, "bm25")]));
}

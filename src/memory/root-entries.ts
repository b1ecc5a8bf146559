import { cutPassages } from "../notes/cut.ts";
import type { Cutting } from "../notes/types.ts";
import { textScoreOf } from "../search/fuse.ts";
import { scoreTexts } from "../search/keyword.ts";
import { parseQuery } from "../search/query.ts";
import { indexTokens } from "../search/tokens.ts";
import { type OwnNote, readOwnNote } from "./own-note.ts";
import { phraseWords, type TrustedEntry } from "./recall.ts";

/** Entries with triggers, and the tokens of all entries, by `path:startLine`. */
export type RootEntries = { entries: TrustedEntry[]; tokens: Map<string, string> };

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
  const all: RootEntries = { entries: [], tokens: new Map() };
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
    for (const [place, tokens] of file.tokens) all.tokens.set(place, tokens);
  }
  return all;
}

function entriesOf(path: string, text: string, cutting: Cutting): RootEntries {
  const entries: TrustedEntry[] = [];
  const tokens = new Map<string, string>();
  for (const { text: entry, startLine, triggers = [], projects = [] } of cutPassages(text, cutting)) {
    tokens.set(`${path}:${startLine}`, indexTokens(entry).join(" "));
    if (triggers.length === 0) continue;
    entries.push({ text: entry.trim(), path, startLine, phrases: triggers.map(phraseWords), projects });
  }
  return { entries, tokens };
}

/** How well each entry answers a message by its words, 0 to 1, by `path:startLine`. */
export function relevanceOfEntries({ tokens }: RootEntries, message: string): Map<string, number> {
  const scores = scoreTexts(parseQuery(message, "plain"), [...tokens.values()]);
  return new Map([...tokens.keys()].map((place, at) => [place, textScoreOf(scores[at] ?? 0, "bm25")]));
}

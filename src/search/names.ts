import { documentPaths, documentPathsHolding, documentRoster } from "../store/documents.ts";
import { changeStamp } from "../store/meta.ts";
import type { Index, Scope } from "../store/types.ts";
import { isAscii } from "./scripts.ts";

/** A document that was asked for by its name: 3 its whole path, 2 its base name, 1 its base name without the extension. */
export type NameHit = { documentId: number; tier: 1 | 2 | 3 };

type Named = NameHit & { collection: string };

/**
 * What is remembered of an index, since a question is looked up in its names every time and nearly never found. `names` are those of
 * `roster`, gathered when it has been asked for `questions` times.
 */
type Known = { stamp: string; roster: string; questions: number; names: Map<string, Named[]> | null };

const known = new WeakMap<Index, Known>();

/** To gather all names pays only where more questions come: until then, and while documents come and go, each is answered by a scan. */
const GATHERED_FROM = 3;

/**
 * The documents in scope whose name is what was typed, whatever its case, best tier first. A query with a `/` can only be a
 * whole path. Parts of names are the keyword leg's, which searches title and path too.
 */
export function nameLeg(index: Index, query: string, scope: Scope): NameHit[] {
  const allowed = scope.documentIds === undefined ? null : new Set(scope.documentIds);
  return documentsNamed(index, normalName(query))
    .filter(
      ({ documentId, collection }) => scope.collections.includes(collection) && (allowed?.has(documentId) ?? true),
    )
    .map(({ documentId, tier }) => ({ documentId, tier }));
}

function documentsNamed(index: Index, name: string): Named[] {
  if (name === "") return [];
  const now = knownOf(index);
  now.questions += 1;
  if (now.names === null && now.questions < GATHERED_FROM && isAscii(name))
    return namesAmong(documentPathsHolding(index, name)).get(name) ?? [];
  now.names ??= namesAmong(documentPaths(index));
  return now.names.get(name) ?? [];
}

function knownOf(index: Index): Known {
  const stamp = changeStamp(index);
  const before = known.get(index);
  if (before?.stamp === stamp) return before;
  // A process that answers one question alone needs no roster.
  const roster = before === undefined ? "" : documentRoster(index);
  const stays = before !== undefined && before.roster === roster;
  const now = stays ? { ...before, stamp } : { stamp, roster, questions: 0, names: null };
  known.set(index, now);
  return now;
}

function namesAmong(documents: { id: number; collection: string; path: string }[]): Map<string, Named[]> {
  const names = new Map<string, Named[]>();
  for (const document of documents) document.path = normalName(document.path);
  for (const tier of [3, 2, 1] as const) {
    for (const { id, collection, path } of documents) {
      const name = nameOfTier(path, tier);
      // A path without folders is its own base name, a base name without extension its own stem.
      if (name === "" || (tier < 3 && name === nameOfTier(path, tier === 1 ? 2 : 3))) continue;
      const hits = names.get(name);
      if (hits === undefined) names.set(name, [{ documentId: id, tier, collection }]);
      else hits.push({ documentId: id, tier, collection });
    }
  }
  return names;
}

function normalName(name: string): string {
  return name.trim().replaceAll("\\", "/").replace(/^\.\//, "").normalize("NFC").toLowerCase();
}

function nameOfTier(path: string, tier: 1 | 2 | 3): string {
  if (tier === 3) return path;
  const base = path.slice(path.lastIndexOf("/") + 1);
  if (tier === 2) return base;
  const dot = base.lastIndexOf(".");
  return dot > 0 ? base.slice(0, dot) : base;
}

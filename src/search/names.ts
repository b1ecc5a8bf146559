import { documentPaths, documentPathsHolding } from "../store/documents.ts";
import { changeStamp } from "../store/meta.ts";
import type { Index, Scope } from "../store/types.ts";
import { isAscii } from "./scripts.ts";

/** A document that was asked for by its name: 3 its whole path, 2 its base name, 1 its base name without the extension. */
export type NameHit = { documentId: number; tier: 1 | 2 | 3 };

type Named = NameHit & { collection: string };

/** Names of an index as long as nobody writes to it: a question is looked up in them every time and nearly never found. */
const known = new WeakMap<Index, { stamp: string; names: Map<string, Named[]> }>();

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

/** Indexes that were asked before. */
const asked = new WeakSet<Index>();

/** The first question is answered by a scan: to gather all names pays only where more questions come. */
function documentsNamed(index: Index, name: string): Named[] {
  const isFirst = !asked.has(index) && isAscii(name) && name !== "";
  asked.add(index);
  const names = isFirst ? namesAmong(documentPathsHolding(index, name)) : namesOf(index);
  return names.get(name) ?? [];
}

function namesOf(index: Index): Map<string, Named[]> {
  const stamp = changeStamp(index);
  const remembered = known.get(index);
  if (remembered?.stamp === stamp) return remembered.names;
  const names = namesAmong(documentPaths(index));
  known.set(index, { stamp, names });
  return names;
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

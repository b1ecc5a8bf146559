import { realpathSync } from "node:fs";
import { join } from "node:path";
import { editDistance } from "../edit-distance.ts";
import { absolutePath, type Env, realPath, wayBelow } from "../home/paths.ts";
import type { Collection, Home } from "../home/types.ts";
import {
  documentPaths,
  documentsByHashPrefix,
  documentsByPath,
  documentsBySuffix,
  findDocument,
} from "../store/documents.ts";
import type { DocumentPath, DocumentRow, Index } from "../store/types.ts";

/** Where names are looked up. `cwd` and `env` are for paths on disk, as a person or `--full-path` writes them. */
export type ResolveContext = { home: Home; index: Index; cwd: string; env: Env; ends?: PathEnds };

/**
 * The paths of each index by how their last part is spelt in any way: gathered once for all names of a list, since to look for one that
 * is nowhere is to look at every path.
 */
export type PathEnds = Map<Index, Map<string, DocumentPath[]>>;

/** What a name stands for. */
export type Resolution =
  | { kind: "document"; document: DocumentRow }
  | { kind: "ambiguous"; documents: DocumentRow[] }
  | { kind: "missing" };

/** A place in a collection, whether or not there is a document. */
export type Place = { collection: Collection; path: string };

/**
 * The document that a name stands for, whatever surface printed it: `qmd://collection/path`, `collection/path`, a path of the
 * memory surface, a path on disk, a path in any collection, a docid, or the end of a path from a `/` on. Exact names come before
 * docids, docids before ends of paths, those before names in another case, and a name is tried as it stands before it is
 * percent-decoded. One file in several collections counts once, as that of the first.
 */
export function resolveName(context: ResolveContext, name: string): Resolution {
  const spellings = spellingsOf(name);
  for (const spelling of spellings) {
    const exact = exactResolution(context, spelling);
    if (exact.kind !== "missing") return exact;
  }
  const docid = docidOf(name);
  const identified = docid === null ? null : documentByDocid(context, docid);
  if (identified !== null && identified.kind !== "missing") return identified;
  for (const spelling of spellings) {
    const tail = withoutScheme(spelling).replace(/^\/+/, "");
    const found = tail === "" ? [] : endingIn(context, tail);
    const resolution = pick(context, found.length > 0 ? found : bySpelling(context, tail));
    if (resolution.kind !== "missing") return resolution;
  }
  return { kind: "missing" };
}

/** The hex digits of a name that may be a docid (`#abc123`, with or without the sign), or null. */
export function docidOf(name: string): string | null {
  return /^["']?#?([0-9a-f]{6,64})["']?$/i.exec(name.trim())?.[1] ?? null;
}

/** The document whose hash begins with these digits; of several with one text the first. */
export function documentByDocid(context: Pick<ResolveContext, "home" | "index">, digits: string): Resolution {
  const found = pick(context, documentsByHashPrefix(context.index, digits));
  if (found.kind === "ambiguous" && new Set(found.documents.map(({ hash }) => hash)).size === 1) {
    return { kind: "document", document: found.documents[0]! };
  }
  return found;
}

/** The document whose exact name this is, as it stands or percent-decoded; never one by docid or by the end of its path. */
export function exactDocument(context: ResolveContext, name: string): DocumentRow | null {
  for (const spelling of spellingsOf(name)) {
    const exact = exactResolution(context, spelling);
    if (exact.kind === "document") return exact.document;
  }
  return null;
}

/** The places that an exact name may mean, whether or not a document is there, the likeliest first. */
export function placesOf(context: Omit<ResolveContext, "index">, name: string): Place[] {
  const bare = withoutScheme(name);
  if (bare !== name) return namedPlaces(context.home, bare);
  const onDisk = diskPlaces(context, name);
  if (isDiskPath(name)) return onDisk;
  return [...namedPlaces(context.home, name), ...onDisk];
}

/** As `collection/path`, and as the memory surface writes it. */
function namedPlaces({ collections }: Home, name: string): Place[] {
  const starts = collections.flatMap((collection) => [
    { collection, start: `${collection.name}/` },
    { collection, start: collection.pathPrefix },
  ]);
  return starts.flatMap(({ collection, start }) =>
    name.startsWith(start) ? [{ collection, path: name.slice(start.length) }] : [],
  );
}

function diskPlaces({ home, cwd, env }: Omit<ResolveContext, "index">, name: string): Place[] {
  const file = absolutePath(name, cwd, env);
  return home.collections.flatMap((collection) =>
    [...new Set([collection.root, realPath(collection.root)])].flatMap((root) => {
      const path = wayBelow(root, file);
      return path === null ? [] : [{ collection, path }];
    }),
  );
}

function isDiskPath(name: string): boolean {
  return /^(?:[/~]|\.{1,2}(?:\/|$))/.test(name);
}

/** Paths of documents that are nearly what was typed, the nearest first; only those that lead back to their document. */
export function similarNames(context: ResolveContext, name: string, most: number): string[] {
  const wanted = withoutScheme(name).toLowerCase();
  const names = new Set(context.home.collections.map((collection) => collection.name));
  const near: { collection: string; path: string; distance: number }[] = [];
  for (const { collection, path } of documentPaths(context.index)) {
    if (!names.has(collection)) continue;
    const spellings = [path, path.slice(path.lastIndexOf("/") + 1), `${collection}/${path}`];
    const distances = spellings.map((spelling) => editDistance(spelling.toLowerCase(), wanted, LEAST_LIKE));
    const distance = Math.min(...distances);
    if (distance > LEAST_LIKE || distance >= wanted.length - 1) continue;
    near.push({ collection, path, distance });
  }
  return near
    .toSorted((a, b) => a.distance - b.distance || (a.path < b.path ? -1 : 1))
    .slice(0, most)
    .map(({ collection, path }) =>
      exactDocument(context, path)?.collection === collection ? path : `${collection}/${path}`,
    );
}

/** Edits beyond which two names are not alike. */
const LEAST_LIKE = 5;

/** No system has a longer path, and a name of a hundred thousand parts takes minutes to be looked for folder by folder. */
const MOST_CHARACTERS = 4096;

/** A name as it stands, and percent-decoded where that is something else; only such as a file may have. */
export function spellingsOf(name: string): string[] {
  return [...new Set([name, percentDecoded(name)])].filter((one) => one.length <= MOST_CHARACTERS);
}

/** The text without percent-encoding, as it stands where that is not sound. */
export function percentDecoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** The name behind `qmd://`, however many slashes were typed; other names as they are. */
export function withoutScheme(name: string): string {
  return /^(?:qmd:\/*|\/\/)(.*)$/is.exec(name)?.[1] ?? name;
}

function exactResolution(context: ResolveContext, name: string): Resolution {
  const { index, home } = context;
  const first = (places: Place[]): Resolution | null => {
    for (const { collection, path } of places) {
      const document = findDocument(index, collection.name, path);
      if (document !== null) return { kind: "document", document };
    }
    return null;
  };
  const bare = withoutScheme(name);
  if (bare !== name) return first(namedPlaces(home, bare)) ?? pick(context, documentsByPath(index, name));
  if (isDiskPath(name)) return first(diskPlaces(context, name)) ?? byRealPath(context, name);
  const named = first(namedPlaces(home, name));
  if (named !== null) return named;
  const anywhere = pick(context, documentsByPath(index, name));
  // Of several with this path the one in the current folder is meant.
  return anywhere.kind === "document" ? anywhere : (first(diskPlaces(context, name)) ?? anywhere);
}

/** A link's target is printed as the path on disk and may itself be no document. */
function byRealPath(context: ResolveContext, name: string): Resolution {
  let real: string;
  try {
    real = realpathSync(absolutePath(name, context.cwd, context.env));
  } catch {
    return { kind: "missing" };
  }
  for (const { collection, path } of documentPaths(context.index)) {
    const root = context.home.collections.find((one) => one.name === collection)?.root;
    if (root === undefined || realPath(join(root, path)) !== real) continue;
    const document = findDocument(context.index, collection, path);
    if (document !== null) return { kind: "document", document };
  }
  return { kind: "missing" };
}

/** The documents whose `collection/path` ends so at a `/`, those of each collection in order of their paths. */
function endingIn(context: ResolveContext, tail: string): DocumentRow[] {
  const gathered = gatheredEnds(context, tail);
  if (gathered === null) return documentsBySuffix(context.index, tail);
  return gathered
    .filter(({ collection, path }) => `/${collection}/${path}`.endsWith(`/${tail}`))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .flatMap(({ collection, path }) => findDocument(context.index, collection, path) ?? []);
}

/** Of the paths that are gathered those that may end so in some spelling; null where none are. */
function gatheredEnds({ index, ends }: ResolveContext, tail: string): DocumentPath[] | null {
  if (ends === undefined) return null;
  const known = ends.get(index) ?? Map.groupBy(documentPaths(index), ({ path }) => lastPart(path));
  ends.set(index, known);
  return known.get(lastPart(tail)) ?? [];
}

function lastPart(path: string): string {
  return path
    .slice(path.lastIndexOf("/") + 1)
    .normalize("NFC")
    .toLowerCase();
}

/**
 * The documents whose path is, or ends, so when letters are composed alike (`é` may be one character or two), else in any case; whole
 * paths come before ends.
 */
function bySpelling(context: ResolveContext, tail: string): DocumentRow[] {
  const { index, home } = context;
  const composed = `/${tail}`.normalize("NFC");
  const folded = composed.toLowerCase();
  const collections = new Set(home.collections.map(({ name }) => name));
  const alike = (gatheredEnds(context, tail) ?? documentPaths(index)).filter(
    ({ collection, path }) =>
      `/${collection}/${path}`.normalize("NFC").toLowerCase().endsWith(folded) && collections.has(collection),
  );
  const names = alike.map(({ collection, path }) => [`/${path}`, `/${collection}/${path}`]);
  const same: ((name: string) => boolean)[] = [
    (name) => name.normalize("NFC") === composed,
    (name) => name.normalize("NFC").endsWith(composed),
    (name) => name.normalize("NFC").toLowerCase() === folded,
    () => true,
  ];
  for (const isSame of same) {
    const found = alike.filter((_, at) => names[at]!.some(isSame));
    if (found.length > 0) return found.flatMap(({ collection, path }) => findDocument(index, collection, path) ?? []);
  }
  return [];
}

/** One file may be a document of several collections: then the first collection's is meant. */
function pick({ home }: Pick<ResolveContext, "home">, documents: readonly DocumentRow[]): Resolution {
  const roots = new Map(home.collections.map(({ name, root }) => [name, root]));
  const order = [...roots.keys()];
  const files = new Map<string, DocumentRow>();
  const known = documents.filter(({ collection }) => roots.has(collection));
  for (const document of known.toSorted((a, b) => order.indexOf(a.collection) - order.indexOf(b.collection))) {
    const file = realPath(join(roots.get(document.collection) ?? "", document.path));
    if (!files.has(file)) files.set(file, document);
  }
  const [first, ...others] = files.values();
  if (first === undefined) return { kind: "missing" };
  return others.length === 0
    ? { kind: "document", document: first }
    : { kind: "ambiguous", documents: [first, ...others] };
}

import { setImmediate } from "node:timers/promises";
import { MemqError } from "../errors.ts";
import { realPath } from "../home/paths.ts";
import { exactDocument, resolveName, similarNames, withoutScheme } from "../search/resolve.ts";
import { documentsIn, mostCommas } from "../store/documents.ts";
import type { DocumentRow } from "../store/types.ts";
import { type Asked, type DocumentText, documentText, lookedUp, type NameList, resolveContext } from "./lookup.ts";
import { documentName } from "./names.ts";
import type { OpenQmd } from "./open.ts";
import { linesOf } from "./text.ts";

const SIMILAR = 3;
/** For so many missing names of a list it is said what they are like, which takes a look at every path. */
const MOST_COMPARED = 20;
/** More names than this in a list are refused: each is looked up by itself. */
const MOST_NAMES = 10_000;
/** In characters. */
const LONGEST_GLOB = 4096;

/**
 * A document that was asked for, in the index where it is; `name` is how it is called in the answer. Where lines of it were asked for,
 * as in `notes/a.md:100:40`, the first of them and how many.
 */
export type Wanted = { open: OpenQmd; document: DocumentRow; name: string; from?: number; count?: number };

/** What is shown of a document: its text, or the lines that were asked for; `from` is the number of the first one. */
export function wantedText({ open, document, name, from = 1, count = Infinity }: Wanted): DocumentText & {
  from: number;
  /** Said when it has no such lines. */
  beyond: string | null;
} {
  const { text, file } = documentText(open, document);
  const first = Math.max(1, from);
  const lines = linesOf(text, { from: first, count, numbers: false });
  return { ...lines, file, from: first, beyond: lines.beyond && `${name}: ${lines.beyond}` };
}

type Asking = {
  open: OpenQmd;
  /** Told of each name that is no document. */
  say: (sentence: string) => void;
  /** Aborted when nobody waits for the answer any more. */
  signal: AbortSignal | undefined;
  names: NameList;
};

/**
 * The documents that a glob, or a list of names and docids, means. `say` is told of each name that is none. Null: nothing was found
 * where that is a failure. Throws `TOO_MANY_NAMES`. Indexes of documents that are returned and not `open` are the caller's to close.
 */
export async function wantedDocuments(
  open: OpenQmd,
  pattern: string,
  say: (sentence: string) => void,
  signal?: AbortSignal,
): Promise<Wanted[] | null> {
  const names: NameList = { others: new Map(), ends: new Map() };
  let found: Wanted[] | null = null;
  try {
    return (found = await foundBy({ open, say, signal, names }, pattern));
  } finally {
    const used = new Set(found?.map((wanted) => wanted.open));
    for (const other of names.others.values()) if (!used.has(other)) other.index.close();
  }
}

async function foundBy(asking: Asking, pattern: string): Promise<Wanted[] | null> {
  const { open, say, names } = asking;
  const context = resolveContext(open);
  const exact = exactDocument(context, pattern);
  if (exact !== null) return [{ open, document: exact, name: shortName(open, exact) }];
  const isGlob = /[*?{]/.test(pattern);
  if (pattern.includes(",") && !isGlob) return listed(asking, pattern);
  if (/^["']?#?[0-9a-f]{6,64}["']?$/i.test(pattern)) {
    const documents = await listed(asking, pattern);
    return documents.length === 0 ? null : documents;
  }
  const matching = await matchingDocuments(open, pattern).catch((error: unknown) => {
    if (!(error instanceof MemqError && error.code === "BAD_PATTERN")) throw error;
    say(error.message);
    return null;
  });
  if (matching === null) return null;
  if (matching.length > 0) return matching;
  if (pattern.includes(",")) {
    const documents = await listed(asking, pattern);
    if (documents.length > 0) return documents;
  }
  const { asked, open: other } = await lookedUp(open, pattern, names);
  if (asked.resolution.kind === "document") {
    return [wantedOf(other, asked.resolution.document, asked)];
  }
  say(`No files matched pattern: ${pattern}`);
  return null;
}

/** A link's target, by which a document may be called too, has commas that the index knows nothing of: these are tried at least. */
const COMMAS = 4;

/**
 * A name may hold commas itself: of the pieces that could be one name the longest run that is a document counts. Longer runs than any
 * name has are not tried, else the look-ups grow with the square of the list.
 */
async function listed({ open, say, signal, names }: Asking, list: string): Promise<Wanted[]> {
  const context = resolveContext(open);
  const pieces = list.split(",");
  if (pieces.length > MOST_NAMES) {
    const sentence = `The list has ${pieces.length} names; at most ${MOST_NAMES} are looked up at once.`;
    throw new MemqError("TOO_MANY_NAMES", sentence, { hint: "Ask for them in parts, or by a glob." });
  }
  const longest = 1 + Math.max(COMMAS, mostCommas(open.index) + mostCommasAround(open));
  const found: Wanted[] = [];
  let missing = 0;
  for (let at = 0; at < pieces.length;) {
    let end = Math.min(pieces.length, at + longest);
    while (end > at + 1 && exactDocument(context, pieces.slice(at, end).join(",").trim()) === null) end--;
    const name = pieces.slice(at, end).join(",").trim();
    at = end;
    if (name === "") continue;
    // A server answers others between two names.
    await setImmediate();
    signal?.throwIfAborted();
    const { open: other, asked } = await lookedUp(open, name, names);
    const { resolution } = asked;
    if (resolution.kind === "document") {
      found.push(wantedOf(other, resolution.document, asked));
    } else if (resolution.kind === "ambiguous") {
      const candidates = resolution.documents.map((document) => documentName(other, document));
      say(`Ambiguous path ${name}: ${candidates.join(", ")}`);
    } else {
      const similar = missing++ < MOST_COMPARED ? similarNames(context, name, SIMILAR) : [];
      say(`File not found: ${name}${similar.length === 0 ? "" : ` (did you mean: ${similar.join(", ")}?)`}`);
    }
  }
  return found;
}

/** The most commas that a name can have before the path in the collection. */
function mostCommasAround({ qmd }: OpenQmd): number {
  const starts = qmd.home.collections.flatMap(({ name, root, pathPrefix }) => [name, pathPrefix, root, realPath(root)]);
  return Math.max(0, ...starts.map((start) => start.split(",").length - 1));
}

function wantedOf(open: OpenQmd, document: DocumentRow, { from, count }: Asked): Wanted {
  const lines = { ...(from === undefined ? {} : { from }), ...(count === undefined ? {} : { count }) };
  return { open, document, name: documentName(open, document), ...lines };
}

/** The documents whose path, with or without its collection, matches a glob, in order. A longer text is a list of names. */
async function matchingDocuments(open: OpenQmd, pattern: string): Promise<Wanted[]> {
  if (pattern.length > LONGEST_GLOB) return [];
  const { anyOf, writtenOut } = await import("../sync/globs.ts");
  // Here a glob says what is wanted: `!` in front is a part of a name.
  const glob = withoutScheme(pattern).replace(/^!(?!\()/, String.raw`\!`);
  const matches = anyOf(writtenOut(glob), { dot: true });
  const names = open.qmd.home.collections.map(({ name }) => name);
  return documentsIn(open.index, names)
    .filter(({ collection, path }) => matches(path) || matches(`${collection}/${path}`))
    .map((document) => ({ open, document, name: shortName(open, document) }));
}

/** The path in its collection where that leads back to the document, else its full name. */
function shortName(open: OpenQmd, document: DocumentRow): string {
  if (open.named !== undefined) return documentName(open, document);
  const found = resolveName(resolveContext(open), document.path);
  const leadsBack = found.kind === "document" && found.document.id === document.id;
  return leadsBack ? document.path : documentName(open, document);
}

import { existsSync } from "node:fs";
import { join } from "node:path";
import { QMD_IGNORED } from "../home/qmd-home.ts";
import { isMissing, textNow } from "../search/fresh.ts";
import {
  exactDocument,
  type PathEnds,
  percentDecoded,
  placesOf,
  type Resolution,
  type ResolveContext,
  resolveName,
} from "../search/resolve.ts";
import { contentText } from "../store/documents.ts";
import type { DocumentRow } from "../store/types.ts";
import { type OpenQmd, openQmd } from "./open.ts";

/** Where names are looked up. */
export function resolveContext({ qmd, index }: OpenQmd, ends?: PathEnds): ResolveContext {
  return { home: qmd.home, index, cwd: process.cwd(), env: process.env, ...(ends === undefined ? {} : { ends }) };
}

/** What the names of one list share: the further indexes that they lead to, each opened once, and the paths of all. */
export type NameList = { others: Map<string, OpenQmd>; ends: PathEnds };

/** A name and the lines asked for behind it, as in `notes/a.md:100:40`. */
export type Asked = { resolution: Resolution; name: string; from?: number; count?: number };

const INDEX_PART = "?index=";

/**
 * Looks a name up, in another index and its configuration where the name ends in `?index=` and is no document as it stands. That index
 * is opened unless it is among the `others` of the list (by name), joins them, and is the caller's to close.
 */
export async function lookedUp(open: OpenQmd, name: string, list?: NameList): Promise<{ open: OpenQmd; asked: Asked }> {
  const asked = askedDocument(resolveContext(open, list?.ends), name);
  const at = name.startsWith("qmd:") ? name.lastIndexOf(INDEX_PART) : -1;
  const named = at < 0 ? null : /^([^&#:]+)((?::\d+){0,2})$/.exec(name.slice(at + INDEX_PART.length));
  if (named === null || asked.resolution.kind === "document") return { open, asked };
  const [, index = "", range = ""] = named;
  const bare = name.slice(0, at);
  const other = list?.others.get(index) ?? (await openQmd(percentDecoded(index), open));
  list?.others.set(index, other);
  return { open: other, asked: askedDocument(resolveContext(other, list?.ends), `${bare}${range}`) };
}

/** Looks a name up; a file whose name ends like a range of lines comes before the range. */
function askedDocument(context: ResolveContext, name: string): Asked {
  const range = /^(.+?):(\d+)(?::(\d+))?$/s.exec(name);
  const whole = range === null ? null : exactDocument(context, name);
  if (range === null) return { resolution: resolveName(context, name), name };
  if (whole !== null) return { resolution: { kind: "document", document: whole }, name };
  const [, bare = "", from, count] = range;
  return {
    resolution: resolveName(context, bare),
    name: bare,
    from: Number(from),
    ...(count === undefined ? {} : { count: Number(count) }),
  };
}

/** The text of a document, and where its file did not give it what became of that: `unread` is there, but can't be read as a note. */
export type DocumentText = { text: string; file: "read" | "gone" | "unread" };

/** The text of a document as its file is now; where that is gone or can't be read, as it was indexed. */
export function documentText(open: OpenQmd, document: DocumentRow): DocumentText {
  const collection = open.qmd.home.collections.find(({ name }) => name === document.collection);
  const now = collection === undefined ? null : textNow(document, collection);
  if (now !== null) return { text: now, file: "read" };
  const isGone = collection === undefined || isMissing(join(collection.root, document.path));
  return { text: contentText(open.index, document.hash) ?? "", file: isGone ? "gone" : "unread" };
}

/** The rule that keeps a file which is there out of the index, or null. */
export async function ignoreRuleOf(
  open: OpenQmd,
  name: string,
): Promise<{ collection: string; path: string; rule: string } | null> {
  const context = resolveContext(open);
  const anywhere = open.qmd.home.collections.map((collection) => ({ collection, path: name }));
  const places = [...placesOf(context, name), ...anywhere].filter(({ collection, path }) =>
    existsSync(join(collection.root, path)),
  );
  if (places.length === 0) return null;
  const { ignoreRules, leavesOut } = await import("../sync/patterns.ts");
  for (const { collection, path } of places) {
    const own = collection.ignore.filter((rule) => !QMD_IGNORED.includes(rule));
    const rule = [...own, ...QMD_IGNORED].find((one) => leavesOut(ignoreRules([one], collection.root), path));
    if (rule !== undefined) return { collection: collection.name, path, rule };
  }
  return null;
}

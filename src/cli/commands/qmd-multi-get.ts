import { basename } from "node:path";
import { MemqError } from "../../errors.ts";
import { contextOf } from "../../home/qmd-contexts.ts";
import { exactDocument, resolveName, similarNames } from "../../search/resolve.ts";
import { documentsIn } from "../../store/documents.ts";
import type { DocumentRow } from "../../store/types.ts";
import { notice } from "../output.ts";
import type { Invocation } from "../parse.ts";
import { flag, number } from "../parse.ts";
import { formatOf, numbered } from "../qmd/format.ts";
import { documentText, goneWarning, lookedUp, resolveContext } from "../qmd/lookup.ts";
import { diskPath, documentName, fullPathWarning, shownPath } from "../qmd/names.ts";
import { type OpenQmd, openQmd } from "../qmd/open.ts";
import { type DocumentPrint, printDocuments } from "../qmd/print-documents.ts";

const DEFAULT_MAX = 65_536;
const SIMILAR = 3;

/** A document that was asked for, in the index where it is; `name` is how it is called in the answer. */
type Wanted = { open: OpenQmd; document: DocumentRow; name: string };

/** `multi-get PATTERN`: several documents by a glob, or by a list of names and docids. */
export async function run(invocation: Invocation): Promise<number> {
  const { program, words } = invocation;
  const format = formatOf(invocation);
  const [pattern = ""] = words;
  if (pattern === "") {
    throw new MemqError(
      "USAGE",
      `Usage: ${program} multi-get <pattern> [-l <lines>] [--max-bytes <bytes>] [--no-line-numbers] [--full-path] [--format json|csv|md|xml|files]`,
      { hint: "  pattern: glob (e.g., 'journals/2025-05*.md') or comma-separated list" },
    );
  }
  const options = {
    lines: number(invocation, "l", { min: 1, whole: true }) ?? Infinity,
    maxChars: number(invocation, "max-bytes", { min: 1, whole: true }) ?? DEFAULT_MAX,
    lineNumbers: !flag(invocation, "no-line-numbers"),
    fullPath: flag(invocation, "full-path"),
  };
  const open = await openQmd(invocation);
  const found = await wantedDocuments(invocation, open, pattern);
  if (found === null) return 1;
  const rows = found.map((wanted) => documentPrint(wanted, options));
  const gone = rows.filter(({ isGone }) => isGone).length;
  if (gone > 0) notice((options.fullPath ? fullPathWarning : goneWarning)(gone, rows.length, program));
  printDocuments(format, rows);
  return 0;
}

/** Null: nothing was found where that is a failure, which has been said. */
async function wantedDocuments(invocation: Invocation, open: OpenQmd, pattern: string): Promise<Wanted[] | null> {
  const context = resolveContext(open);
  const exact = exactDocument(context, pattern);
  if (exact !== null) return [{ open, document: exact, name: shortName(open, exact) }];
  const isGlob = /[*?{]/.test(pattern);
  if (pattern.includes(",") && !isGlob) return listed(invocation, open, pattern);
  if (/^["']?#?[0-9a-f]{6,64}["']?$/i.test(pattern)) {
    const documents = await listed(invocation, open, pattern);
    return documents.length === 0 ? null : documents;
  }
  const matching = await matchingDocuments(open, pattern);
  if (matching.length > 0) return matching;
  if (pattern.includes(",")) {
    const documents = await listed(invocation, open, pattern);
    if (documents.length > 0) return documents;
  }
  const { asked, open: other } = await lookedUp(invocation, open, pattern);
  if (asked.resolution.kind === "document") {
    const { document } = asked.resolution;
    return [{ open: other, document, name: documentName(other, document) }];
  }
  notice(`No files matched pattern: ${pattern}`);
  return null;
}

/** A name may hold commas itself: of the pieces that could be one name the longest run that is a document counts. */
async function listed(invocation: Invocation, open: OpenQmd, list: string): Promise<Wanted[]> {
  const context = resolveContext(open);
  const pieces = list.split(",");
  const found: Wanted[] = [];
  for (let at = 0; at < pieces.length;) {
    let end = pieces.length;
    while (end > at + 1 && exactDocument(context, pieces.slice(at, end).join(",").trim()) === null) end--;
    const name = pieces.slice(at, end).join(",").trim();
    at = end;
    if (name === "") continue;
    const { open: other, asked } = await lookedUp(invocation, open, name);
    const { resolution } = asked;
    if (resolution.kind === "document") {
      found.push({ open: other, document: resolution.document, name: documentName(other, resolution.document) });
    } else if (resolution.kind === "ambiguous") {
      const candidates = resolution.documents.map((document) => documentName(other, document));
      notice(`Ambiguous path ${name}: ${candidates.join(", ")}`);
    } else {
      const similar = similarNames(context, name, SIMILAR);
      notice(`File not found: ${name}${similar.length === 0 ? "" : ` (did you mean: ${similar.join(", ")}?)`}`);
    }
  }
  return found;
}

/** The documents whose path, with or without its collection, matches a glob; in order of collection and path. */
async function matchingDocuments(open: OpenQmd, pattern: string): Promise<Wanted[]> {
  const { default: picomatch } = await import("picomatch");
  const matches = picomatch(pattern.replace(/^(?:qmd:\/*|\/\/)/i, ""), { dot: true, nonegate: true });
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

function documentPrint(
  { open, document, name }: Wanted,
  options: { lines: number; maxChars: number; lineNumbers: boolean; fullPath: boolean },
): DocumentPrint & { isGone: boolean } {
  const { text, gone } = documentText(open, document);
  const disk = options.fullPath ? diskPath(open, document) : null;
  const context = contextOf(open.qmd.config, document.collection, document.path);
  const file = disk === null ? name : shownPath(disk);
  const shared = {
    file,
    ...(disk === null ? { docid: `#${document.hash.slice(0, 6)}` } : {}),
    ...(context === undefined ? {} : { context }),
    isGone: gone,
  };
  if (text.length > options.maxChars) {
    const kilobytes = (size: number): string => `${Math.round(size / 1024)}KB`;
    const limit = `${kilobytes(text.length)} > ${kilobytes(options.maxChars)}`;
    const skipped = `File too large (${limit}). Use '${open.program} get ${file}' to retrieve.`;
    return { ...shared, title: basename(document.path), skipped };
  }
  const body = firstLines(text, options.lines);
  return { ...shared, title: document.title, body: options.lineNumbers ? numbered(body, 1) : body };
}

function firstLines(text: string, most: number): string {
  const lines = text.split("\n");
  if (lines.length <= most) return text;
  return `${lines.slice(0, most).join("\n")}\n\n[... truncated ${lines.length - most} more lines]`;
}

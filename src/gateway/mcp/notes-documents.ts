import { setImmediate } from "node:timers/promises";
import { MemqError } from "../../errors.ts";
import { contextOf } from "../../home/qmd-contexts.ts";
import { shortened } from "../../printable.ts";
import { documentText, ignoreRuleOf, lookedUp, resolveContext } from "../../qmd/lookup.ts";
import { documentName } from "../../qmd/names.ts";
import type { OpenQmd } from "../../qmd/open.ts";
import { type Wanted, wantedDocuments, wantedText } from "../../qmd/several.ts";
import { firstLines, linesOf, numbered } from "../../qmd/text.ts";
import { exactDocument, similarNames } from "../../search/resolve.ts";
import type { DocumentRow } from "../../store/types.ts";
import type { NotesHome } from "./notes-home.ts";
import type { Content, ReadResource, ToolAnswer } from "./surface.ts";
import { failure, jsonBytes, MAX_ANSWER_BYTES } from "./surface.ts";

const SIMILAR = 5;
/** Of what is said of documents that an answer has no room for. */
const MOST_NOTE_BYTES = 1024 * 1024;
const MOST_ERROR_CHARS = 100_000;
const MARKDOWN = "text/markdown";

export type LineWindow = {
  fromLine?: number | undefined;
  maxLines?: number | undefined;
  lineNumbers: boolean;
};

/** A document by any name that a surface prints, or some lines of it. */
export function getDocument(
  notes: NotesHome,
  name: string,
  { fromLine, maxLines, lineNumbers }: LineWindow,
): Promise<ToolAnswer> {
  return notes.lend(async (own) => {
    const { open, asked } = await lookedUp(own, name);
    try {
      const { resolution } = asked;
      if (resolution.kind === "ambiguous") return ambiguous(asked.name, resolution.documents);
      if (resolution.kind === "missing") return await missing(open, asked.name, name);
      const from = Math.max(1, Math.floor(fromLine ?? asked.from ?? 1));
      const count = Math.floor(maxLines ?? asked.count ?? Infinity);
      const whole = documentText(open, resolution.document).text;
      const { text, said } = fittingLines(whole, { from, count, numbers: lineNumbers });
      const words: Content[] = said === null ? [] : [{ type: "text", text: said }];
      return { content: [resource(open, resolution.document, text), ...words] };
    } finally {
      if (open !== own) open.index.close();
    }
  });
}

/** The wanted lines as far as one answer holds them; `said` tells what else there is, or that there are none. */
function fittingLines(
  whole: string,
  { from, count, numbers }: { from: number; count: number; numbers: boolean },
): { text: string; said: string | null } {
  const { text, beyond } = linesOf(whole, { from, count, numbers });
  if (text.length * 6 <= MAX_ANSWER_BYTES || jsonBytes(text) <= MAX_ANSWER_BYTES) return { text, said: beyond };
  const lines = text.split("\n");
  let fitting = 0;
  for (let bytes = 0; bytes <= MAX_ANSWER_BYTES; fitting++) bytes += jsonBytes(lines[fitting] ?? "");
  const shown = fitting - 1;
  if (shown === 0) {
    const next = lines.length > 1 ? `; go on with fromLine ${from + 1}` : "";
    // A character takes six bytes at most.
    return { text: text.slice(0, MAX_ANSWER_BYTES / 6), said: `Line ${from} is cut off: it is too long${next}.` };
  }
  const said = `Lines ${from} to ${from + shown - 1} are all that one answer holds; go on with fromLine ${from + shown}.`;
  return { text: lines.slice(0, shown).join("\n"), said };
}

type SeveralOptions = { maxLines?: number | undefined; maxBytes: number; lineNumbers: boolean };

/** Several documents by a glob, or by a list of names and docids. */
export function getDocuments(
  notes: NotesHome,
  pattern: string,
  options: SeveralOptions,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  return notes.lend(async (own) => {
    const problems: string[] = [];
    const found = (await wantedDocuments(own, pattern, (sentence) => problems.push(sentence), signal)) ?? [];
    try {
      const documents = await fittingDocuments(found, options, problems, signal);
      return { content: [...errorsOf(problems), ...documents] };
    } finally {
      for (const open of new Set(found.map((wanted) => wanted.open))) if (open !== own) open.index.close();
    }
  });
}

/** What one answer holds of the documents: a list may name one again and again, and a glob all there are. */
async function fittingDocuments(
  found: readonly Wanted[],
  options: SeveralOptions,
  problems: string[],
  signal: AbortSignal,
): Promise<Content[]> {
  const contents: Content[] = [];
  let room = MAX_ANSWER_BYTES;
  let roomForNotes = MOST_NOTE_BYTES;
  let isFull = false;
  for (const [at, wanted] of found.entries()) {
    // A server answers others between two documents.
    await setImmediate();
    signal.throwIfAborted();
    const content = isFull ? null : documentContent(wanted, options, problems);
    const bytes: number = content === null ? 0 : jsonBytes(content);
    if (content !== null && bytes <= room) {
      contents.push(content);
      room -= bytes;
      continue;
    }
    isFull ||= bytes <= MAX_ANSWER_BYTES;
    const note = leftOut(wanted, isFull ? "The answer is full" : "Too large for one answer");
    roomForNotes -= jsonBytes(note);
    if (roomForNotes < 0) {
      const more = `[SKIPPED: ${found.length - at} more - The answer is full. Ask for them by a narrower pattern.]`;
      return [...contents, { type: "text", text: more }];
    }
    contents.push(note);
  }
  return contents;
}

/** A name may be ambiguous a thousand times, and stand in a list again and again. */
function errorsOf(problems: readonly string[]): Content[] {
  if (problems.length === 0) return [];
  const text = ["Errors:", ...problems.map(shortened)].join("\n");
  const shown = text.length > MOST_ERROR_CHARS ? `${text.slice(0, MOST_ERROR_CHARS)} [...]` : text;
  return [{ type: "text", text: shown }];
}

/** The document at a `qmd://` address, all of it with its lines numbered; null when there is none. Throws `TOO_LARGE`. */
export function readDocument(notes: NotesHome, uri: string): Promise<ReadResource | null> {
  return notes.lend((open) => {
    const document = /^qmd:/i.test(uri) ? exactDocument(resolveContext(open), uri) : null;
    if (document === null) return null;
    const { text } = documentText(open, document);
    const name = `${document.collection}/${document.path}`;
    const shown = withContext(open, document, numbered(text, 1));
    if (jsonBytes(shown) > MAX_ANSWER_BYTES) {
      throw new MemqError("TOO_LARGE", `${name} is too large for one message.`, {
        hint: "Read it in parts, with the tool `get`.",
      });
    }
    return {
      uri,
      name,
      title: document.title === "" ? name : document.title,
      mimeType: MARKDOWN,
      text: shown,
    };
  });
}

function documentContent(
  wanted: Wanted,
  { maxLines = Infinity, maxBytes, lineNumbers }: SeveralOptions,
  problems: string[],
): Content {
  const { open, document } = wanted;
  const { text, from, beyond } = wantedText(wanted);
  if (beyond !== null) problems.push(beyond);
  // Counted in characters, as qmd and the command line do, whatever the parameter is called.
  const size = text.length;
  if (size > maxBytes) {
    return leftOut(wanted, `File too large (${Math.round(size / 1024)}KB > ${Math.round(maxBytes / 1024)}KB)`);
  }
  const shown = firstLines(text, Math.floor(maxLines));
  return resource(open, document, lineNumbers && beyond === null ? numbered(shown, from) : shown);
}

function leftOut({ open, document }: Wanted, why: string): Content {
  const file = shortName(open, document);
  return { type: "text", text: `[SKIPPED: ${file} - ${why}. Use 'get' with file="${file}" to retrieve.]` };
}

function resource(open: OpenQmd, document: DocumentRow, text: string): Content {
  const index = open.named === undefined ? "" : `?index=${encodeURIComponent(open.named)}`;
  const uri = `${documentUri(document)}${index}`;
  return { type: "resource", resource: { uri, mimeType: MARKDOWN, text: withContext(open, document, text) } };
}

/** The address of a document, percent-encoded between its slashes. */
export function documentUri({ collection, path }: Pick<DocumentRow, "collection" | "path">): string {
  return `qmd://${[collection, ...path.split("/")].map(encodeURIComponent).join("/")}`;
}

function withContext({ qmd }: OpenQmd, { collection, path }: DocumentRow, text: string): string {
  const context = contextOf(qmd.config, collection, path);
  return context === undefined ? text : `<!-- Context: ${context} -->\n\n${text}`;
}

function shortName(open: OpenQmd, document: DocumentRow): string {
  return open.named === undefined ? `${document.collection}/${document.path}` : documentName(open, document);
}

function ambiguous(name: string, documents: readonly DocumentRow[]): ToolAnswer {
  const candidates = documents.map(({ collection, path }) => `  - ${collection}/${path}`);
  return failure([`Ambiguous name: ${name}`, "", "Did you mean one of these?", ...candidates].join("\n"));
}

/** That there is no document `name`, which is called as it was `typed`: with its lines or its index, as qmd does. */
async function missing(open: OpenQmd, name: string, typed: string): Promise<ToolAnswer> {
  const ignored = await ignoreRuleOf(open, name);
  if (ignored !== null) {
    const { collection, path, rule } = ignored;
    return failure(
      [
        `Document excluded by ignore rule: ${typed}`,
        `Collection: ${collection}`,
        `Matched path: ${path}`,
        `Ignore rule: ${rule}`,
      ].join("\n"),
    );
  }
  const similar = similarNames(resolveContext(open), name, SIMILAR).map((path) => `  - ${path}`);
  const guess = similar.length === 0 ? [] : ["", "Did you mean one of these?", ...similar];
  return failure([shortened(`Document not found: ${typed}`), ...guess].join("\n"));
}

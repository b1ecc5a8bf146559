import { contextOf } from "../../home/qmd-contexts.ts";
import { documentText, ignoreRuleOf, lookedUp, resolveContext } from "../../qmd/lookup.ts";
import { documentName } from "../../qmd/names.ts";
import type { OpenQmd } from "../../qmd/open.ts";
import { type Wanted, wantedDocuments, wantedText } from "../../qmd/several.ts";
import { firstLines, linesOf, numbered } from "../../qmd/text.ts";
import { exactDocument, similarNames } from "../../search/resolve.ts";
import type { DocumentRow } from "../../store/types.ts";
import type { NotesHome } from "./notes-home.ts";
import type { Content, ReadResource, ToolAnswer } from "./surface.ts";
import { failure } from "./surface.ts";

const SIMILAR = 5;
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
      if (resolution.kind === "missing") return await missing(open, asked.name);
      const from = Math.max(1, Math.floor(fromLine ?? asked.from ?? 1));
      const count = Math.floor(maxLines ?? asked.count ?? Infinity);
      const whole = documentText(open, resolution.document).text;
      const { text, beyond } = linesOf(whole, { from, count, numbers: lineNumbers });
      const words: Content[] = beyond === null ? [] : [{ type: "text", text: beyond }];
      return { content: [resource(open, resolution.document, text), ...words] };
    } finally {
      if (open !== own) open.index.close();
    }
  });
}

/** Several documents by a glob, or by a list of names and docids. */
export function getDocuments(
  notes: NotesHome,
  pattern: string,
  options: { maxLines?: number | undefined; maxBytes: number; lineNumbers: boolean },
): Promise<ToolAnswer> {
  return notes.lend(async (own) => {
    const problems: string[] = [];
    const found = (await wantedDocuments(own, pattern, (sentence) => problems.push(sentence))) ?? [];
    try {
      const documents = found.map((wanted) => documentContent(wanted, options, problems));
      const errors: Content[] =
        problems.length === 0 ? [] : [{ type: "text", text: ["Errors:", ...problems].join("\n") }];
      return { content: [...errors, ...documents] };
    } finally {
      for (const open of new Set(found.map((wanted) => wanted.open))) if (open !== own) open.index.close();
    }
  });
}

/** The document at a `qmd://` address, all of it with its lines numbered; null when there is none. */
export function readDocument(notes: NotesHome, uri: string): Promise<ReadResource | null> {
  return notes.lend((open) => {
    const document = /^qmd:/i.test(uri) ? exactDocument(resolveContext(open), uri) : null;
    if (document === null) return null;
    const { text } = documentText(open, document);
    const name = `${document.collection}/${document.path}`;
    return {
      uri,
      name,
      title: document.title === "" ? name : document.title,
      mimeType: MARKDOWN,
      text: withContext(open, document, numbered(text, 1)),
    };
  });
}

function documentContent(
  wanted: Wanted,
  {
    maxLines = Infinity,
    maxBytes,
    lineNumbers,
  }: { maxLines?: number | undefined; maxBytes: number; lineNumbers: boolean },
  problems: string[],
): Content {
  const { open, document } = wanted;
  const { text, from, beyond } = wantedText(wanted);
  if (beyond !== null) problems.push(beyond);
  const size = Buffer.byteLength(text);
  if (size > maxBytes) {
    const file = shortName(open, document);
    const limit = `${Math.round(size / 1024)}KB > ${Math.round(maxBytes / 1024)}KB`;
    return {
      type: "text",
      text: `[SKIPPED: ${file} - File too large (${limit}). Use 'get' with file="${file}" to retrieve.]`,
    };
  }
  const shown = firstLines(text, Math.floor(maxLines));
  return resource(open, document, lineNumbers && beyond === null ? numbered(shown, from) : shown);
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

async function missing(open: OpenQmd, name: string): Promise<ToolAnswer> {
  const ignored = await ignoreRuleOf(open, name);
  if (ignored !== null) {
    const { collection, path, rule } = ignored;
    return failure(
      [
        `Document excluded by ignore rule: ${name}`,
        `Collection: ${collection}`,
        `Matched path: ${path}`,
        `Ignore rule: ${rule}`,
      ].join("\n"),
    );
  }
  const similar = similarNames(resolveContext(open), name, SIMILAR).map((path) => `  - ${path}`);
  const guess = similar.length === 0 ? [] : ["", "Did you mean one of these?", ...similar];
  return failure([`Document not found: ${name}`, ...guess].join("\n"));
}

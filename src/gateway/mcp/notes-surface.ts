import { MemqError, messageOf } from "../../errors.ts";
import { allowedTime } from "../../qmd/deadline.ts";
import type { OpenQmd } from "../../qmd/open.ts";
import type { Program } from "../../version.ts";
import { documentUri, readDocument } from "./notes-documents.ts";
import { keepNotesHome } from "./notes-home.ts";
import { askNotes, noCollections } from "./notes-query.ts";
import { statusOf } from "./notes-status.ts";
import { type Notes, notesTools, QUERY_INPUT, typedParts } from "./notes-tools.ts";
import { checkedArguments } from "./schema.ts";
import type { McpSurface } from "./surface.ts";

/** A client waits longer for an answer than a command line may take. */
const DEADLINE_MS = 10_000;

/** Which notes a server was started for, and how it calls itself. */
export type NotesServed = {
  program: Program;
  /** Name of the index; the default one when undefined. */
  index: string | undefined;
  /** Names of the collections that are searched where a question names none; empty: all that are not excluded. */
  collections: string[];
  /** Milliseconds that an answer may take; MEMQ_DEADLINE_MS, or ten seconds, when undefined. */
  deadlineMs: number | undefined;
};

/** The notes of a qmd home over MCP: qmd's tools, its resources, and what an agent should know of them. */
export function notesSurface(served: NotesServed): McpSurface {
  const home = keepNotesHome(served.index, served.program);
  const deadlineMs = allowedTime(served.deadlineMs, DEADLINE_MS);
  const notes: Notes = {
    ask: (question) => askNotes(home, served.collections, { ...question, deadlineMs }),
    home,
  };
  const tools = notesTools(notes);
  return {
    tools: () => Promise.resolve(tools),
    // A home that can't be opened says why to whoever asks a tool; the session stands.
    instructions: () =>
      home.lend(instructionsFor).catch((error: unknown) => `The notes can't be opened: ${messageOf(error)}`),
    resources: {
      templates: [
        {
          name: "document",
          title: "Document",
          description: "A document of the index by its collection and path, as search results name it.",
          uriTemplate: "qmd://{+path}",
          mimeType: "text/markdown",
        },
      ],
      read: (uri) => readDocument(home, uri),
    },
    search: (body) => plainSearch(notes, body),
    close: () => home.close(),
  };
}

async function instructionsFor(open: OpenQmd): Promise<string> {
  const { qmd, program } = open;
  const { totalDocuments, needsEmbedding, hasVectorIndex, collections } = await statusOf(open);
  const names = collections.map(({ name }) => name).join(", ");
  const without = noCollections(open);
  const state = without
    ? [without]
    : !hasVectorIndex
      ? [`Nothing is embedded yet, so only words are matched, not meaning; \`${program} embed\` changes that.`]
      : needsEmbedding > 0
        ? [`${needsEmbedding} documents are not embedded yet and are found by their words alone.`]
        : [];
  return [
    `This server searches ${totalDocuments} Markdown documents on this machine.`,
    ...(qmd.config.globalContext === undefined ? [] : [`Context: ${qmd.config.globalContext}`]),
    ...(names === "" ? [] : [`Collections: ${names}. Call \`status\` for what each holds.`]),
    ...state,
    "",
    "Searching, with `query`:",
    "- `query` takes a question in plain words, and is enough most of the time.",
    '- `searches` takes up to ten typed parts instead, the first of which counts most: `lex` for words (`"a phrase"` must be there, `-word` must not), `vec` for a question that is matched by meaning, `hyde` for a text such as the answer might be.',
    "- Always send `intent`: what you want to know and why, in a sentence. It tells like passages apart.",
    "Examples:",
    '- {"query": "who approves travel expenses?", "intent": "find the approver of a travel claim"}',
    '- {"searches": [{"type": "lex", "query": "\\"connection refused\\" 5432 -mysql"}], "intent": "why the database is not reached"}',
    '- {"searches": [{"type": "vec", "query": "how do we roll back a release"}], "collections": ["docs"], "intent": "undo a deployment"}',
    '- {"searches": [{"type": "lex", "query": "backup schedule"}, {"type": "hyde", "query": "Backups run every night at two and are kept for a month."}], "intent": "when backups run"}',
    "",
    "Reading: `get` takes the `file` or `docid` of a result, also `file:120` for the lines from 120 on, and `fromLine` with `maxLines`. `multi_get` takes a glob (`journal/2026-05-*.md`) or a list with commas.",
    "Tips: `minScore` 0.5 leaves out what is loosely related; `collections` narrows a search; a snippet's line numbers are the document's own.",
  ].join("\n");
}

/** The search of POST /query: typed parts alone, files as addresses. */
async function plainSearch(notes: Notes, body: Record<string, unknown>): Promise<object> {
  const { searches = [], query, limit, ...rest } = checkedArguments(body, QUERY_INPUT);
  if (query !== undefined) throw new MemqError("BAD_ARGUMENTS", "query is not served here: give searches");
  if (searches.length === 0) return { results: [] };
  const document = { kind: "typed" as const, searches: typedParts(searches) };
  const { rows, degraded, warning } = await notes.ask({ how: "deep", document, limit, ...rest });
  const results = rows.map((row) => Object.assign(row, { file: documentUri(row) }));
  return { results, ...(degraded.length === 0 ? {} : { degraded }), ...(warning === "" ? {} : { warning }) };
}

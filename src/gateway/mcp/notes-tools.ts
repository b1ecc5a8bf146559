import { onOneLine } from "../../printable.ts";
import { RERANKED } from "../../search/rerank.ts";
import { LEAST_COSINE } from "../../search/threshold.ts";
import { getDocument, getDocuments } from "./notes-documents.ts";
import type { NotesHome } from "./notes-home.ts";
import { documentOf, type NoteRow, type NotesAnswer, type NotesQuestion } from "./notes-query.ts";
import { statusOf } from "./notes-status.ts";
import type { ObjectSchema, Schema } from "./schema.ts";
import type { Tool, ToolAnswer } from "./surface.ts";
import { failure, jsonBytes, MAX_ANSWER_BYTES, READ_ONLY, tool } from "./surface.ts";

/** What the tools of a qmd home work with. */
export type Notes = {
  ask: (question: Omit<NotesQuestion, "deadlineMs">) => Promise<NotesAnswer>;
  home: NotesHome;
};

const text: Schema = { type: "string" };

const FOUND: ObjectSchema = {
  type: "object",
  properties: {
    results: {
      type: "array",
      items: {
        type: "object",
        properties: {
          docid: text,
          file: text,
          title: text,
          score: { type: "number" },
          context: { type: ["string", "null"] },
          line: { type: "integer", minimum: 1 },
          snippet: text,
          collection: text,
          path: text,
          start_line: { type: "integer", minimum: 1 },
          end_line: { type: "integer", minimum: 1 },
        },
        required: ["docid", "file", "title", "score", "context", "line", "snippet"],
      },
    },
    degraded: { type: "array", items: text },
    warning: text,
  },
  required: ["results"],
};

const STATUS: ObjectSchema = {
  type: "object",
  properties: {
    totalDocuments: { type: "integer" },
    needsEmbedding: { type: "integer" },
    hasVectorIndex: { type: "boolean" },
    collections: {
      type: "array",
      items: {
        type: "object",
        properties: {
          name: text,
          path: { type: ["string", "null"] },
          pattern: { type: ["string", "null"] },
          documents: { type: "integer" },
          lastUpdated: text,
        },
        required: ["name", "path", "pattern", "documents", "lastUpdated"],
      },
    },
  },
  required: ["totalDocuments", "needsEmbedding", "hasVectorIndex", "collections"],
};

/** More documents than anybody reads; beyond any count, numbers would mean nothing to the index. */
const MOST = 10_000;

/** What `query` takes, over the protocol and over plain HTTP. */
export const QUERY_INPUT = {
  type: "object",
  properties: {
    query: { type: "string", description: "A question or words, instead of searches" },
    searches: {
      type: "array",
      maxItems: 10,
      description: "Typed parts, instead of query; the first counts most",
      items: {
        type: "object",
        properties: {
          type: { type: "string", enum: ["lex", "vec", "hyde"], description: "How this part is matched" },
          query: { type: "string", description: "Its text" },
        },
        required: ["type", "query"],
      },
    },
    limit: { type: "number", default: 10, minimum: 1, maximum: MOST, description: "Most documents" },
    minScore: { type: "number", default: 0, description: "Least score, 0 to 1" },
    candidateLimit: {
      type: "number",
      minimum: 1,
      maximum: MOST,
      description: `Candidates that are reranked (${RERANKED})`,
    },
    collections: { type: "array", items: { type: "string" }, description: "Only these collections" },
    intent: { type: "string", description: "What you want to know and why, in a sentence" },
    rerank: { type: "boolean", default: true, description: "Judge the best candidates again by a model" },
  },
} as const satisfies ObjectSchema;

/** qmd's tools in qmd's order, and behind them, unlisted, those that older gateways call. */
export function notesTools(notes: Notes): Tool[] {
  return [
    queryTool(notes),
    getTool(notes),
    multiGetTool(notes),
    statusTool(notes),
    olderTool(notes, "search", "words"),
    olderTool(notes, "vector_search", "meaning"),
    olderTool(notes, "deep_search", "deep"),
  ];
}

function queryTool(notes: Notes): Tool {
  return tool({
    name: "query",
    title: "Query",
    description:
      "Searches the notes by words and by meaning. Give `query` in plain words, or `searches` with typed parts (lex: words, vec: a question, hyde: a text as the answer might read). Returns documents with the lines that answer best.",
    inputSchema: QUERY_INPUT,
    outputSchema: FOUND,
    annotations: READ_ONLY,
    async run({ query, searches, limit, ...rest }, call) {
      // Agents that fill in every parameter leave the one that they don't mean empty.
      const isTyped = searches !== undefined && searches.length > 0;
      const isPlain = query !== undefined && query !== "";
      if (!isPlain && !isTyped) {
        return failure("Error: provide either 'query' (plain text) or 'searches' (typed sub-queries)");
      }
      if (isPlain && isTyped) {
        return failure("Error: 'query' and 'searches' are mutually exclusive; provide only one");
      }
      call.say("Searching by words and by meaning");
      const document = isTyped ? { kind: "typed" as const, searches: typedParts(searches) } : documentOf(query ?? "");
      return found(notes, { how: "deep", document, limit, ...rest });
    },
  });
}

function olderTool(notes: Notes, name: string, how: NotesQuestion["how"]): Tool {
  return tool({
    name,
    title: name,
    description: "Superseded by query.",
    unlisted: true,
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string" },
        limit: { type: "number", default: 10, minimum: 1, maximum: MOST },
        minScore: { type: "number", default: how === "meaning" ? LEAST_COSINE : 0 },
        collection: { type: "string" },
      },
      required: ["query"],
    },
    outputSchema: FOUND,
    annotations: READ_ONLY,
    run({ query, limit, minScore, collection }) {
      const collections = collection === undefined ? undefined : [collection];
      const document = { kind: "plain" as const, query };
      return found(notes, { how, document, limit, minScore, collections });
    },
  });
}

function getTool(notes: Notes): Tool {
  return tool({
    name: "get",
    title: "Get Document",
    description: "Reads a document, or some lines of it, by the file or docid of a result, or by any part of its path.",
    inputSchema: {
      type: "object",
      properties: {
        file: { type: "string", description: "File or docid of a result; file:120 begins at line 120" },
        fromLine: { type: "number", description: "First line, from 1" },
        maxLines: { type: "number", minimum: 1, description: "Most lines" },
        lineNumbers: { type: "boolean", default: true, description: "Number the lines" },
      },
      required: ["file"],
    },
    annotations: READ_ONLY,
    run: ({ file, ...window }) => getDocument(notes.home, file, window),
  });
}

function multiGetTool(notes: Notes): Tool {
  return tool({
    name: "multi_get",
    title: "Multi-Get Documents",
    description: "Reads several documents by a glob over their paths, or by a list of files and docids with commas.",
    inputSchema: {
      type: "object",
      properties: {
        pattern: { type: "string", description: "A glob such as journal/2026-05-*.md, or names with commas between" },
        maxLines: { type: "number", minimum: 1, description: "Most lines of each" },
        maxBytes: { type: "number", default: 65_536, minimum: 1, description: "Larger documents are left out" },
        lineNumbers: { type: "boolean", default: true, description: "Number the lines" },
      },
      required: ["pattern"],
    },
    annotations: READ_ONLY,
    run: ({ pattern, ...options }, { signal }) => getDocuments(notes.home, pattern, options, signal),
  });
}

function statusTool(notes: Notes): Tool {
  return tool({
    name: "status",
    title: "Index Status",
    description: "Tells which collections there are, how many documents each holds, and whether they are embedded.",
    inputSchema: { type: "object", properties: {} },
    outputSchema: STATUS,
    annotations: READ_ONLY,
    async run() {
      const status = await notes.home.lend(statusOf);
      const lines = [
        "QMD Index Status:",
        `  Total documents: ${status.totalDocuments}`,
        `  Needs embedding: ${status.needsEmbedding}`,
        `  Vector index: ${status.hasVectorIndex ? "yes" : "no"}`,
        `  Collections: ${status.collections.length}`,
        ...status.collections.map(({ name, path, documents }) => `    - ${name}: ${path} (${documents} docs)`),
      ];
      return { content: [{ type: "text", text: lines.join("\n") }], structuredContent: status };
    },
  });
}

/** One line each: a line end is no part of a question. */
export function typedParts(searches: { type: "lex" | "vec" | "hyde"; query: string }[]): typeof searches {
  return searches.map(({ type, query }) => ({ type, query: onOneLine(query) }));
}

async function found(notes: Notes, question: Omit<NotesQuestion, "deadlineMs">): Promise<ToolAnswer> {
  const answer = await notes.ask(question);
  const { degraded } = answer;
  const rows = fittingRows(answer.rows);
  const cut = `Only the first ${rows.length} of ${answer.rows.length} results fit into one answer.`;
  const warning = rows.length < answer.rows.length ? `${answer.warning} ${cut}`.trim() : answer.warning;
  return {
    content: [{ type: "text", text: summaryOf({ ...answer, rows, warning }) }],
    structuredContent: {
      results: rows,
      ...(degraded.length === 0 ? {} : { degraded }),
      ...(warning === "" ? {} : { warning }),
    },
  };
}

/** As many of the best rows as one answer holds. */
function fittingRows(rows: NoteRow[]): NoteRow[] {
  let bytes = 0;
  for (const [at, row] of rows.entries()) {
    bytes += jsonBytes(row) + jsonBytes(lineOf(row));
    if (bytes > MAX_ANSWER_BYTES) return rows.slice(0, at);
  }
  return rows;
}

function lineOf({ docid, score, file, title }: NoteRow): string {
  return `${docid} ${Math.round(score * 100)}% ${file} - ${title}`;
}

function summaryOf({ query, rows, degraded, warning }: NotesAnswer): string {
  const left = degraded.length === 0 ? "" : `Degraded answer, without ${degraded.join(" and ")}. `;
  const words = `${left}${warning}`.trim();
  const tail = words === "" ? [] : ["", words];
  if (rows.length === 0) return [`No results found for "${query}"`, ...tail].join("\n");
  const lines = rows.map(lineOf);
  return [`Found ${rows.length} result${rows.length === 1 ? "" : "s"} for "${query}":`, "", ...lines, ...tail].join(
    "\n",
  );
}

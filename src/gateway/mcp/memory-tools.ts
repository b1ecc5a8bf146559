import type { MemorySettings } from "../../home/types.ts";
import type { MemoryEngine } from "../../memory/engine.ts";
import { appendInTurn } from "../../memory/append-turns.ts";
import { isRealDate } from "../../memory/dates.ts";
import type { MemoryService } from "../../memory/service.ts";
import { readingDisabled } from "../../memory/unavailable.ts";
import type { SyncProgress } from "../../sync/report.ts";
import type { ObjectSchema, Schema } from "./schema.ts";
import type { McpSurface, Tool, ToolCall } from "./surface.ts";
import { failure, jsonAnswer, READ_ONLY, tool } from "./surface.ts";

const line: Schema = { type: "integer", minimum: 1 };
const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };

const RESULT: Schema = {
  type: "object",
  properties: {
    path: text,
    startLine: line,
    endLine: line,
    score: { type: "number" },
    vectorScore: { type: "number" },
    textScore: { type: "number" },
    snippet: text,
    source: { type: "string", enum: ["memory", "sessions"] },
    citation: text,
    importance: { type: "number" },
    triggers: { type: "array", items: text },
  },
  required: ["path", "startLine", "endLine", "score", "snippet", "source"],
};

const SEARCH_OUTPUT: ObjectSchema = {
  type: "object",
  properties: {
    results: { type: "array", items: RESULT },
    provider: text,
    model: text,
    fallback: { type: "object", properties: { from: text, reason: text } },
    citations: { type: "string", enum: ["auto", "on", "off"] },
    mode: { type: "string", enum: ["hybrid", "keyword", "vector"] },
    degraded: { type: "array", items: text },
    warning: text,
    disabled: flag,
    unavailable: flag,
    denied: flag,
    reason: text,
    error: text,
    action: text,
  },
  required: ["results"],
};

const GET_OUTPUT: ObjectSchema = {
  type: "object",
  properties: {
    text,
    path: text,
    from: line,
    lines: { type: "integer", minimum: 0 },
    truncated: flag,
    nextFrom: line,
    disabled: flag,
    error: text,
    code: text,
  },
  required: ["text", "path"],
};

const APPEND_OUTPUT: ObjectSchema = {
  type: "object",
  properties: { path: text, startLine: line, endLine: line },
  required: ["path", "startLine", "endLine"],
};

/** The memory of an agent over MCP: searching and reading, and appending where that is allowed. */
export function memorySurface(service: MemoryService, options: { allowWrite: boolean }): McpSurface {
  /** What is configured; null of a memory that can't be opened, which says why when it is asked. */
  const settings = (): Promise<MemorySettings | null> =>
    service.engine().then(
      ({ agent }) => agent.memory,
      () => null,
    );
  return {
    async tools() {
      const unlisted = (await settings())?.enabled === false;
      const all = [searchTool(service), getTool(service), ...(options.allowWrite ? [appendTool(service)] : [])];
      return all.map((one) => Object.assign(one, { unlisted }));
    },
    async instructions() {
      const memory = await settings();
      if (memory?.enabled === false) return "The memory of this agent is switched off.";
      return [
        "This server holds what earlier conversations and notes left behind, in Markdown files.",
        "Before you answer anything about earlier work, decisions, dates, people, preferences or tasks, call memory_search; then call memory_get for the lines around a result that you need.",
        "Ask in whole questions or in key words. When nothing is found, try other words before you say that nothing is known, and say that you looked.",
        `A path in a result can be given to memory_get as it is. ${
          memory?.citations === "off"
            ? "Citations are off: name no paths or line numbers unless the user asks."
            : "Name it as `Source: path#line` where it helps the reader."
        }`,
        ...(options.allowWrite
          ? ["memory_append writes a line down for later: facts of the day to `daily`, lasting ones to `long-term`."]
          : []),
      ].join("\n");
    },
    close: () => service.close(),
  };
}

function searchTool(service: MemoryService): Tool {
  return tool({
    name: "memory_search",
    title: "Search memory",
    description:
      "Searches the agent's memory (MEMORY.md, daily notes, extra paths and, where they are indexed, session transcripts) by meaning and by words. Call it before answering about prior work, decisions, dates, people, preferences or todos. Each result has a path and lines for memory_get.",
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", description: "A question or key words" },
        maxResults: { type: "integer", minimum: 1, maximum: 200, description: "Most results" },
        minScore: { type: "number", minimum: 0, maximum: 1, description: "Least score" },
        corpus: {
          type: "string",
          enum: ["memory", "sessions", "all"],
          description: "Notes, transcripts, or both (as configured when left out)",
        },
      },
      required: ["query"],
      additionalProperties: false,
    },
    outputSchema: SEARCH_OUTPUT,
    annotations: READ_ONLY,
    async run(args, call) {
      const engine = await service.engine();
      tellOfFirstSync(engine, call);
      return jsonAnswer(await engine.search(args));
    },
  });
}

function getTool(service: MemoryService): Tool {
  return tool({
    name: "memory_get",
    title: "Read memory",
    description:
      "Reads a note of the agent's memory, or some lines of it, by the path of a memory_search result. A long note is cut off; nextFrom then tells where to go on.",
    inputSchema: {
      type: "object",
      properties: {
        path: { type: "string", description: "Path as a result shows it" },
        from: { type: "integer", minimum: 1, description: "First line, from 1" },
        lines: { type: "integer", minimum: 1, description: "How many lines" },
        corpus: { type: "string", enum: ["memory", "all"], description: "Accepted, without effect" },
      },
      required: ["path"],
      additionalProperties: false,
    },
    outputSchema: GET_OUTPUT,
    annotations: READ_ONLY,
    async run({ path, from, lines }) {
      const engine = await service.engine();
      return jsonAnswer(readingDisabled(engine.agent.memory, path) ?? (await engine.get({ path, from, lines })));
    },
  });
}

function appendTool(service: MemoryService): Tool {
  return tool({
    name: "memory_append",
    title: "Append to memory",
    description:
      "Writes text down at the end of today's note (daily) or of MEMORY.md (long-term). Nothing that is there is ever changed.",
    inputSchema: {
      type: "object",
      properties: {
        text: { type: "string", description: "What to remember, in Markdown" },
        target: { type: "string", enum: ["daily", "long-term"], default: "daily", description: "Which note" },
        date: { type: "string", description: "Day of the daily note, YYYY-MM-DD (today when left out)" },
      },
      required: ["text"],
      additionalProperties: false,
    },
    outputSchema: APPEND_OUTPUT,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    async run({ text, target, date }, { signal }) {
      if (date !== undefined && !isRealDate(date)) return failure("date must be a date, YYYY-MM-DD");
      const engine = await service.engine();
      const appended = await appendInTurn(engine.agent, { text, target, date }, signal);
      engine.appended();
      return jsonAnswer(appended);
    },
  });
}

/** A first search waits for the first sync: the caller hears how far that is. */
function tellOfFirstSync(engine: MemoryEngine, { heard, signal, say }: ToolCall): void {
  if (!heard || !engine.agent.memory.enabled || !engine.isEmpty()) return;
  // Joins the sync that runs; what becomes of it is not this call's matter.
  engine.index({ signal, onProgress: (progress) => say(sentenceOf(progress)) }).catch(() => {});
}

function sentenceOf({ phase, done, total, waiting }: SyncProgress): string {
  if (waiting !== undefined) return waiting;
  const words = { scan: "Looking for notes", read: "Reading notes", write: "Indexing notes", embed: "Embedding notes" };
  return total > 0 ? `${words[phase]}: ${done} of ${total}` : words[phase];
}

/* The tools memory_search and memory_get, answered by a memq child. */
import type { Tool, ToolContext, ToolResult } from "./api.ts";
import type { RpcChild } from "./rpc-child.ts";
import { RpcFailure } from "./rpc-child.ts";

export type ToolOptions = {
  child: () => RpcChild;
  /** The agent whose memory is served, instead of the one that asks. */
  agentId: string | undefined;
  deadlineMs: number;
};

/** What memq gets beyond the deadline that it is told, to send its answer. */
const GRACE_MS = 1_000;
const GET_MS = 10_000;
const INVALID_PARAMS = -32602;

const CHECK = "Run 'memq setup --check openclaw' on the gateway's host, then retry memory_search.";

const SEARCH_PARAMETERS = {
  type: "object",
  properties: {
    query: { type: "string" },
    maxResults: { type: "integer", minimum: 1 },
    minScore: { type: "number" },
    corpus: { type: "string", enum: ["memory", "sessions", "all"] },
  },
  required: ["query"],
  additionalProperties: false,
};

const GET_PARAMETERS = {
  type: "object",
  properties: {
    path: { type: "string" },
    from: { type: "integer", minimum: 1 },
    lines: { type: "integer", minimum: 1 },
  },
  required: ["path"],
  additionalProperties: false,
};

/** Whether the gateway's configuration lets this agent search its memory, by the same rules as memq. */
export function isOn(config: unknown, agentId = "main"): boolean {
  const own = (named: unknown): boolean => String(named).trim().toLowerCase() === agentId.trim().toLowerCase();
  const agents = at(config, "agents");
  const listed = at(agents, "list");
  const settings = [
    ...Object.entries(at(agents, "entries") ?? {}).flatMap(([id, entry]) => (own(id) ? [entry] : [])),
    ...(Array.isArray(listed) ? listed.filter((entry) => own(at(entry, "id"))) : []),
  ];
  const places = [
    ...settings.flatMap((entry) => [at(at(entry, "memory"), "search"), at(entry, "memorySearch")]),
    at(at(config, "memory"), "search"),
    at(at(agents, "defaults"), "memorySearch"),
    at(config, "memorySearch"),
  ];
  const chosen = places.map((place) => at(place, "enabled")).find((enabled) => typeof enabled === "boolean");
  return chosen !== false;
}

function at(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}

/** `memory_search` for one session. A search that can't be made is an answer, never an exception: the agent goes on. */
export function searchTool(context: ToolContext, { child, agentId, deadlineMs }: ToolOptions): Tool {
  return {
    name: "memory_search",
    label: "Memory Search",
    description:
      "Searches the agent's notes (MEMORY.md, USER.md, memory/**/*.md, configured extra paths, indexed transcripts) by keyword and by meaning. " +
      "Use it before answering about earlier work, decisions, dates, people, preferences or to-dos. Each result names its path and lines. " +
      "If the answer has unavailable, degraded, warning or action, tell the user.",
    parameters: SEARCH_PARAMETERS,
    async execute(_callId, params, signal) {
      const asked = fields(params, SEARCH_PARAMETERS);
      const request = {
        ...asked,
        ...(typeof asked["maxResults"] === "number" ? { maxResults: Math.min(200, asked["maxResults"]) } : {}),
        ...asking(context, agentId),
        ...(context.sessionKey === undefined ? {} : { sessionKey: context.sessionKey }),
        deadlineMs,
      };
      try {
        return answered(await child().request("memory.search", request, { timeoutMs: deadlineMs + GRACE_MS, signal }));
      } catch (error) {
        if (error instanceof RpcFailure && error.rpcCode === INVALID_PARAMS) throw error;
        const failure = { error: messageOf(error), warning: "Memory search is unavailable.", action: actionFor(error) };
        return answered({ results: [], disabled: true, unavailable: true, ...failure, debug: failure });
      }
    },
  };
}

/** `memory_get` for one session. */
export function getTool(context: ToolContext, { child, agentId }: ToolOptions): Tool {
  return {
    name: "memory_get",
    label: "Memory Get",
    description:
      "Reads a note, or some lines of it, by a path from memory_search. When the text is cut off, nextFrom is the line to go on at. " +
      "An empty text without an error means that there is no such note. Transcripts can be searched, not read.",
    parameters: GET_PARAMETERS,
    async execute(_callId, params, signal) {
      const asked = fields(params, GET_PARAMETERS);
      try {
        const request = { ...asked, ...asking(context, agentId) };
        return answered(await child().request("memory.get", request, { timeoutMs: GET_MS, signal }));
      } catch (error) {
        if (error instanceof RpcFailure && error.rpcCode === INVALID_PARAMS) throw error;
        const failure = { error: messageOf(error), code: "MEMORY_READ_FAILED", action: actionFor(error) };
        return answered({ path: asked["path"], text: "", disabled: true, ...failure });
      }
    },
  };
}

function asking(context: ToolContext, agentId: string | undefined): { agentId?: string } {
  const id = agentId ?? context.agentId;
  return id === undefined ? {} : { agentId: id };
}

/** The parameters that the tool knows; models like to add empty ones. */
function fields(params: unknown, { properties }: { properties: Record<string, unknown> }): Record<string, unknown> {
  const given = typeof params === "object" && params !== null ? Object.entries(params) : [];
  return Object.fromEntries(
    given.filter(([name, value]) => name in properties && value !== null && value !== undefined && value !== ""),
  );
}

function answered(details: unknown): ToolResult {
  return { content: [{ type: "text", text: JSON.stringify(details, null, 2) }], details };
}

function actionFor(error: unknown): string {
  return (error instanceof RpcFailure ? error.hint : undefined) ?? CHECK;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

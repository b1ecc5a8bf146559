import { MemqError, messageOf } from "../../errors.ts";
import { type Program, VERSION } from "../../version.ts";
import { RpcError } from "../jsonrpc.ts";
import { callTool } from "./call.ts";
import type { Era } from "./protocol.ts";
import { agreedVersion, MCP_ERRORS, SERVER_INFO_KEY, SUPPORTED_VERSIONS } from "./protocol.ts";
import type { McpSurface, Tool } from "./surface.ts";

/** One request as a transport hands it on. */
export type McpRequest = {
  method: string;
  params: Record<string, unknown>;
  era: Era;
  signal: AbortSignal;
  /** Sends a notification that belongs to this request. */
  notify: (method: string, params: Record<string, unknown>) => void;
};

/** How the server calls itself. */
export type Identity = { name: Program };

/** How long a list stays good, for a client that keeps it. */
const LIST_TTL_MS = 60_000;

type Handler = (surface: McpSurface, request: McpRequest, identity: Identity) => Promise<object>;

const SHARED: Record<string, Handler> = {
  "tools/list": async (surface) => ({ tools: (await surface.tools()).filter(({ unlisted }) => !unlisted).map(shown) }),
  "tools/call": callTool,
};

const RESOURCES: Record<string, Handler> = {
  "resources/list": () => Promise.resolve({ resources: [] }),
  "resources/templates/list": ({ resources }) => Promise.resolve({ resourceTemplates: resources?.templates ?? [] }),
  "resources/read": readResource,
};

const MODERN: Record<string, Handler> = {
  ...SHARED,
  "server/discover": async (surface) => ({
    supportedVersions: SUPPORTED_VERSIONS,
    capabilities: capabilities(surface),
    instructions: await surface.instructions(),
  }),
};

const LEGACY: Record<string, Handler> = {
  ...SHARED,
  initialize: async (surface, { params }, identity) => ({
    protocolVersion: agreedVersion(params["protocolVersion"]),
    capabilities: capabilities(surface),
    serverInfo: serverInfo(identity),
    instructions: await surface.instructions(),
  }),
  ping: () => Promise.resolve({}),
};

/** Milliseconds for which the result of a method may be kept (specification 2026-07-28, server/utilities/caching). */
const TTL_MS: Record<string, number> = {
  "server/discover": LIST_TTL_MS,
  "tools/list": LIST_TTL_MS,
  "resources/list": LIST_TTL_MS,
  "resources/templates/list": LIST_TTL_MS,
  "resources/read": 0,
};

/** The result of a request in the form of its era. Throws `RpcError`, whatever went wrong. */
export async function answerRequest(surface: McpSurface, request: McpRequest, identity: Identity): Promise<object> {
  const { method, era } = request;
  const table = { ...(era === "modern" ? MODERN : LEGACY), ...(surface.resources === undefined ? {} : RESOURCES) };
  const handler = Object.hasOwn(table, method) ? table[method] : undefined;
  if (handler === undefined) throw new RpcError("unknownMethod", "Method not found");
  try {
    const result = await handler(surface, request, identity);
    if (era === "legacy") return result;
    const ttlMs = TTL_MS[method];
    return {
      resultType: "complete",
      ...result,
      ...(ttlMs === undefined ? {} : { ttlMs, cacheScope: "private" }),
      _meta: { [SERVER_INFO_KEY]: serverInfo(identity) },
    };
  } catch (error) {
    if (error instanceof RpcError) throw error;
    const data = error instanceof MemqError ? { code: error.code, hint: error.hint } : undefined;
    throw new RpcError(MCP_ERRORS.internal, messageOf(error), data);
  }
}

function capabilities({ resources }: McpSurface): object {
  return { tools: {}, ...(resources === undefined ? {} : { resources: {} }) };
}

function serverInfo({ name }: Identity): object {
  return { name, version: VERSION };
}

function shown({ name, title, description, inputSchema, outputSchema, annotations }: Tool): object {
  const dialect = { $schema: "https://json-schema.org/draft/2020-12/schema" };
  return {
    name,
    title,
    description,
    inputSchema: { ...dialect, ...inputSchema },
    ...(outputSchema === undefined ? {} : { outputSchema: { ...dialect, ...outputSchema } }),
    annotations,
  };
}

async function readResource({ resources }: McpSurface, { params, era }: McpRequest): Promise<object> {
  const { uri } = params;
  if (typeof uri !== "string") throw new RpcError("invalidParams", "uri must be a string");
  const found = await resources?.read(uri);
  if (found) return { contents: [found] };
  const sentence = `Document not found: ${uri.replace(/^qmd:\/\//, "")}`;
  if (era === "modern") throw new RpcError("invalidParams", sentence, { uri });
  // Clients of the older versions know a document that is missing by this text.
  return { contents: [{ uri, text: sentence }] };
}

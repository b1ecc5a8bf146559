import { isObject, objectAt, valueAt, type JsonObject } from "../json.ts";
import { stripped } from "./stripped.ts";

/** Where one agent's own settings stand in the configuration, `agents.entries` before `agents.list`. */
export type AgentEntry = { label: string; settings: JsonObject };

/** An agent id as OpenClaw writes it: lower case, `[a-z0-9_-]`, at most 64 characters, `main` when nothing is left. */
export function normalizedAgentId(id: string): string {
  const words = id
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-");
  const clean = stripped(words, "-").slice(0, 64);
  return clean === "" ? "main" : clean;
}

function configuredAgents(config: JsonObject): { id: string; label: string; settings: JsonObject }[] {
  const entries = Object.entries(objectAt(config, ["agents", "entries"]) ?? {}).flatMap(([key, settings]) =>
    isObject(settings) ? [{ id: normalizedAgentId(key), label: `agents.entries.${key}`, settings }] : [],
  );
  const list = valueAt(config, ["agents", "list"]);
  const listed = (Array.isArray(list) ? list : []).flatMap((settings, at) => {
    const id = isObject(settings) ? settings["id"] : undefined;
    return isObject(settings) && typeof id === "string"
      ? [{ id: normalizedAgentId(id), label: `agents.list[${at}]`, settings }]
      : [];
  });
  return [...entries, ...listed];
}

/** Ids of every configured agent in their order; `["main"]` when none is. */
export function configuredAgentIds(config: JsonObject): string[] {
  const ids = configuredAgents(config).map((agent) => agent.id);
  return ids.length === 0 ? ["main"] : [...new Set(ids)];
}

/** Whether the configuration names its agents at all. */
export function hasAgentRoster(config: JsonObject): boolean {
  return configuredAgents(config).length > 0;
}

/** The agent used when none is named: the one marked `default: true`, else the first, else `main`. */
export function defaultAgentId(config: JsonObject): string {
  const agents = configuredAgents(config);
  return (agents.find((agent) => agent.settings["default"] === true) ?? agents[0])?.id ?? "main";
}

/** The agent's own settings, most important first; empty when the configuration does not name it. */
export function agentEntries(config: JsonObject, agentId: string): AgentEntry[] {
  return configuredAgents(config).filter((agent) => agent.id === agentId);
}

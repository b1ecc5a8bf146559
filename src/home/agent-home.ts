import { statSync } from "node:fs";
import { join } from "node:path";
import { mediaExtensions } from "./media.ts";
import { MemqError } from "../errors.ts";
import { isForeignIndex } from "../store/foreign.ts";
import type { VecExtension } from "../store/types.ts";
import { textAt, type JsonObject } from "../json.ts";
import { extraCollections, memoryCollection, sessionsCollection } from "./agent-collections.ts";
import { agentEmbedding } from "./agent-embedding.ts";
import { agentIndexPath, besideForeignIndex } from "./agent-index.ts";
import { agentSearchProfile, memorySettings } from "./agent-settings.ts";
import { agentEntries, configuredAgentIds, defaultAgentId, hasAgentRoster, normalizedAgentId } from "./agents.ts";
import { requireShape } from "./config-shape.ts";
import { keyReader, type KeyReader } from "./key-reader.ts";
import { loadConfig, type LoadedConfig } from "./openclaw-config.ts";
import { absolutePath, givenPath, envText, type Env } from "./paths.ts";
import { resolveKeys } from "./resolve-keys.ts";
import type { Collection, Home, MemorySettings } from "./types.ts";

/** The common options of every command and method of an agent's memory. */
export type AgentHomeRequest = {
  /** The default agent when absent. */
  agentId?: string | undefined;
  workspace?: string | undefined;
  stateDir?: string | undefined;
  configPath?: string | undefined;
  /** Merged over the file. */
  config?: JsonObject | undefined;
  env: Env;
  cwd: string;
  /** false leaves keys of providers alone, for what embeds nothing. */
  withKeys?: boolean;
};

/** An agent home with everything else that its configuration says about memory. */
export type AgentHome = {
  home: Home;
  memory: MemorySettings;
  /** The whole configuration, for `explainKeys`. */
  config: JsonObject;
  /** The environment with the `.env` files and the configuration's `env` block behind it. */
  env: Env;
};

/**
 * Reads the configuration and resolves everything for one agent. Errors, each with a hint: those of `loadConfig`,
 * `CONFIG_TYPE` and `CONFIG_VALUE` (a key of the wrong kind), `AGENT_UNKNOWN`, `WORKSPACE_MISSING`.
 */
export async function resolveAgentHome(request: AgentHomeRequest): Promise<AgentHome> {
  const loaded = await loadConfig(request);
  requireShape(loaded.data);
  const agentId = knownAgentId(request.agentId, loaded.data);
  const resolved = resolveKeys(loaded.data, agentId);
  const keys = keyReader(resolved);
  const issues = [...loaded.issues, ...resolved.issues];

  const configured = configuredWorkspace(agentId, loaded, request.cwd);
  const workspace =
    request.workspace === undefined ? configured : givenPath(request.workspace, "workspace", request.cwd, request.env);
  requireFolder(workspace, agentId, request.workspace !== undefined);

  const { stateDir } = loaded;
  const place = { agentId, stateDir, workspace, config: loaded.data, env: loaded.env };
  const memory = memorySettings(keys, place, issues);
  const embedding = await agentEmbedding(
    keys,
    loaded,
    { workspace, authStore: authStorePath(agentId, loaded), withKeys: memory.enabled && request.withKeys !== false },
    issues,
  );
  const home: Home = {
    kind: "agent",
    agentId,
    stateDir,
    workspace,
    indexPath: ownIndexPath(
      agentIndexPath({ ...place, storePath: keys.optionalText("store.path"), configuredWorkspace: configured }),
    ),
    extension: extensionOf(keys, stateDir, loaded.env),
    collections: collectionsOf(keys, memory, workspace, loaded.env, issues),
    configuredBy: loaded.file,
    embedding: { ...embedding, env: addedVariables(request.env, loaded.env) },
    search: agentSearchProfile(keys),
    cutting: cuttingOf(keys, issues),
    issues,
  };
  return { home, memory, config: loaded.data, env: loaded.env };
}

function addedVariables(before: Env, after: Env): Record<string, string> {
  return Object.fromEntries(
    Object.entries(after).filter((entry): entry is [string, string] => {
      const [name, value] = entry;
      return value !== undefined && value !== before[name];
    }),
  );
}

/** OpenClaw's own index is never touched: ours then lies beside it. Decided anew each time, since either may come first. */
function ownIndexPath(path: string): string {
  return isForeignIndex(path) ? besideForeignIndex(path) : path;
}

function knownAgentId(asked: string | undefined, config: JsonObject): string {
  if (asked === undefined || asked.trim() === "") return defaultAgentId(config);
  const id = normalizedAgentId(asked);
  const known = configuredAgentIds(config);
  if (!hasAgentRoster(config) || known.includes(id)) return id;
  throw new MemqError("AGENT_UNKNOWN", `There is no agent "${asked}" in the configuration.`, {
    hint: `Configured agents: ${known.join(", ")}.`,
  });
}

/**
 * The workspace that the configuration gives an agent: its own; for the default agent `agents.defaults.workspace`, else
 * `OPENCLAW_WORKSPACE_DIR`, else `<state>/workspace`; for any other `<agents.defaults.workspace>/<id>`, else `<state>/workspace-<id>`.
 */
function configuredWorkspace(agentId: string, loaded: LoadedConfig, cwd: string): string {
  const { data, env, stateDir } = loaded;
  for (const entry of agentEntries(data, agentId)) {
    const own = textAt(entry.settings, ["workspace"]);
    if (own !== undefined) return absolutePath(own, cwd, env);
  }
  const shared = textAt(data, ["agents", "defaults", "workspace"]);
  if (agentId === defaultAgentId(data)) {
    return absolutePath(shared ?? envText(env, "OPENCLAW_WORKSPACE_DIR") ?? join(stateDir, "workspace"), cwd, env);
  }
  return shared === undefined ? join(stateDir, `workspace-${agentId}`) : join(absolutePath(shared, cwd, env), agentId);
}

function requireFolder(workspace: string, agentId: string, isOption: boolean): void {
  if (workspace.includes("\0"))
    throw new MemqError("CONFIG_VALUE", `The path of the workspace of agent "${agentId}" holds a NUL character.`, {
      hint: "Correct agents.defaults.workspace or the agent's own workspace in the configuration.",
    });
  const found = statSync(workspace, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return;
  const what = found === undefined ? "does not exist" : "is not a folder";
  throw new MemqError("WORKSPACE_MISSING", `The workspace ${workspace} of agent "${agentId}" ${what}.`, {
    hint: isOption
      ? "Name an existing folder with --workspace."
      : "Create it, set agents.defaults.workspace, or name a folder with --workspace.",
  });
}

function authStorePath(agentId: string, loaded: LoadedConfig): string {
  const own = agentEntries(loaded.data, agentId).map((entry) => textAt(entry.settings, ["agentDir"]));
  const folder = own.find((path) => path !== undefined) ?? join(loaded.stateDir, "agents", agentId, "agent");
  return join(absolutePath(folder, loaded.stateDir, loaded.env), "auth-profiles.json");
}

function collectionsOf(
  keys: KeyReader,
  memory: MemorySettings,
  workspace: string,
  env: Env,
  issues: string[],
): Collection[] {
  const includeByDefault = memory.sessions.notesSearched;
  const media = keys.flag("multimodal.enabled")
    ? {
        extensions: mediaExtensions(keys.texts("multimodal.modalities")),
        maxFileBytes: keys.number("multimodal.maxFileBytes"),
      }
    : null;
  return [
    memoryCollection(workspace, includeByDefault),
    ...extraCollections(keys.paths("extraPaths"), { workspace, env, includeByDefault, media }, issues),
    ...(memory.sessions.indexed
      ? [sessionsCollection(memory.sessions.directory, memory.agentId, memory.sessions.searched)]
      : []),
  ];
}

function extensionOf(keys: KeyReader, stateDir: string, env: Env): VecExtension {
  const path = keys.optionalText("store.vector.extensionPath");
  return {
    enabled: keys.flag("store.vector.enabled"),
    ...(path === undefined ? {} : { path: absolutePath(path, stateDir, env) }),
  };
}

/** Passages in characters, four to a token. */
function cuttingOf(keys: KeyReader, issues: string[]): Home["cutting"] {
  const tokens = keys.number("chunking.tokens");
  const overlap = Math.min(keys.number("chunking.overlap"), tokens - 1);
  if (overlap !== keys.number("chunking.overlap")) {
    issues.push(`chunking.overlap must stay below chunking.tokens: ${overlap} is used.`);
  }
  return { kind: "lines", maxWeight: Math.max(32, tokens * 4), overlapWeight: overlap * 4 };
}

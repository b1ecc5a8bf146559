/* OpenClaw as a client: where the plug is unpacked, and what its configuration must say for the gateway to load it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { configText } from "../../home/read-text.ts";
import { MemqError, usageError } from "../../errors.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { textAt, valueAt } from "../../json.ts";
import { loadConfig } from "../../home/openclaw-config.ts";
import { absolutePath } from "../../home/paths.ts";
import { configFile, stateFolder } from "../../home/state-dir.ts";
import { withItem, withValue } from "../json5-edit.ts";
import type { Change, Client, Launch, SetupPlan, SetupRequest } from "../setup.ts";
import { parsedObject } from "../setup.ts";
import { plugFiles } from "./plug-files.ts";

const LOAD_PATHS = ["plugins", "load", "paths"];
const ALLOW = ["plugins", "allow"];
const SLOT = ["plugins", "slots", "memory"];
const ENTRY = ["plugins", "entries", "memq"];

/** The gateway: `setup` unpacks the plug below the state folder and gives it the memory slot. */
export const OPENCLAW: Client = { id: "openclaw", plan, launches };

async function plan(request: SetupRequest): Promise<SetupPlan> {
  if (request.workspaces.length > 0) {
    throw usageError(
      "OpenClaw itself says which workspace an agent has.",
      "Leave out --workspace; agents.defaults.workspace in openclaw.json sets it.",
    );
  }
  const { stateDir, file, plugDir } = placeOf(request);
  const before = configText(file);
  const data = parsedObject(before ?? "", file, "JSON5");
  const changes = wantedChanges(data, plugDir, request);
  let after: string | null = before ?? "";
  for (const { action, key, value } of changes) {
    // What an included file says can't be seen here; a list beside it would replace the other.
    if (after !== null) after = hasInclude(data) ? null : edited(after, action, key.split("."), value);
  }
  const wanted = wantedData(plugDir, request);
  return {
    client: "openclaw",
    file,
    before,
    after: changes.length === 0 ? before : after,
    changes,
    snippet: `${JSON.stringify(wanted, null, 2)}\n`,
    files: await missingFiles(plugDir),
    notes: [
      ...obstacles(data),
      ...(await missingWorkspace(request)),
      `Restart the gateway, or run 'openclaw plugins reload memq'. State folder: ${stateDir}`,
    ],
  };
}

function edited(text: string, action: Change["action"], path: string[], value: JsonValue): string | null {
  return action === "add" ? withItem(text, path, value) : withValue(text, path, value);
}

function placeOf({ stateDir: option, configPath, env, cwd }: Omit<SetupRequest, "command">): {
  stateDir: string;
  file: string;
  plugDir: string;
} {
  const stateDir = stateFolder(option, env, cwd);
  return {
    stateDir,
    file: configFile(configPath, stateDir, env, cwd).path,
    plugDir: join(stateDir, "memq/openclaw-plug"),
  };
}

function pluginConfig({ command, agentId }: SetupRequest): JsonObject {
  const [program, ...first] = command;
  return {
    command: first.length === 0 ? program : [program, ...first],
    ...(agentId === undefined ? {} : { agentId }),
  };
}

function wantedData(plugDir: string, request: SetupRequest): JsonObject {
  return {
    plugins: {
      load: { paths: [plugDir] },
      slots: { memory: "memq" },
      entries: { memq: { enabled: true, config: pluginConfig(request) } },
    },
  };
}

function wantedChanges(data: JsonObject, plugDir: string, request: SetupRequest): Change[] {
  const changes: Change[] = [];
  const set = (path: string[], value: JsonValue): void => {
    if (!Bun.deepEquals(valueAt(data, path), value)) changes.push({ key: path.join("."), action: "set", value });
  };
  const add = (path: string[], value: string): void => {
    const list = valueAt(data, path);
    if (!Array.isArray(list) || !list.includes(value)) changes.push({ key: path.join("."), action: "add", value });
  };
  add(LOAD_PATHS, plugDir);
  // Without such a list every plugin may load; making one would shut out the others.
  if (Array.isArray(valueAt(data, ALLOW))) add(ALLOW, "memq");
  set(SLOT, "memq");
  if (valueAt(data, ENTRY) === undefined) set(ENTRY, { enabled: true, config: pluginConfig(request) });
  else {
    set([...ENTRY, "enabled"], true);
    for (const [key, value] of Object.entries(pluginConfig(request))) set([...ENTRY, "config", key], value);
  }
  return changes;
}

function hasInclude(data: JsonObject): boolean {
  const paths = [[], ["plugins"], ["plugins", "load"], ["plugins", "slots"], ["plugins", "entries"], ENTRY];
  return paths.some((path) => valueAt(data, [...path, "$include"]) !== undefined);
}

/** Settings of the user's own that keep the plug from loading; they are not ours to change. */
function obstacles(data: JsonObject): string[] {
  const deny = valueAt(data, ["plugins", "deny"]);
  return [
    ...(Array.isArray(deny) && deny.includes("memq")
      ? ["plugins.deny lists memq: remove it, or the plug stays off"]
      : []),
    ...(valueAt(data, ["plugins", "enabled"]) === false ? ["plugins.enabled is false: no plugin loads"] : []),
  ];
}

/** A gateway makes an agent's folder when it first starts; until then memq has nothing to serve. What else is wrong, `--check` says. */
async function missingWorkspace({ agentId, stateDir, configPath, env, cwd }: SetupRequest): Promise<string[]> {
  const { resolveAgentHome } = await import("../../home/agent-home.ts");
  try {
    await resolveAgentHome({ agentId, stateDir, configPath, env, cwd });
  } catch (error) {
    if (error instanceof MemqError && error.code === "WORKSPACE_MISSING")
      return [`${error.message} memq works once it is there.`];
  }
  return [];
}

/** The plug's files that are not there yet, or are those of another version. */
async function missingFiles(plugDir: string): Promise<Record<string, string>> {
  const missing: Record<string, string> = {};
  for (const [name, text] of Object.entries(plugFiles())) {
    const path = join(plugDir, name);
    if ((await readFile(path, "utf8").catch(() => null)) !== text) missing[path] = text;
  }
  return missing;
}

async function launches(request: Omit<SetupRequest, "command">): Promise<{ file: string; launches: Launch[] }> {
  const { stateDir, file } = placeOf(request);
  const { env, cwd } = request;
  const { data, path, env: joined } = await loadConfig({ ...request });
  if (path === null || valueAt(data, ENTRY) === undefined) return { file, launches: [] };
  const command = valueAt(data, [...ENTRY, "config", "command"]);
  const program = typeof command === "string" ? [command] : Array.isArray(command) ? command.map(String) : [];
  const agentId = textAt(data, [...ENTRY, "config", "agentId"]);
  const loadPaths = valueAt(data, LOAD_PATHS);
  const folders = (Array.isArray(loadPaths) ? loadPaths : [])
    .filter((one) => typeof one === "string")
    .map((one) => absolutePath(one, cwd, env));
  const plugs = [];
  for (const folder of folders) if (await isPlug(folder)) plugs.push(folder);
  const allow = valueAt(data, ALLOW);
  const problems = [
    ...(program.length === 0 ? ["plugins.entries.memq.config.command is not set"] : []),
    ...(valueAt(data, SLOT) === "memq" ? [] : ['plugins.slots.memory is not "memq"']),
    ...(valueAt(data, [...ENTRY, "enabled"]) === false ? ["plugins.entries.memq.enabled is false"] : []),
    ...(plugs.length === 0 ? ["no folder of plugins.load.paths holds the plug"] : []),
    ...(Array.isArray(allow) && !allow.includes("memq") ? ["plugins.allow does not list memq"] : []),
    ...obstacles(data),
  ];
  const launch: Launch = {
    client: "openclaw",
    file: path,
    server: "memq",
    protocol: "rpc",
    command: [...program, "rpc"],
    env: Object.fromEntries(
      Object.entries(joined).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    ),
    place: { stateDir, configPath: path, watch: false, ...(agentId === undefined ? {} : { agentId }) },
    problems,
  };
  return { file: path, launches: [launch] };
}

async function isPlug(folder: string): Promise<boolean> {
  const manifest = await readFile(join(folder, "openclaw.plugin.json"), "utf8").catch(() => "{}");
  return textAt(parsedObject(manifest, join(folder, "openclaw.plugin.json"), "JSON5"), ["id"]) === "memq";
}

/* MCP clients that keep their servers in a file: which file, and how a server is written there. */
import { basename, join } from "node:path";
import { configText } from "../home/read-text.ts";
import { usageError } from "../errors.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { isObject, objectAt } from "../json.ts";
import { absolutePath, envText, userHome, type Env } from "../home/paths.ts";
import { withValue } from "./json5-edit.ts";
import type { Change, Client, Launch, SetupRequest } from "./setup.ts";
import { parsedObject } from "./setup.ts";
import type { ServerCommand } from "./toml-edit.ts";
import { withServerTable } from "./toml-edit.ts";

type Notation = {
  syntax: "JSON5" | "TOML";
  /** The key below which servers stand. */
  group: string;
  /** Keys that this client wants besides the command. */
  extra: JsonObject;
};

type McpClient = Notation & { id: string; file: (env: Env) => string; notes: string[] };

const CLIENTS: McpClient[] = [
  {
    id: "claude-code",
    syntax: "JSON5",
    group: "mcpServers",
    extra: { type: "stdio" },
    file: (env) => join(envText(env, "CLAUDE_CONFIG_DIR") ?? userHome(env), ".claude.json"),
    notes: ["Close Claude Code first: it writes this file too. '/mcp' in a new session shows the server."],
  },
  {
    id: "cursor",
    syntax: "JSON5",
    group: "mcpServers",
    extra: {},
    file: (env) => join(userHome(env), ".cursor/mcp.json"),
    notes: ["Restart Cursor, or switch the server on in its MCP settings."],
  },
  {
    id: "codex",
    syntax: "TOML",
    group: "mcp_servers",
    extra: {},
    file: (env) => join(envText(env, "CODEX_HOME") ?? join(userHome(env), ".codex"), "config.toml"),
    notes: ["'/mcp' in a new Codex session shows the server."],
  },
];

/** The clients that start `memq mcp` over stdio. */
export const MCP_CLIENTS: Client[] = CLIENTS.map((client) => ({
  id: client.id,

  async plan(request) {
    const file = fileOf(client, request);
    const before = configText(file);
    const data = parsedObject(before ?? "", file, client.syntax);
    let after: string | null = before ?? "";
    const changes: Change[] = [];
    const servers = wantedServers(request);
    for (const [name, server] of servers) {
      const existing = objectAt(data, [client.group, name]);
      const wanted = { ...client.extra, ...existing, ...server };
      if (Bun.deepEquals(existing, wanted)) continue;
      changes.push(...changesOf(`${client.group}.${name}`, existing, wanted));
      if (after === null) continue;
      after =
        client.syntax === "TOML"
          ? withServerTable(after, client.group, name, server)
          : withValue(after, [client.group, name], wanted);
    }
    return {
      client: client.id,
      file,
      before,
      after: changes.length === 0 ? before : after,
      changes,
      snippet: snippetOf(client, servers),
      files: {},
      notes: client.notes,
    };
  },

  async launches(request) {
    const file = fileOf(client, request);
    const data = parsedObject(configText(file) ?? "", file, client.syntax);
    const servers = Object.entries(objectAt(data, [client.group]) ?? {}).filter(([name]) => /^memq(-|$)/.test(name));
    return { file, launches: servers.map(([name, server]) => launchOf(client.id, file, name, server)) };
  },
}));

/** What differs. Of an entry that is there only that is told: its environment may hold keys. */
function changesOf(key: string, existing: JsonObject | null, wanted: JsonObject): Change[] {
  if (existing === null) return [{ key, action: "set", value: wanted }];
  return Object.entries(wanted)
    .filter(([name, value]) => !Bun.deepEquals(existing[name], value))
    .map(([name, value]) => ({ key: `${key}.${name}`, action: "set", value }));
}

function fileOf(client: McpClient, { configPath, env, cwd }: Omit<SetupRequest, "command">): string {
  return configPath === undefined ? client.file(env) : absolutePath(configPath, cwd, env);
}

/** A server per workspace, named after its folder where there are several. */
function wantedServers({ command, agentId, workspaces, stateDir, env, cwd }: SetupRequest): [string, ServerCommand][] {
  const [program, ...first] = command;
  const folders = workspaces.map((workspace) => absolutePath(workspace, cwd, env));
  const server = (options: string[]): ServerCommand => ({
    command: program,
    args: [
      ...first,
      "mcp",
      ...(agentId === undefined ? [] : ["--agent", agentId]),
      ...options,
      ...(stateDir === undefined ? [] : ["--state-dir", absolutePath(stateDir, cwd, env)]),
    ],
  });
  if (folders.length === 0) return [["memq", server([])]];
  if (folders.length === 1) return folders.map((folder) => ["memq", server(["--workspace", folder])]);
  const named = folders.map((folder): [string, ServerCommand] => [
    `memq-${basename(folder).replaceAll(/[^A-Za-z0-9_-]+/g, "-")}`,
    server(["--workspace", folder]),
  ]);
  if (new Set(named.map(([name]) => name)).size < named.length) {
    throw usageError(
      "Two of the workspaces have the same folder name.",
      "Set them up one by one in files of their own.",
    );
  }
  return named;
}

function snippetOf({ syntax, group, extra }: Notation, servers: [string, ServerCommand][]): string {
  if (syntax === "TOML") return servers.map(([name, server]) => withServerTable("", group, name, server)).join("\n");
  const entries = Object.fromEntries(servers.map(([name, server]) => [name, { ...extra, ...server }]));
  return `${JSON.stringify({ [group]: entries }, null, 2)}\n`;
}

function launchOf(client: string, file: string, name: string, server: JsonValue): Launch {
  const { command, args, env, url, disabled, enabled } = isObject(server) ? server : ({} as JsonObject);
  const problems = [
    ...(typeof command === "string" ? [] : [url === undefined ? "it names no command" : "it names a URL, no command"]),
    ...(disabled === true || enabled === false ? ["it is switched off"] : []),
  ];
  return {
    client,
    file,
    server: name,
    protocol: "mcp",
    command: texts([command, ...(Array.isArray(args) ? args : [])]),
    env: isObject(env)
      ? Object.fromEntries(
          Object.entries(env).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
        )
      : {},
    place: {},
    problems,
  };
}

function texts(values: readonly unknown[]): string[] {
  return values.filter((value) => typeof value === "string");
}

import type { MemqOption, OptionName, QmdOption } from "./options.ts";
import type { Invocation } from "./parse.ts";
import { QMD_COMMANDS } from "./table-qmd.ts";

/** What a command's file exports; the number is the exit code, 0 when there is none. */
export type CommandModule = { run(invocation: Invocation): Promise<number | void> | number | void };

type CommandBase = {
  /** The words that call it: `["memory", "search"]`. */
  path: readonly [string, ...string[]];
  /** Other words for the last one of `path`. */
  aliases?: readonly string[];
  summary: string;
  /** Words after the command, as usage shows them: `[QUERY...]`, `PATH`. */
  arguments?: string;
  /** More for help and the man page, in whole sentences. */
  details?: string;
  /** Options that this command takes several times, though others take them once. */
  repeats?: readonly OptionName[];
  /** Loads the file of the command; nothing of a command is loaded before it runs. */
  load(): Promise<CommandModule>;
};

/**
 * A command of the program. One of memq's own accepts exactly the options it lists and as many words as `arguments` shows; one of
 * qmd's accepts every option of qmd's and any number of words, and lists the options that its help shows. One of both accepts every
 * option of qmd's and lists those of memq's own that it takes too.
 */
export type Command = CommandBase &
  (
    | { surface: "memq"; options: readonly MemqOption[] }
    | { surface: "qmd"; options: readonly QmdOption[] }
    | { surface: "both"; options: readonly OptionName[] }
  );

const HOME_OPTIONS = ["agent", "workspace", "state-dir", "config"] as const;

const MEMORY_COMMANDS: Command[] = [
  {
    surface: "memq",
    path: ["memory", "index"],
    summary: "Bring an agent's index up to date",
    options: ["force", "watch", ...HOME_OPTIONS, "json", "verbose"],
    load: () => import("./commands/memory-index.ts"),
  },
  {
    surface: "memq",
    path: ["memory", "search"],
    summary: "Search an agent's memory",
    arguments: "[QUERY...]",
    options: [
      "query",
      "max-results",
      "min-score",
      "corpus",
      "session-key",
      "chat-type",
      "since",
      "until",
      "tag",
      "deadline",
      "explain",
      ...HOME_OPTIONS,
      "json",
      "verbose",
    ],
    load: () => import("./commands/memory-search.ts"),
  },
  {
    surface: "memq",
    path: ["memory", "get"],
    summary: "Print a note or a part of it",
    arguments: "PATH",
    options: ["from", "lines", ...HOME_OPTIONS, "json"],
    load: () => import("./commands/memory-get.ts"),
  },
  {
    surface: "memq",
    path: ["memory", "status"],
    summary: "Show what is indexed, how it is embedded and what is wrong",
    options: ["deep", "index", "force", ...HOME_OPTIONS, "json", "verbose"],
    load: () => import("./commands/memory-status.ts"),
  },
  {
    surface: "memq",
    path: ["memory", "context"],
    summary: "Print what an agent reads at session start",
    options: ["session-key", "chat-type", ...HOME_OPTIONS, "json"],
    load: () => import("./commands/memory-context.ts"),
  },
  {
    surface: "memq",
    path: ["memory", "recall"],
    summary: "Print trusted entries whose triggers a message calls up",
    arguments: "[MESSAGE...]",
    options: ["session-key", "chat-type", "max-results", "project", ...HOME_OPTIONS, "json"],
    load: () => import("./commands/memory-recall.ts"),
  },
  {
    surface: "memq",
    path: ["memory", "append"],
    summary: "Append to today's note or to MEMORY.md",
    arguments: "[TEXT...]",
    options: ["target", "date", ...HOME_OPTIONS, "json"],
    load: () => import("./commands/memory-append.ts"),
  },
  {
    surface: "memq",
    path: ["memory", "flush"],
    summary: "Tell whether a session should write down its memories before compaction",
    options: [
      "session-key",
      "context-tokens",
      "context-window",
      "compaction-count",
      "transcript-bytes",
      "workspace-access",
      "done",
      ...HOME_OPTIONS,
      "json",
    ],
    load: () => import("./commands/memory-flush.ts"),
  },
];

const OTHER_COMMANDS: Command[] = [
  {
    surface: "memq",
    path: ["rpc"],
    summary: "Serve a gateway: JSON-RPC 2.0 over stdin and stdout",
    options: [...HOME_OPTIONS],
    load: () => import("./commands/rpc.ts"),
  },
  {
    surface: "both",
    path: ["mcp"],
    summary: "Serve MCP clients: over stdin and stdout, or HTTP with --http",
    details:
      "Offers the notes of a qmd home, or, with --agent, --workspace, --state-dir or --config, the memory of an agent.",
    options: [...HOME_OPTIONS, "allow-write", "index", "collection", "http", "daemon", "port", "host", "token-file"],
    load: () => import("./commands/mcp.ts"),
  },
  {
    surface: "both",
    path: ["mcp", "stop"],
    summary: "End the HTTP server in the background",
    options: [...HOME_OPTIONS, "index"],
    load: () => import("./commands/mcp-stop.ts"),
  },
  {
    surface: "memq",
    path: ["setup"],
    summary: "Connect a gateway or an MCP client to memq",
    arguments: "[CLIENT]",
    details:
      "Clients are openclaw, claude-code, cursor and codex. Prints what would change in the client's configuration; --write " +
      "changes it and keeps a copy of the file beside it; --check starts memq as the configuration says and shakes hands. " +
      "--config names another configuration file of the client, such as a project's .mcp.json; --agent, --workspace " +
      "(repeat for several) and --state-dir say which memory the client gets.",
    options: ["write", "check", ...HOME_OPTIONS, "json"],
    repeats: ["workspace"],
    load: () => import("./commands/setup.ts"),
  },
  {
    surface: "memq",
    path: ["completions"],
    summary: "Print a completion script for a shell",
    arguments: "bash|zsh|fish",
    options: [],
    load: () => import("./completions.ts"),
  },
  {
    surface: "memq",
    path: ["man"],
    summary: "Print the manual page",
    options: [],
    load: () => import("./man.ts"),
  },
];

/** Every command, in the order in which help lists them. The one table: dispatch, help, completions and the man page come from it. */
export const COMMANDS: readonly Command[] = [...QMD_COMMANDS, ...MEMORY_COMMANDS, ...OTHER_COMMANDS];

/** The command that the words begin with, the longest name first, and how many words name it. */
export function findCommand(words: readonly string[]): { command: Command; length: number } | null {
  let found: { command: Command; length: number } | null = null;
  for (const command of COMMANDS) {
    const { length } = command.path;
    const last = words[length - 1] ?? "";
    if (command.path[length - 1] !== last && !command.aliases?.includes(last)) continue;
    const matches = command.path.slice(0, -1).every((word, at) => words[at] === word);
    if (matches && length > (found?.length ?? 0)) found = { command, length };
  }
  return found;
}

/** The commands whose names begin with these words, as `memory` does those of the memory group. */
export function commandsBelow(words: readonly string[]): Command[] {
  return COMMANDS.filter(({ path }) => path.length > words.length && words.every((word, at) => path[at] === word));
}

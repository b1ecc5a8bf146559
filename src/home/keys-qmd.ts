import { type KeySpec, off, on, root } from "./key-spec.ts";

/** Keys of memory as a whole, and of the qmd backend. */
export const QMD_KEYS: readonly KeySpec[] = [
  root("memory.citations", "choice", "Whether snippets name their source: always, never, or in direct chats.", {
    default: "auto",
    values: ["auto", "on", "off"],
    lenient: true,
  }),
  root("memory.backend", "choice", "`builtin`: the index described here; `qmd`: the agent's qmd home.", {
    default: "builtin",
    values: ["builtin", "qmd"],
  }),
  root("memory.qmd.command", "text", "Accepted and without effect: the qmd home is served in process.", {
    default: "qmd",
  }),
  root(
    "memory.qmd.searchMode",
    "choice",
    "How is searched: `search` by keywords, `vsearch` by meaning, `query` by both, with expansion and reranking where their models are.",
    {
      default: "search",
      values: ["search", "vsearch", "query"],
    },
  ),
  root("memory.qmd.searchTool", "text", "Accepted and without effect."),
  root("memory.qmd.rerank", "boolean", "false leaves reranking out of `query`."),
  root("memory.qmd.includeDefaultMemory", "boolean", "Whether `MEMORY.md` and `memory/**/*.md` are collections.", on),
  root(
    "memory.qmd.paths",
    "paths",
    "Further collections: `{path, pattern?, name?}`; the pattern is a mask, and hidden files stay out.",
    { default: [] },
  ),
  root("memory.qmd.sessions.enabled", "boolean", "Whether transcripts are exported to a collection.", off),
  root("memory.qmd.sessions.retentionDays", "integer", "Transcripts older than this are not exported.", { min: 1 }),
  root(
    "memory.qmd.sessions.exportDir",
    "text",
    "Folder of the exported transcripts, with a folder `<agentId>` for each where there are several agents; `<state folder>/agents/<agentId>/qmd/sessions` unless set.",
  ),
  root("memory.qmd.update.interval", "duration", "Time between updates; 0: none.", { default: "5m" }),
  root("memory.qmd.update.debounceMs", "integer", "Least milliseconds between two updates that nobody asked for.", {
    default: 15_000,
    min: 0,
  }),
  root("memory.qmd.update.onBoot", "boolean", "Whether an update runs when they begin.", on),
  root(
    "memory.qmd.update.startup",
    "choice",
    "When updates begin: `off` with the first search, `idle` after `startupDelayMs`, `immediate` with the process, as when unset.",
    { values: ["off", "idle", "immediate"] },
  ),
  root("memory.qmd.update.startupDelayMs", "integer", "Milliseconds that `idle` waits.", { default: 120_000, min: 0 }),
  root(
    "memory.qmd.update.waitForBootSync",
    "boolean",
    "Whether the start, or else the first search, waits for that update.",
    off,
  ),
  root(
    "memory.qmd.update.embedInterval",
    "duration",
    "Time between runs that embed what is new; 0: with every update. `memory index` always embeds.",
    { default: "60m" },
  ),
  root("memory.qmd.update.commandTimeoutMs", "integer", "Milliseconds a change of collections may take.", {
    default: 30_000,
    min: 1,
  }),
  root("memory.qmd.update.updateTimeoutMs", "integer", "Milliseconds an update may take; what it wrote stays.", {
    default: 120_000,
    min: 1,
  }),
  root(
    "memory.qmd.update.embedTimeoutMs",
    "integer",
    "Milliseconds of embedding at a time, again and again while it gets on.",
    {
      default: 120_000,
      min: 1,
    },
  ),
  root("memory.qmd.limits.maxResults", "integer", "Documents returned.", { default: 6, min: 1, max: 200 }),
  root("memory.qmd.limits.maxSnippetChars", "integer", "Length of a snippet.", { default: 700, min: 1 }),
  root("memory.qmd.limits.maxInjectedChars", "integer", "Length of all snippets together.", { default: 4000, min: 1 }),
  root("memory.qmd.limits.timeoutMs", "integer", "Milliseconds a search may take, however long its caller waits.", {
    default: 4000,
    min: 1,
  }),
  root(
    "memory.qmd.scope",
    "sendPolicy",
    "Which sessions may search; with the qmd backend only direct chats unless set.",
  ),
  root("memory.qmd.mcporter.enabled", "boolean", "Accepted and without effect.", { default: false }),
  root("memory.qmd.mcporter.serverName", "text", "Accepted and without effect.", { default: "qmd" }),
  root("memory.qmd.mcporter.startDaemon", "boolean", "Accepted and without effect.", { default: true }),
];

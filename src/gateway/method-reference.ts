import type * as v from "valibot";
import { RPC_ERRORS } from "./jsonrpc.ts";
import { METHODS, NOTIFICATIONS } from "./methods.ts";

/** What a parameter means, wherever it stands. */
const PARAMETERS: Readonly<Record<string, string>> = {
  agentId: "whose memory; the agent that `initialize` named unless set, and there the configured default",
  workspace: "the agent's folder",
  stateDir: "where the index and sessions are",
  configPath: "the file `openclaw.json`",
  config: "configuration that is merged over the file's",
  clientInfo: "who calls; ignored",
  watch: "watch the folders, where `sync.watch` does not forbid it",
  query: "the question",
  maxResults: "most results",
  minScore: "least score; strict, unlike the configured one",
  corpus: "what is searched; as configured unless set",
  sessionKey: "the session that asks: its chat decides what it may see",
  chatType: "`direct`, `group` or `channel`; beats what the key says",
  deadlineMs:
    "when the answer is due, in milliseconds; 15,000 unless set, and with the qmd backend never above its `limits.timeoutMs`",
  since: "only notes from this day, moment or age (`7d`, `2w`, `3m`) on",
  until: "only notes up to then",
  tags: "only notes with all of these tags",
  asOf: "the moment that counts as now",
  explain: "adds the parts of each score, and `debug`",
  path: "as a result names it, or a docid (`#abc123`) of the index; a citation's lines count too",
  from: "first line",
  lines: "how many lines",
  force: "reads every file again; embeddings are reused",
  deep: "compares the folders with the index and tries the provider",
  message: "what the user says",
  maxEntries: "most entries; 3 unless set",
  projectKeys: "projects that are active",
  text: "what is appended, on lines of its own",
  target: "today's note, or `MEMORY.md`",
  date: "the day of the note",
  contextTokens: "tokens in the session's context",
  contextWindow: "tokens that the model takes",
  compactionCount: "how often the session was compacted",
  transcriptBytes: "size of the transcript",
  workspaceAccess: "what the session may do with the workspace",
  sessionFile: "absolute path of the transcript",
  id: "of the request",
};

const ERRORS: Readonly<Record<keyof typeof RPC_ERRORS, string>> = {
  parse: "the message is no JSON, or not UTF-8",
  invalidRequest: "no request, a batch, a second `initialize`, or a request after `shutdown`",
  unknownMethod: "there is no such method",
  invalidParams: "a parameter is unknown, missing or wrong; the message names it",
  notInitialized: "`initialize` comes first",
  failed: "anything else that failed; `data` holds a stable `code` and mostly a `hint`",
  cancelled: "the request was given up, by `$/cancelRequest` or at the end of the session",
};

/** The reference of `memq rpc` in Markdown: methods, parameters, notifications and errors. */
export function methodReference(): string {
  const all = Object.values(METHODS).flatMap(({ params }) => Object.entries(entriesOf(params)));
  const types = new Map<string, Set<string>>();
  for (const [name, schema] of all) types.set(name, (types.get(name) ?? new Set()).add(typeInWords(schema)));
  return [
    table(
      ["method", "does", "parameters", "answer"],
      Object.entries(METHODS).map(([name, { summary, params, answer }]) => [
        `\`${name}\``,
        summary,
        Object.entries(entriesOf(params))
          .map(([name, schema]) => `\`${name}${isOptional(schema) ? "?" : ""}\``)
          .join(", "),
        answer === "nothing" ? "" : answer,
      ]),
    ),
    table(
      ["parameter", "type", "meaning"],
      [...types].map(([name, words]) => [`\`${name}\``, [...words].join("; "), meaningOf(name)]),
    ),
    table(
      ["sent by memq", "when", "parameters"],
      Object.entries(NOTIFICATIONS).map(([name, { summary, params }]) => [`\`${name}\``, summary, params]),
    ),
    table(
      ["error", "meaning"],
      Object.entries(ERRORS).map(([kind, words]) => [`${RPC_ERRORS[kind as keyof typeof RPC_ERRORS]}`, words]),
    ),
  ].join("\n\n");
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

function meaningOf(name: string): string {
  const words = PARAMETERS[name];
  if (words === undefined) throw new Error(`src/gateway/method-reference.ts does not say what '${name}' means`);
  return words;
}

type Schema = v.GenericSchema & {
  entries?: Record<string, Schema>;
  wrapped?: Schema;
  pipe?: Schema[];
  message?: string;
  default?: unknown;
};

function entriesOf(schema: Schema): Record<string, Schema> {
  return schema.entries ?? {};
}

function isOptional({ type }: Schema): boolean {
  return type === "optional";
}

/** What a parameter must be, in the words of its error, and what it is unless given. */
function typeInWords(schema: Schema): string {
  if (schema.wrapped !== undefined) {
    const preset = schema.default === undefined ? "" : `, \`${JSON.stringify(schema.default)}\` unless set`;
    return `${typeInWords(schema.wrapped)}${preset}`;
  }
  return `${(schema.pipe?.at(-1) ?? schema).message}`.replace("must be ", "").replaceAll("|", String.raw`\|`);
}

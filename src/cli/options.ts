/** Numbers that an option takes; without `max` as large as numbers are. */
export type NumberRange = { min: number; max?: number; whole: boolean };

/** One option as argv, help, completions and the man page know it. */
export type Option = {
  /** One letter, written with one dash. */
  short?: string;
  /** Placeholder of its value in help; without it the option takes none. */
  value?: string;
  /** The only values it takes. */
  choices?: readonly string[];
  /** Whether case and blanks around a choice don't matter. */
  anyCase?: true;
  /** The only numbers it takes. */
  range?: NumberRange;
  /** qmd's sentence for any other value, where its clients know one; the exit code is 1 then. */
  refusal?: (value: string) => string;
  /** May be given several times. */
  multiple?: boolean;
  description: string;
};

/** How results of qmd's commands are printed. */
export const FORMATS = ["cli", "json", "csv", "md", "xml", "files"] as const;

const COUNT: NumberRange = { min: 1, whole: true };
const SIZE: NumberRange = { min: 0, whole: true };
const SHARE: NumberRange = { min: 0, max: 1, whole: false };
/** Lines counted from the end are below 1. */
const LINE: NumberRange = { min: -Number.MAX_SAFE_INTEGER, whole: true };

const EVERYWHERE = {
  help: { short: "h", description: "Show help" },
  version: { short: "v", description: "Show the version" },
  json: { description: "Print JSON" },
} as const satisfies Record<string, Option>;

/** Options of memq's own commands; each command accepts those it lists. */
export const MEMQ_OPTIONS = {
  ...EVERYWHERE,
  agent: { value: "ID", description: "Agent whose memory is meant (default: the configured default agent, or main)" },
  workspace: { value: "DIR", description: "Workspace folder, instead of the configured one" },
  "state-dir": {
    value: "DIR",
    description: "State folder with openclaw.json (default: $OPENCLAW_STATE_DIR, ~/.openclaw)",
  },
  config: {
    value: "FILE",
    description: "Configuration file (default: $OPENCLAW_CONFIG_PATH, openclaw.json of the state folder)",
  },
  verbose: { description: "Say more on stderr" },
  query: { value: "TEXT", description: "The query, instead of the argument" },
  "max-results": {
    value: "N",
    range: { min: 1, max: 200, whole: true },
    description: "Most results to print, 1 to 200",
  },
  "min-score": { value: "F", range: SHARE, description: "Least score, 0 to 1; nothing below it is printed" },
  corpus: {
    value: "NAME",
    choices: ["memory", "sessions", "all"],
    description: "What to search: memory, sessions or all",
  },
  "session-key": { value: "KEY", description: "Session that asks; decides scope and what may be shown" },
  "chat-type": {
    value: "TYPE",
    choices: ["direct", "group", "channel"],
    description: "Kind of chat that asks, instead of the one in the session key",
  },
  since: { value: "DATE", description: "Only notes from then on: a date, a time stamp, or 7d, 2w, 3m" },
  until: { value: "DATE", description: "Only notes up to then" },
  tag: { value: "TAG", multiple: true, description: "Only notes with this front matter tag (repeat for several)" },
  deadline: {
    value: "MS",
    range: { min: 1, max: 600_000, whole: true },
    description: "Answer within so many milliseconds, with what is found by then",
  },
  explain: { description: "Show what each score is made of" },
  watch: { description: "Stay and keep the index up to date" },
  force: { short: "f", description: "Read and cut everything again" },
  from: { value: "N", range: COUNT, description: "First line" },
  lines: { value: "N", range: COUNT, description: "Number of lines" },
  target: {
    value: "NAME",
    choices: ["daily", "long-term"],
    description: "Where to append: daily (default) or long-term",
  },
  date: { value: "DATE", description: "Day of the daily note, YYYY-MM-DD (default: today in the user's zone)" },
  project: { value: "KEY", multiple: true, description: "A project that is active (repeat for several)" },
  "context-tokens": { value: "N", range: SIZE, description: "Tokens in the session's context now" },
  "context-window": { value: "N", range: SIZE, description: "Tokens that the model takes" },
  "compaction-count": { value: "N", range: SIZE, description: "Compactions that the session has had" },
  "transcript-bytes": { value: "N", range: SIZE, description: "Size of the session's transcript" },
  "workspace-access": {
    value: "MODE",
    choices: ["rw", "ro", "none"],
    description: "What the session may do in the workspace",
  },
  write: { description: "Change the files, not only say how" },
  check: { description: "Start memq as the client's configuration says, and say what answered" },
  done: { description: "Record that the flush of this cycle has run" },
  "allow-write": { description: "Let clients append to the memory" },
  "token-file": {
    value: "FILE",
    description: "File with the token that HTTP clients must send (Authorization: Bearer)",
  },
  deep: { description: "Also try the embedding provider and the vector search" },
  index: { description: "Bring the index up to date first" },
} as const satisfies Record<string, Option>;

/** qmd's options, all of them accepted on all of its commands, as qmd does; a command's help shows those that mean something to it. */
export const QMD_OPTIONS = {
  ...EVERYWHERE,
  index: { value: "NAME", description: "Use a named index" },
  collection: {
    short: "c",
    value: "NAME",
    multiple: true,
    description: "Filter by one or more collections (repeat -c)",
  },
  n: { short: "n", value: "NUM", range: COUNT, description: "Most results (default: 5, or 20 for --json and --files)" },
  "min-score": { value: "F", range: SHARE, description: "Least score, 0 to 1" },
  all: { description: "Every match" },
  full: { description: "Whole documents instead of snippets" },
  format: {
    value: "KIND",
    choices: FORMATS,
    anyCase: true,
    refusal: (given) => `Unknown --format value: ${given}\nValid: ${FORMATS.join(", ")}`,
    description: "Output format: cli, json, csv, md, xml or files",
  },
  csv: { description: "Print CSV" },
  md: { description: "Print Markdown" },
  xml: { description: "Print XML" },
  files: { description: "Print docid, score and file per line" },
  explain: { description: "Show what each score is made of" },
  "line-numbers": { description: "Number the lines" },
  "no-line-numbers": { description: "Do not number the lines" },
  "full-path": { description: "Print paths on disk instead of qmd:// names" },
  "candidate-limit": {
    short: "C",
    value: "N",
    range: COUNT,
    description: "Candidates that are reranked (default: 40)",
  },
  "no-rerank": { description: "Leave out reranking" },
  "no-gpu": { description: "Run models on the CPU" },
  intent: { value: "TEXT", description: "What the question is about, to tell like passages apart" },
  "chunk-strategy": {
    value: "NAME",
    choices: ["auto", "regex"],
    refusal: (given) => `--chunk-strategy must be "auto" or "regex" (got "${given}")`,
    description: "How documents are cut: regex or auto",
  },
  fusion: {
    value: "RULE",
    choices: ["relative", "weighted", "rrf"],
    description: "How lists are fused: relative, weighted or rrf",
  },
  deadline: {
    value: "MS",
    range: COUNT,
    description: "Answer within so many milliseconds, with what is found by then",
  },
  since: { value: "DATE", description: "Only notes from then on: a date, a time stamp, or 7d, 2w, 3m" },
  until: { value: "DATE", description: "Only notes up to then" },
  tag: { value: "TAG", multiple: true, description: "Only notes with this front matter tag (repeat for several)" },
  name: { value: "NAME", description: "Name of the collection" },
  mask: { value: "GLOB", description: "Files of the collection (default: **/*.md)" },
  glob: { value: "GLOB", description: "The same as --mask" },
  force: { short: "f", description: "Do it again from the start" },
  "max-docs-per-batch": {
    value: "N",
    range: COUNT,
    refusal: () => "maxDocsPerBatch must be a positive integer",
    description: "Accepted; batches are as large as the provider takes",
  },
  "max-batch-mb": {
    value: "N",
    range: COUNT,
    refusal: () => "maxBatchBytes must be a positive integer",
    description: "Accepted; memory stays bounded in any case",
  },
  timeout: {
    value: "MIN",
    range: { min: 0, whole: false },
    refusal: () => "--timeout must be a non-negative number of minutes (0 = no limit)",
    description: "Minutes after which embedding stops (default: 0, none)",
  },
  pull: { description: "Accepted, without effect" },
  context: { value: "TEXT", description: "Accepted, without effect" },
  refresh: { description: "Fetch models again" },
  progress: { description: "Show progress" },
  "dry-run": { description: "Only say what would be done" },
  l: { short: "l", value: "N", range: COUNT, description: "Most lines per document" },
  from: { value: "N", range: LINE, description: "First line" },
  "max-bytes": { value: "N", range: COUNT, description: "Skip larger documents (default: 65536)" },
  global: { description: "Install for all projects" },
  yes: { description: "Do not ask" },
  skill: { description: "Show the skill, as skill show does" },
  http: { description: "Serve over HTTP on the loopback interface" },
  daemon: { description: "Serve over HTTP in the background" },
  port: {
    value: "PORT",
    range: { min: 0, max: 65_535, whole: true },
    description: "Port of the HTTP server (default: 8181)",
  },
  host: { value: "HOST", description: "Address of the HTTP server (default: localhost)" },
} as const satisfies Record<string, Option>;

export type MemqOption = keyof typeof MEMQ_OPTIONS;
export type QmdOption = keyof typeof QMD_OPTIONS;
export type OptionName = MemqOption | QmdOption;

/**
 * Whose options a command may take: memq's, as far as it lists them; qmd's, all of them; or both, all of qmd's and of memq's those that it
 * lists.
 */
export type Surface = "memq" | "qmd" | "both";

let both: Readonly<Record<string, Option>> | undefined;

/** The options by name that the commands of one surface may take; one that memq and qmd both have is qmd's where a command takes both. */
export function optionsOf(surface: Surface): Readonly<Record<string, Option>> {
  if (surface === "both") return (both ??= { ...MEMQ_OPTIONS, ...QMD_OPTIONS });
  return surface === "memq" ? MEMQ_OPTIONS : QMD_OPTIONS;
}

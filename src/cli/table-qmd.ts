import type { QmdOption } from "./options.ts";
import type { Command } from "./table.ts";
import { ADMIN_COMMANDS } from "./table-qmd-admin.ts";

const SEARCH_OPTIONS = [
  "collection",
  "n",
  "min-score",
  "all",
  "full",
  "format",
  "json",
  "csv",
  "md",
  "xml",
  "files",
  "line-numbers",
  "full-path",
  "intent",
  "since",
  "until",
  "tag",
  "index",
] as const satisfies readonly QmdOption[];

/** qmd's commands that only read. */
const READING_COMMANDS: Command[] = [
  {
    surface: "qmd",
    path: ["query"],
    aliases: ["deep-search"],
    summary: "Search by keywords and by meaning, with all that the models here can do",
    arguments: "QUERY...",
    details:
      "QUERY is plain words, or lines that begin with lex:, vec: or hyde:, and one that begins with intent:. " +
      "What is not done by the deadline is left out, and that is said.",
    options: [
      ...SEARCH_OPTIONS,
      "no-rerank",
      "candidate-limit",
      "explain",
      "fusion",
      "deadline",
      "chunk-strategy",
      "no-gpu",
    ],
    load: () => import("./commands/qmd-query.ts"),
  },
  {
    surface: "qmd",
    path: ["search"],
    summary: "Search by keywords",
    arguments: "QUERY...",
    details: 'Words are alternatives; "a phrase" must be there, -word must not.',
    options: [...SEARCH_OPTIONS],
    load: () => import("./commands/qmd-search.ts"),
  },
  {
    surface: "qmd",
    path: ["vsearch"],
    aliases: ["vector-search"],
    summary: "Search by meaning",
    arguments: "QUERY...",
    options: [...SEARCH_OPTIONS, "deadline", "no-gpu"],
    load: () => import("./commands/qmd-vsearch.ts"),
  },
  {
    surface: "qmd",
    path: ["get"],
    summary: "Print a document, or some lines of it",
    arguments: "FILE[:FROM[:COUNT]]",
    details: "FILE is a name that any command printed, a path, the end of a path, or a docid (#abc123).",
    options: ["from", "l", "no-line-numbers", "full-path", "index"],
    load: () => import("./commands/qmd-get.ts"),
  },
  {
    surface: "qmd",
    path: ["multi-get"],
    summary: "Print several documents",
    arguments: "PATTERN",
    details: "PATTERN is a glob, or a list of names and docids with commas between them.",
    options: ["l", "max-bytes", "no-line-numbers", "full-path", "format", "json", "csv", "md", "xml", "files", "index"],
    load: () => import("./commands/qmd-multi-get.ts"),
  },
  {
    surface: "qmd",
    path: ["ls"],
    summary: "List collections, or the documents of one",
    arguments: "[COLLECTION[/FOLDER]]",
    options: ["index"],
    load: () => import("./commands/qmd-ls.ts"),
  },
];

/** The commands on notes, in the order in which help lists them. */
export const QMD_COMMANDS: readonly Command[] = [...READING_COMMANDS, ...ADMIN_COMMANDS];

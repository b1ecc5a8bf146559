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
    path: ["search"],
    summary: "Search by keywords",
    arguments: "QUERY",
    details: 'Words are alternatives; "a phrase" must be there, -word must not.',
    options: [...SEARCH_OPTIONS],
    load: () => import("./commands/qmd-search.ts"),
  },
];

/** The commands on notes, in the order in which help lists them. */
export const QMD_COMMANDS: readonly Command[] = [...READING_COMMANDS, ...ADMIN_COMMANDS];

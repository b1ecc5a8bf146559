import type { Command } from "./table.ts";

/** qmd's commands that change collections, contexts and the index, or look after them. */
export const ADMIN_COMMANDS: Command[] = [
  {
    surface: "qmd",
    path: ["collection", "add"],
    summary: "Add a folder as a collection and index it",
    arguments: "PATH",
    options: ["name", "mask", "glob", "index"],
    load: () => import("./commands/collection-add.ts"),
  },
  {
    surface: "qmd",
    path: ["collection", "list"],
    summary: "List all collections",
    options: ["json", "index"],
    load: () => import("./commands/collection-list.ts"),
  },
  {
    surface: "qmd",
    path: ["update"],
    summary: "Bring the index of every collection up to date",
    options: ["index"],
    load: () => import("./commands/qmd-update.ts"),
  },
];

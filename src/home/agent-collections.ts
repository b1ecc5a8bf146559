import { lstatSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { isMediaPath, type MediaRule } from "./media.ts";
import { sha256 } from "../sha256.ts";
import { patternList } from "./mask.ts";
import { absolutePath, escapedGlob, type Env } from "./paths.ts";
import { stripped } from "./stripped.ts";
import type { Collection, ExtraPath } from "./types.ts";

/** Folders that never hold memory, wherever they stand. */
const IGNORED_FOLDERS: readonly string[] = [
  ".git",
  "node_modules",
  ".pnpm-store",
  ".venv",
  "venv",
  ".tox",
  "__pycache__",
  ".openclaw-repair",
];

const IGNORED = [`**/{${IGNORED_FOLDERS.join(",")}}/**`];

const PLAIN = { ignore: IGNORED, followLinks: false, hidden: true } as const;

/** The workspace's own notes. */
export function memoryCollection(workspace: string, includeByDefault: boolean): Collection {
  return {
    ...PLAIN,
    name: "memory",
    root: workspace,
    patterns: ["MEMORY.md", "memory.md", "USER.md", "memory/**/*.md"],
    ignore: [...IGNORED],
    source: "memory",
    includeByDefault,
    pathPrefix: "",
  };
}

/** The agent's transcripts and their archives, without trajectories, checkpoints, locks and backups. */
export function sessionsCollection(directory: string, agentId: string, includeByDefault: boolean): Collection {
  return {
    ...PLAIN,
    name: "sessions",
    root: directory,
    patterns: ["*.jsonl", "*.jsonl.reset.*", "*.jsonl.deleted.*"],
    ignore: ["*.trajectory.jsonl*", "*.checkpoint.*", "*.lock", "*.bak", "*.bak.*"],
    source: "sessions",
    includeByDefault,
    pathPrefix: `sessions/${agentId}/`,
  };
}

export type ExtraCollectionOptions = {
  workspace: string;
  env: Env;
  includeByDefault: boolean;
  media: MediaRule | null;
};

/**
 * One collection per extra path. Its name depends on path and pattern alone, so that reordering the list changes nothing.
 * A symbolic link is left out and a missing path kept, each with an issue.
 */
export function extraCollections(
  extras: readonly ExtraPath[],
  options: ExtraCollectionOptions,
  issues: string[],
): Collection[] {
  const collections = new Map<string, Collection>();
  for (const extra of extras) {
    const path = absolutePath(extra.path, options.workspace, options.env);
    const kind = kindOf(path);
    if (kind === "link") {
      issues.push(`The extra path ${path} is a symbolic link and is not indexed.`);
      continue;
    }
    if (kind === "file" && !isIndexable(path, options.media)) {
      issues.push(`The extra path ${path} is no Markdown file and is not indexed.`);
      continue;
    }
    const collection = extraCollection(extra, path, kind === "file", options);
    if (kind === "missing") {
      const issue = `The extra path ${path} does not exist; what the index holds of it stays.`;
      issues.push(issue);
      collection.missing = { path, issue };
    }
    if (!collections.has(collection.name)) collections.set(collection.name, collection);
  }
  return [...collections.values()];
}

function kindOf(path: string): "file" | "folder" | "link" | "missing" {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return "missing";
  if (stats.isSymbolicLink()) return "link";
  return stats.isDirectory() ? "folder" : "file";
}

function isIndexable(path: string, media: ExtraCollectionOptions["media"]): boolean {
  return path.endsWith(".md") || isMediaPath(path, media);
}

function extraCollection(extra: ExtraPath, path: string, isFile: boolean, options: ExtraCollectionOptions): Collection {
  const single = isFile || (extra.pattern === undefined && path.endsWith(".md"));
  const root = single ? dirname(path) : path;
  const patterns = single ? [escapedGlob(basename(path))] : patternList(extra.pattern ?? "**/*.md");
  const media = options.media !== null && extra.pattern === undefined ? options.media : null;
  return {
    ...PLAIN,
    name: extraName(extra.name ?? basename(path), path, extra.pattern),
    root,
    patterns,
    ignore: [...IGNORED],
    source: "memory",
    includeByDefault: options.includeByDefault,
    pathPrefix: prefixOf(relative(options.workspace, root)),
    ...(media === null ? {} : { media }),
  };
}

function extraName(label: string, path: string, pattern: string | undefined): string {
  const digest = sha256(`${path}\0${pattern ?? ""}`).slice(0, 8);
  const words = stripped(label.toLowerCase().replace(/[^a-z0-9]+/g, "-"), "-");
  return `extra-${words === "" ? "" : `${words}-`}${digest}`;
}

function prefixOf(path: string): string {
  return path === "" ? "" : `${path.split(sep).join("/")}/`;
}

/** Folder of an agent's transcripts. */
export function sessionsFolder(stateDir: string, agentId: string): string {
  return join(stateDir, "agents", agentId, "sessions");
}

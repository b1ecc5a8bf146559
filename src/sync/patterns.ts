import { isMediaPath } from "../home/media.ts";
import { messageOf } from "../errors.ts";
import { isExclusion } from "../home/mask.ts";
import type { Collection } from "../home/types.ts";
import { isTranscriptName } from "../notes/transcript.ts";
import { anyOf, baseFolder, isStatic, type PathMatcher, writtenOut } from "./globs.ts";

/** Folders of tools, which nobody keeps notes in: neither scanned nor watched. */
const TOOL_FOLDERS = new Set([
  ".git",
  ".hg",
  ".svn",
  ".jj",
  ".venv",
  ".tox",
  ".cache",
  ".openclaw-repair",
  "node_modules",
  "__pycache__",
]);

/** Which files and folders of a collection count; paths are relative to its root, `/` between parts. */
export type PathRules = {
  /** Whether a folder may hold files of the collection. */
  entersFolder(path: string, name: string): boolean;
  /** What a file is to the collection. */
  fileKind(path: string, name: string): "text" | "media" | null;
  /** Why none does: a sentence about a pattern that means nothing, without its full stop. */
  problem?: string;
};

/**
 * Compiles a collection's patterns, ignore list, hidden rule and media extensions. A pattern that can't be compiled leaves out
 * everything, for it might be the one that keeps a folder private.
 */
export function pathRules(collection: Collection): PathRules {
  try {
    return compiledRules(collection);
  } catch (error) {
    const problem = messageOf(error)
      .replace(/^The pattern/, "its pattern")
      .replace(/\.$/, "");
    return { entersFolder: () => false, fileKind: () => null, problem };
  }
}

function compiledRules(collection: Collection): PathRules {
  const { hidden, root } = collection;
  const patterns = collection.patterns.flatMap((pattern) => writtenOut(belowRoot(pattern, root)));
  const wanted = patterns.filter((pattern) => !isExclusion(pattern));
  const literal = new Set([...collection.patterns, ...wanted]);
  const matches = anyOf(wanted, { dot: hidden });
  const ignores = ignoreRules([...patterns.filter(isExclusion), ...collection.ignore], root);
  const bases = wanted.map(baseFolder);
  const takesAnyMedia = !wanted.every(isStatic);
  const hides = (name: string): boolean => !hidden && name.startsWith(".");
  return {
    entersFolder: (path, name) =>
      !TOOL_FOLDERS.has(name) && !hides(name) && bases.some((base) => onOneLine(base, path)) && !ignores.folder(path),
    fileKind: (path, name) => {
      const isLiteral = literal.has(path);
      if ((hides(name) && !isLiteral) || ignores.file(path)) return null;
      if (isMediaPath(name, collection.media)) return isLiteral || takesAnyMedia ? "media" : null;
      // Beside transcripts a gateway keeps other files under like names; exported ones are Markdown, and all of theirs count.
      if (collection.source === "sessions" && !isTranscriptName(name) && !name.endsWith(".md")) return null;
      return isLiteral || matches(path) ? "text" : null;
    },
  };
}

/** Whether a file, or a folder with all that is in it, is left out. */
export type IgnoreRules = { file: PathMatcher; folder: PathMatcher };

/**
 * Compiles rules that leave out what they match. A folder goes whole by its name (`drafts`, `notes/drafts`), by `drafts/` or by
 * `drafts/**`; `drafts/*` means its files alone. A `!` in front changes nothing. Throws a `MemqError` for a pattern that can't be compiled.
 */
export function ignoreRules(ignore: readonly string[], root: string): IgnoreRules {
  const rules = ignore
    .flatMap((rule) => writtenOut(belowRoot(rule, root)))
    .flatMap((rule) => (isExclusion(rule) ? writtenOut(belowRoot(rule.slice(1), root)) : [rule]));
  const forFolders = rules.filter((rule) => /(?:^|\/)(?:\*\*)?$/.test(rule) || isStatic(lastPart(rule)));
  return {
    file: anyOf(
      rules.filter((rule) => !rule.endsWith("/")),
      { dot: true },
    ),
    folder: anyOf(
      forFolders.map((rule) => rule.replace(/\/$/, "")),
      { dot: true },
    ),
  };
}

/** A pattern that names a place below the root by its whole path, from the root on. */
function belowRoot(pattern: string, root: string): string {
  return pattern.startsWith(`${root}/`) ? pattern.slice(root.length + 1) : pattern;
}

function lastPart(pattern: string): string {
  return pattern.slice(pattern.lastIndexOf("/") + 1);
}

/** Whether a file is left out, by itself or with a folder around it. */
export function leavesOut(rules: IgnoreRules, path: string): boolean {
  return rules.file(path) || foldersAround(path).some((folder) => rules.folder(folder));
}

/** Whether all folders around a path can hold files of the collection. */
export function entersAround(rules: PathRules, path: string): boolean {
  return foldersAround(path).every((folder) => rules.entersFolder(folder, lastPart(folder)));
}

/** The paths of the folders around a path, the outermost first. */
function foldersAround(path: string): string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, depth) => names.slice(0, depth + 1).join("/"));
}

/** Whether one of two folders holds the other. */
function onOneLine(base: string, path: string): boolean {
  const composed = path.normalize("NFC");
  return (
    base === "" ||
    base === path ||
    `${composed}/`.startsWith(`${base.normalize("NFC")}/`) ||
    base.startsWith(`${path}/`)
  );
}

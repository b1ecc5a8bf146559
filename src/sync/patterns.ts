import picomatch from "picomatch";
import type { Collection } from "../home/types.ts";
import { isTranscriptName } from "../notes/transcript.ts";

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
};

/** Compiles a collection's patterns, ignore list, hidden rule and media extensions. Names match in composed form (NFC) too. */
export function pathRules(collection: Collection): PathRules {
  const options = { dot: collection.hidden, nonegate: true };
  const literal = new Set(collection.patterns);
  const matches = anyOf(collection.patterns, options);
  const ignores = anyOf(collection.ignore, { dot: true, nonegate: true });
  const bases = collection.patterns.map(baseFolder);
  const extensions = new Set(
    collection.media?.extensions.map((extension) => extension.toLowerCase().replace(/^\.?/, ".")),
  );
  const takesAnyMedia = collection.patterns.some((pattern) => picomatch.scan(pattern).isGlob);
  const hides = (name: string): boolean => !collection.hidden && name.startsWith(".");
  return {
    entersFolder: (path, name) =>
      !TOOL_FOLDERS.has(name) &&
      !hides(name) &&
      bases.some((base) => onOneLine(base, path)) &&
      !ignores(path) &&
      !ignores(`${path}/`),
    fileKind: (path, name) => {
      const isLiteral = literal.has(path);
      if ((hides(name) && !isLiteral) || ignores(path)) return null;
      if (extensions.has(extensionOf(name))) return isLiteral || takesAnyMedia ? "media" : null;
      // Beside transcripts a gateway keeps other files under like names; exported ones are Markdown, and all of theirs count.
      if (collection.source === "sessions" && !isTranscriptName(name) && !name.endsWith(".md")) return null;
      return isLiteral || matches(path) ? "text" : null;
    },
  };
}

/** Whether all folders around a path can hold files of the collection. */
export function entersAround(rules: PathRules, path: string): boolean {
  const names = path.split("/").slice(0, -1);
  return names.every((name, depth) => rules.entersFolder(names.slice(0, depth + 1).join("/"), name));
}

type MatchOptions = { dot: boolean; nonegate: boolean };

function anyOf(patterns: readonly string[], options: MatchOptions): (path: string) => boolean {
  const matchers = patterns.map((pattern) => matcherOf(pattern.replace(/^\.\//, "").normalize("NFC"), options));
  const [only] = matchers;
  const matches =
    only !== undefined && matchers.length === 1 ? only : (path: string) => matchers.some((match) => match(path));
  return (path) => {
    if (matches(path)) return true;
    const composed = path.normalize("NFC");
    return composed !== path && matches(composed);
  };
}

/** The two kinds of patterns that nearly every collection has are matched without a glob's expression: there may be many files. */
function matcherOf(pattern: string, options: MatchOptions): (path: string) => boolean {
  const extension = /^\*\*\/\*(\.[\w.-]+)$/.exec(pattern)?.[1];
  if (extension !== undefined && !options.dot) {
    return (path) => path.endsWith(extension) && !path.startsWith(".") && !path.includes("/.");
  }
  const folders = /^\*\*\/(?:\{([\w.,-]+)\}|([\w.-]+))\/\*\*$/.exec(pattern);
  const names = (folders?.[1] ?? folders?.[2])?.split(",");
  if (names !== undefined && options.dot && !names.includes("")) {
    const part = new RegExp(`(?:^|/)(?:${names.map((name) => name.replaceAll(".", String.raw`\.`)).join("|")})(?:/|$)`);
    return (path) => part.test(path);
  }
  return picomatch(pattern, options);
}

/** The folder that all matches of a pattern lie in, "" for the root. */
function baseFolder(pattern: string): string {
  const { base, isGlob } = picomatch.scan(pattern.replace(/^\.\//, ""));
  return isGlob ? base : base.slice(0, Math.max(0, base.lastIndexOf("/")));
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

function extensionOf(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot < 0 ? "" : name.slice(dot).toLowerCase();
}

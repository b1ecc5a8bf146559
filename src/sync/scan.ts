import { type Dirent, lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../errors.ts";
import { isInside } from "../home/paths.ts";
import type { Collection } from "../home/types.ts";
import { type PathRules, pathRules } from "./patterns.ts";

/** A file that belongs to a collection. Times are milliseconds since 1970, fractional. */
export type ScannedFile = {
  /** Relative to the collection's root, as the file system spells it, `/` between parts. */
  path: string;
  kind: "text" | "media";
  size: number;
  mtimeMs: number;
  /** When content or attributes last changed; unlike `mtimeMs`, no program can set it. */
  ctimeMs: number;
  birthtimeMs: number;
};

/** Something that was left out, and why, in words that can follow "skipped". */
export type Skipped = { path: string; reason: string };

export type CollectionScan = {
  collection: Collection;
  /** When the scan began, in milliseconds since 1970. */
  startedAt: number;
  /** In no order: thousands that have not changed need none. */
  files: ScannedFile[];
  skipped: Skipped[];
  /** Folders and files that could not be read ("" is the root): what the index holds of them must not be taken for gone. */
  unreadable: string[];
  /** Why the root itself was not scanned. */
  rootProblem?: string;
};

type Walk = {
  collection: Collection;
  rules: PathRules;
  realRoot: string;
  scan: CollectionScan;
  /** Real paths of the folders around the current one, to end loops of links. */
  around: string[];
  /** Real paths of folders entered through a link: each is entered once. */
  linked: Set<string>;
};

/**
 * Lists the files of a collection with their sizes and times. A file or folder that can't be read is left out and named; links are
 * followed only where the collection says so, and only to places inside its root.
 */
export function scanCollection(collection: Collection): CollectionScan {
  const scan: CollectionScan = { collection, startedAt: Date.now(), files: [], skipped: [], unreadable: [] };
  const realRoot = rootOf(collection, scan);
  if (realRoot === null) return scan;
  const rules = pathRules(collection);
  if (rules.problem !== undefined) {
    scan.unreadable.push("");
    scan.rootProblem = rules.problem;
    return scan;
  }
  const walk: Walk = {
    collection,
    rules,
    realRoot,
    scan,
    around: [realRoot],
    linked: new Set(),
  };
  scanFolder(walk, "");
  return scan;
}

/**
 * Scans all collections. A file that several collections of an agent's home reach is kept in the first only; collections of a qmd
 * home may share files.
 */
export function scanCollections(
  collections: readonly Collection[],
  options: { shareFiles: boolean },
): CollectionScan[] {
  const scans = collections.map(scanCollection);
  if (options.shareFiles || scans.length < 2) return scans;
  const seen = new Set<string>();
  for (const scan of scans) {
    const realRoot = realPathOf(scan.collection.root);
    if (realRoot === null) continue;
    scan.files = scan.files.filter(({ path }) => {
      const real = join(realRoot, path);
      if (seen.has(real)) return false;
      seen.add(real);
      return true;
    });
  }
  return scans;
}

function rootOf(collection: Collection, scan: CollectionScan): string | null {
  try {
    const { root, followLinks, pathPrefix } = collection;
    // An agent's extra path must be the folder itself; only the workspace, whose prefix is empty, may be reached through a link.
    if (!followLinks && pathPrefix !== "" && lstatSync(root).isSymbolicLink()) {
      scan.rootProblem = "it is a symbolic link";
      return null;
    }
    return realpathSync(root);
  } catch (error) {
    if (collection.optional && errorCode(error) === "ENOENT") return null;
    throwIfExhausted(error);
    scan.unreadable.push("");
    scan.rootProblem = fileProblem(error);
    return null;
  }
}

/** Scans a folder and what is below it. False when it was listed and is not there. */
function scanFolder(walk: Walk, folder: string): boolean {
  const { collection, rules, scan } = walk;
  const absolute = folder === "" ? collection.root : `${collection.root}/${folder}`;
  let entries: Dirent[];
  try {
    entries = readdirSync(absolute, { withFileTypes: true });
  } catch (error) {
    if (folder !== "" && errorCode(error) === "ENOENT") return false;
    throwIfExhausted(error);
    scan.unreadable.push(folder);
    if (folder === "") scan.rootProblem = fileProblem(error);
    else scan.skipped.push({ path: absolute, reason: fileProblem(error) });
    return true;
  }
  const gone = entries.filter((entry) => {
    const { name } = entry;
    const path = folder === "" ? name : `${folder}/${name}`;
    if (entry.isSymbolicLink()) return !scanLink(walk, path, name);
    if (entry.isDirectory()) return rules.entersFolder(path, name) && !enter(walk, path, null);
    if (entry.isFile()) return !addFile(walk, path, name);
    // Some network and FUSE file systems don't say what an entry is.
    return isUntyped(entry) && !scanUntyped(walk, path, name);
  });
  if (gone.length > 0) sayStillListed(scan, folder, absolute, gone);
  return true;
}

/**
 * What was listed and is not there was mostly deleted meanwhile, as by a checkout: that is no news. What is listed still can't be
 * reached by its name.
 */
function sayStillListed(scan: CollectionScan, folder: string, absolute: string, gone: readonly Dirent[]): void {
  const listed = new Set(namesIn(absolute));
  for (const entry of gone) {
    const { name } = entry;
    if (!listed.has(name)) continue;
    if (entry.isDirectory()) scan.unreadable.push(folder === "" ? name : `${folder}/${name}`);
    // Bytes that are no UTF-8 were replaced in the name, which so names nothing.
    const reason = name.includes("\ufffd") ? "its name is not UTF-8" : `${REASONS["ENOENT"]} (ENOENT)`;
    scan.skipped.push({ path: `${absolute}/${name}`, reason });
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isUntyped(entry: Dirent): boolean {
  return !entry.isFIFO() && !entry.isSocket() && !entry.isBlockDevice() && !entry.isCharacterDevice();
}

/** These return false when what was listed is not there. */
function scanUntyped(walk: Walk, path: string, name: string): boolean {
  const absolute = `${walk.collection.root}/${path}`;
  let stat: ReturnType<typeof lstatSync>;
  try {
    stat = lstatSync(absolute, { throwIfNoEntry: false });
  } catch (error) {
    walk.scan.unreadable.push(path);
    walk.scan.skipped.push({ path: absolute, reason: fileProblem(error) });
    return true;
  }
  if (stat?.isSymbolicLink()) return scanLink(walk, path, name);
  if (stat?.isDirectory()) return !walk.rules.entersFolder(path, name) || enter(walk, path, null);
  return stat?.isFile() !== true || addFile(walk, path, name);
}

function addFile(walk: Walk, path: string, name: string): boolean {
  const kind = walk.rules.fileKind(path, name);
  if (kind === null) return true;
  const absolute = `${walk.collection.root}/${path}`;
  try {
    const { size, mtimeMs, ctimeMs, birthtimeMs } = statSync(absolute);
    const limit = walk.collection.media?.maxFileBytes ?? Infinity;
    if (kind === "media" && size > limit)
      walk.scan.skipped.push({ path: absolute, reason: `it is larger than ${limit} bytes` });
    else walk.scan.files.push({ path, kind, size, mtimeMs, ctimeMs, birthtimeMs });
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    walk.scan.unreadable.push(path);
    walk.scan.skipped.push({ path: absolute, reason: fileProblem(error) });
  }
  return true;
}

function scanLink(walk: Walk, path: string, name: string): boolean {
  const { collection, rules, scan } = walk;
  if (!collection.followLinks) return true;
  const wantedFile = rules.fileKind(path, name) !== null;
  const wantedFolder = rules.entersFolder(path, name);
  if (!wantedFile && !wantedFolder) return true;
  const absolute = `${collection.root}/${path}`;
  try {
    const target = realpathSync(absolute);
    const isFolder = statSync(target).isDirectory();
    if (isFolder ? !wantedFolder : !wantedFile) return true;
    if (!isInside(target, walk.realRoot))
      scan.skipped.push({ path: absolute, reason: "it leads outside the collection" });
    else if (!isFolder) return addFile(walk, path, name);
    else if (!walk.around.includes(target) && !walk.linked.has(target)) {
      walk.linked.add(target);
      return enter(walk, path, target);
    }
  } catch (error) {
    const code = errorCode(error) ?? "";
    if (code === "ENOENT") return false;
    throwIfExhausted(error);
    // Of a target that can't be reached now nobody knows whether it is gone.
    if (!LEADS_NOWHERE.has(code)) scan.unreadable.push(path);
    scan.skipped.push({ path: absolute, reason: fileProblem(error) });
  }
  return true;
}

/** What is said of a link behind which there can be no file. */
const LEADS_NOWHERE = new Set(["ELOOP", "ENOTDIR", "ENAMETOOLONG"]);

function enter(walk: Walk, path: string, realPath: string | null): boolean {
  const parent = walk.around.at(-1) ?? walk.realRoot;
  walk.around.push(realPath ?? `${parent}/${path.slice(path.lastIndexOf("/") + 1)}`);
  const isThere = scanFolder(walk, path);
  walk.around.pop();
  return isThere;
}

function realPathOf(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

const REASONS: Record<string, string> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENOENT: "it does not exist",
  ENOTDIR: "it is not a folder",
  ELOOP: "its links go in a circle",
  EIO: "the disk reports an error",
  EAGAIN: "it is not available at the moment",
};

/** Why the file system refused, in words, with its code. */
export function fileProblem(error: unknown): string {
  const code = errorCode(error);
  return code === null ? messageOf(error) : `${REASONS[code] ?? "it can't be read"} (${code})`;
}

/** That this process has no file left to open says nothing of the one that was to be read: the sync fails, and is tried again. */
export function throwIfExhausted(error: unknown): void {
  if (["EMFILE", "ENFILE"].includes(errorCode(error) ?? "")) throw error;
}

/** `ENOENT`, `EACCES`, …; null for an error that the file system did not make. */
export function errorCode(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}

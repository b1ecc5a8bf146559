import { posix, resolve } from "node:path";
import { isExclusion } from "../home/mask.ts";
import { type Env, wayBelow } from "../home/paths.ts";
import type { Collection, Home } from "../home/types.ts";
import { placesOf, spellingsOf } from "../search/resolve.ts";
import { entersAround, pathRules } from "../sync/patterns.ts";

/** Where a note that may be read is, whether or not it is there. */
export type NotePlace = {
  /** As printed: relative to the workspace. */
  path: string;
  /** Folder that the file must be in. */
  root: string;
  /** Parts below `root`. */
  parts: string[];
  followLinks: boolean;
};

/**
 * The places that a name of the memory surface may mean, one for each spelling of it: what a scan of the notes takes up, and what is
 * a note of the workspace although none does. Transcripts have no place here.
 */
export function notePlaces(home: Home, env: Env, asked: string): NotePlace[] {
  return spellingsOf(asked)
    .filter((name) => name !== "" && !name.includes("\0"))
    .flatMap((name) => scannedPlace(home, env, name) ?? qmdPlace(home, env, name) ?? workspacePlace(home, name) ?? []);
}

/** `qmd/<collection>/<path>` of any collection: those within the workspace are printed by their paths in it. */
function qmdPlace(home: Home, env: Env, asked: string): NotePlace | null {
  return asked.startsWith("qmd/") ? scannedPlace(home, env, `qmd://${asked.slice("qmd/".length)}`) : null;
}

/** Where a scan takes the note up. What the memory surface prints comes before what other surfaces do. */
function scannedPlace(home: Home, env: Env, asked: string): NotePlace | null {
  const name = /^qmd:/i.test(asked) ? asked : posix.normalize(asked);
  const collections = home.collections.filter(({ source }) => source !== "sessions");
  const places = placesOf({ home: { ...home, collections }, cwd: home.workspace ?? "/", env }, name);
  const isPrinted = ({ collection, path }: (typeof places)[number]): boolean =>
    `${collection.pathPrefix}${path}` === name;
  for (const { collection, path } of places.toSorted((a, b) => Number(isPrinted(b)) - Number(isPrinted(a)))) {
    const way = wayBelow(collection.root, resolve(collection.root, path));
    if (way === null) continue;
    const printed = `${collection.pathPrefix}${way}`;
    // Hidden notes of the memory folder are read, scanned or not.
    if (takesUp(isMemoryPath(printed) ? { ...collection, hidden: true } : collection, way)) {
      return { path: printed, root: collection.root, parts: way.split("/"), followLinks: collection.followLinks };
    }
  }
  return null;
}

/** A note of the workspace that no collection of it leaves out, nor has for a transcript. */
function workspacePlace({ workspace, collections }: Home, asked: string): NotePlace | null {
  if (workspace === undefined) return null;
  const file = resolve(workspace, asked);
  const path = wayBelow(workspace, file);
  if (path === null || !isMemoryPath(path)) return null;
  const isKeptOut = collections.some((collection) => {
    const way = wayBelow(collection.root, file);
    if (way === null || (collection.root !== workspace && wayBelow(workspace, collection.root) === null)) return false;
    if (collection.source === "sessions") return takesUp(collection, way);
    const patterns = ["**", ...collection.patterns.filter(isExclusion)];
    return !takesUp({ ...collection, hidden: true, patterns }, way);
  });
  return isKeptOut ? null : { path, root: workspace, parts: path.split("/"), followLinks: false };
}

/** `MEMORY.md`, `USER.md` and `DREAMS.md` in any case, and Markdown below `memory/`. */
function isMemoryPath(path: string): boolean {
  return /^(memory|user|dreams)\.md$/i.test(path) || (path.startsWith("memory/") && path.endsWith(".md"));
}

/** Whether a scan of the collection finds text at a path. */
function takesUp(collection: Collection, path: string): boolean {
  const rules = pathRules(collection);
  return entersAround(rules, path) && rules.fileKind(path, posix.basename(path)) === "text";
}

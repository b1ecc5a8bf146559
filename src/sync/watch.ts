import { accessSync, constants, type FSWatcher, readdirSync, statSync, watch, type WatchEventType } from "node:fs";
import { basename } from "node:path";
import { messageOf } from "../errors.ts";
import type { Collection } from "../home/types.ts";
import { entersAround, pathRules, type PathRules } from "./patterns.ts";
import { errorCode } from "./scan.ts";

/** More folders than this are not watched: the system's watches are shared by everything a person runs. */
const MAX_FOLDERS = 8000;
/** A note that is written to without a pause is still taken after this many quiet times. */
const MAX_QUIET_TIMES = 4;
/** A root that comes (back) has nothing watched that could tell of it. */
const LOOK_FOR_ROOTS_MS = 1000;

/** Changed files: collection name → paths relative to its root. A path may be a folder that came or went. */
export type Changes = Map<string, Set<string>>;

export type WatchOptions = {
  /** Milliseconds without a further change before `onChange`. */
  debounceMs: number;
  onChange: (changes: Changes) => void;
  /** Called once, when watching is not possible (any more), with a sentence for people; nothing is watched from then on. */
  onFailure: (warning: string) => void;
  /** Stands in for the system's watching. */
  watchFolder?: typeof watch;
  /**
   * One watch for a whole tree instead of one per folder. Linux counts watches per folder either way and can leave out ignored
   * ones; elsewhere a tree is one stream of events, and a folder would cost a descriptor. Unset: as the platform does it best.
   */
  recursive?: boolean;
};

export type Watcher = {
  readonly active: boolean;
  /** Takes in folders that came and went unseen: a root that was missing before. */
  refresh(): void;
  close(): void;
};

/**
 * Watches the folders of collections for changes of files that belong to them. Folders of tools and ignored ones are not watched, and
 * a change of any other file goes unnoticed. The watches hold no process alive.
 */
export function watchCollections(collections: readonly Collection[], options: WatchOptions): Watcher {
  const { debounceMs, onChange, onFailure } = options;
  let changes: Changes = new Map();
  let firstChangeAt = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let active = true;
  let foldersChanged = false;

  const fire = (): void => {
    if (foldersChanged) refresh();
    clearTimeout(timer);
    const fired = changes;
    changes = new Map();
    if (active) onChange(fired);
  };
  const changed = (collection: string, path: string, isFolder: boolean): void => {
    if (changes.size === 0) firstChangeAt = performance.now();
    changes.set(collection, (changes.get(collection) ?? new Set()).add(path));
    foldersChanged ||= isFolder;
    const patience = firstChangeAt + MAX_QUIET_TIMES * debounceMs - performance.now();
    clearTimeout(timer);
    timer = setTimeout(fire, Math.max(0, Math.min(debounceMs, patience)));
    timer.unref();
  };
  const close = (): void => {
    active = false;
    clearTimeout(timer);
    clearInterval(looking);
    for (const tree of trees) tree.close();
  };
  const fail = (error: unknown): void => {
    if (!active) return;
    close();
    onFailure(`Changes of notes are not watched: ${failureReason(error)}. They are looked for at each search instead.`);
  };
  const refresh = (): void => {
    foldersChanged = false;
    try {
      let left = MAX_FOLDERS;
      for (const tree of trees) if (active) left -= tree.refresh(left);
    } catch (error) {
      fail(error);
    }
  };
  const { watchFolder = watch, recursive = process.platform !== "linux" } = options;
  const trees = collections.map((collection) => watchTree(collection, { changed, fail, watchFolder, recursive }));
  const looking = setInterval(() => {
    // Told once: each time it is told the quiet time begins anew, and all roots are looked at after it.
    const replaced = foldersChanged ? undefined : trees.find((tree) => tree.isReplaced());
    if (replaced !== undefined) changed(replaced.collection, "", true);
  }, LOOK_FOR_ROOTS_MS);
  looking.unref();
  refresh();
  return {
    get active() {
      return active;
    },
    refresh: () => active && refresh(),
    close,
  };
}

class TooManyFolders extends Error {
  override readonly name = "TooManyFolders";
}

function failureReason(error: unknown): string {
  const code = errorCode(error);
  if (error instanceof TooManyFolders) return `there are more than ${MAX_FOLDERS} folders`;
  if (code === "ENOSPC") return "the system has no watches left (see fs.inotify.max_user_watches)";
  if (code === "EMFILE" || code === "ENFILE") return "the system has no watches or open files left";
  return messageOf(error);
}

type TreeContext = {
  changed: (collection: string, path: string, isFolder: boolean) => void;
  fail: (error: unknown) => void;
  watchFolder: typeof watch;
  recursive: boolean;
};

type Tree = {
  /** Its name. */
  collection: string;
  /** Whether the root came, went or is another folder since it was last looked at. */
  isReplaced(): boolean;
  refresh(limit: number): number;
  close(): void;
};

/** Watches one collection: each of its folders, or with `recursive` its root as a whole. */
function watchTree(collection: Collection, { changed, fail, watchFolder, recursive }: TreeContext): Tree {
  const { root } = collection;
  const rules = pathRules(collection);
  const watched = new Map<string, { watcher: FSWatcher; identity: string }>();
  /** Null until it is first looked at. */
  let rootIdentity: string | null = null;

  const drop = (folder: string): void => {
    for (const [path, { watcher }] of watched) {
      if (folder !== "" && path !== folder && !path.startsWith(`${folder}/`)) continue;
      watcher.close();
      watched.delete(path);
    }
  };
  /** A folder came, went or did both: what is there now may have the name and even the inode of what was watched, and is not. */
  const replaced = (folder: string): void => {
    drop(folder);
    changed(collection.name, folder, true);
  };
  const onEvent = (folder: string, event: WatchEventType, name: string | null | undefined): void => {
    // Without a name, or under its own, a folder speaks of itself: it was moved or deleted.
    if (name === null || name === undefined || (folder === "" && name === basename(root))) {
      return event === "rename" ? replaced(folder) : changed(collection.name, folder, true);
    }
    const path = folder === "" ? name : `${folder}/${name}`;
    if (watched.has(path)) {
      if (event === "rename" || !isFolder(`${root}/${path}`)) replaced(path);
    } else if (entersAround(rules, path)) {
      const base = basename(path);
      if (rules.fileKind(path, base) !== null) changed(collection.name, path, false);
      else if (rules.entersFolder(path, base) && isFolder(`${root}/${path}`)) changed(collection.name, path, true);
    }
  };
  const add = (folder: string): void => {
    const absolute = folder === "" ? root : `${root}/${folder}`;
    const identity = identityOf(absolute);
    if (identity === NOWHERE) return;
    const watcher = watchFolder(absolute, { persistent: false, recursive }, (event, name) =>
      onEvent(folder, event, name),
    );
    // A folder that vanishes ends its watch; its parent tells of that.
    watcher.on("error", (error) => (isGone(error) ? drop(folder) : fail(error)));
    watched.set(folder, { watcher, identity });
  };

  return {
    collection: collection.name,
    isReplaced: () => identityOf(root) !== rootIdentity,
    refresh(limit) {
      const identity = identityOf(root);
      if (identity !== rootIdentity) {
        drop("");
        // Who first looks may be here for another tree, and what came with the root is told by nobody else.
        if (rootIdentity !== null) changed(collection.name, "", false);
      }
      rootIdentity = identity;
      const folders = identity === NOWHERE ? [] : recursive ? [""] : foldersOf(root, rules, limit);
      const wanted = new Set(folders);
      for (const [path, { identity }] of watched)
        if (!wanted.has(path) || identityOf(path === "" ? root : `${root}/${path}`) !== identity) drop(path);
      for (const folder of folders) if (!watched.has(folder)) addUnlessGone(add, folder);
      return folders.length;
    },
    close: () => drop(""),
  };
}

function addUnlessGone(add: (folder: string) => void, folder: string): void {
  try {
    add(folder);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

/** The folders of a tree that can hold files of the collection, the root ("") first. Unreadable ones are left out. */
function foldersOf(root: string, rules: PathRules, limit: number): string[] {
  const folders = [""];
  for (const folder of folders) {
    for (const name of folderNames(folder === "" ? root : `${root}/${folder}`)) {
      const path = folder === "" ? name : `${folder}/${name}`;
      if (rules.entersFolder(path, name)) folders.push(path);
    }
    if (folders.length > limit) throw new TooManyFolders();
  }
  return folders;
}

function folderNames(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    // The sync names what can't be read.
    return [];
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // Gone, a link to itself, on a disk that doesn't answer: an error here would end the process.
    return false;
  }
}

/** Of what is no folder, or can't be looked into. */
const NOWHERE = "";

/** Tells a folder from another one of its name: one that was moved there, or mounted over it. */
function identityOf(path: string): string {
  try {
    const { dev, ino } = statSync(path);
    accessSync(path, constants.R_OK);
    return `${dev}:${ino}`;
  } catch {
    return NOWHERE;
  }
}

function isGone(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "EACCES", "EPERM"].includes(errorCode(error) ?? "");
}

import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, realpathSync } from "node:fs";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { messageOf } from "../errors.ts";
import type { Collection, Home } from "../home/types.ts";
import { decodeNote } from "../notes/decode.ts";
import { cutAtGrapheme } from "../search/snippet.ts";

/** What is asked of a note: all of it, or `lines` lines from line `from` on (1-based). `path` may be a citation, with lines of its own. */
export type GetRequest = { path: string; from?: number | undefined; lines?: number | undefined };

export type GetAnswer = {
  text: string;
  path: string;
  /** Where a window applies: its first line and how many lines `text` holds. */
  from?: number;
  lines?: number;
  /** Something follows that `text` doesn't hold. */
  truncated?: true;
  /** The line to go on from. */
  nextFrom?: number;
  disabled?: true;
  error?: string;
  code?: "MEMORY_PATH_NOT_ALLOWED" | "MEMORY_READ_FAILED";
};

/**
 * Reads a note of the memory folders or the extra paths, as it is on disk now: any Markdown below `memory/`, hidden notes that no
 * scan takes up included, `MEMORY.md`, `USER.md` and `DREAMS.md`, and below the extra paths what a scan finds. Nothing behind
 * `..`, an absolute path, a NUL or a symbolic link at any part of the path leads out, and transcripts are not read. A missing
 * file is an empty text; a refusal is an answer too, since the agent goes on either way.
 */
export function readNote(home: Home, request: GetRequest, maxChars: number): GetAnswer {
  const { path: asked, ...window } = uncited(request);
  const place = asked === "" || asked.includes("\0") ? null : locate(home, asked);
  if (place === null)
    return refusal(asked, "MEMORY_PATH_NOT_ALLOWED", `${quoted(asked)} is not a note of this memory.`);
  try {
    const bytes = readInside(place);
    if (bytes === null) return { text: "", path: place.path };
    if (bytes === "link") {
      return refusal(asked, "MEMORY_PATH_NOT_ALLOWED", `${quoted(asked)} is not a regular file inside this memory.`);
    }
    const { text } = decodeNote(bytes);
    if (text === null) return refusal(place.path, "MEMORY_READ_FAILED", `${quoted(asked)} is not a text file.`);
    const { text: read, ...lines } = windowOf(text, window, maxChars);
    return { text: read, path: place.path, ...lines };
  } catch (error) {
    return refusal(place.path, "MEMORY_READ_FAILED", `${quoted(asked)} can't be read: ${messageOf(error)}.`);
  }
}

/** The path and lines of what a search cites (`note.md#L3-L5`) or prints (`note.md:3-5`); lines that are asked for by themselves win. */
function uncited({ path, from, lines }: GetRequest): GetRequest {
  const [, note, start, end] = /^(.+\.md)(?:#L|:)(\d+)(?:-L?(\d+))?$/i.exec(path.trim()) ?? [];
  if (note === undefined || Number(start) < 1) return { path: path.trim(), from, lines };
  const count = Math.max(1, Number(end ?? start) - Number(start) + 1);
  return { path: note, from: from ?? Number(start), lines: lines ?? (from === undefined ? count : undefined) };
}

type Place = {
  /** As printed: relative to the workspace. */
  path: string;
  /** Folder that the file must be in. */
  root: string;
  /** Parts below `root`. */
  parts: string[];
  followLinks: boolean;
};

function locate(home: Home, asked: string): Place | null {
  const readable = home.collections.filter(({ source }) => source !== "sessions");
  for (const collection of readable) {
    if (collection.pathPrefix === "" || !asked.startsWith(collection.pathPrefix)) continue;
    return within(collection, resolve(collection.root, asked.slice(collection.pathPrefix.length)));
  }
  const { workspace } = home;
  if (workspace === undefined && !isAbsolute(asked)) return null;
  const file = resolve(workspace ?? "/", asked);
  if (workspace !== undefined) {
    const path = posixRelative(workspace, file);
    if (path !== null && isMemoryPath(path)) {
      return { path, root: workspace, parts: path.split("/"), followLinks: false };
    }
  }
  for (const collection of readable) {
    const place = within(collection, file);
    if (place !== null) return place;
  }
  return null;
}

/** `MEMORY.md`, `USER.md` and `DREAMS.md` in any case, and Markdown below `memory/`. */
function isMemoryPath(path: string): boolean {
  return /^(memory|user|dreams)\.md$/i.test(path) || (path.startsWith("memory/") && path.endsWith(".md"));
}

function within(collection: Collection, file: string): Place | null {
  const path = posixRelative(collection.root, file);
  if (path === null || !path.endsWith(".md")) return null;
  const matches = (globs: string[]): boolean => globs.some((glob) => new Bun.Glob(glob).match(path));
  if (!matches(collection.patterns) || matches(collection.ignore)) return null;
  const { root, followLinks } = collection;
  return { path: `${collection.pathPrefix}${path}`, root, parts: path.split("/"), followLinks };
}

/** The path of `file` below `root` with `/` between its parts, or null when it is not below. */
function posixRelative(root: string, file: string): string | null {
  const path = relative(root, file);
  if (path === "" || path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path)) return null;
  return path.split(sep).join("/");
}

/** The bytes, null when there is no such file, "link" when a symbolic link or something that is no file stands in the way. */
function readInside({ root, parts, followLinks }: Place): Uint8Array | null | "link" {
  let path = root;
  try {
    if (followLinks) {
      const real = realpathSync(join(root, ...parts));
      if (posixRelative(realpathSync(root), real) === null) return "link";
      path = real;
    } else {
      for (const part of parts) {
        path = join(path, part);
        if (lstatSync(path).isSymbolicLink()) return "link";
      }
    }
    const before = lstatSync(path);
    if (!before.isFile()) return "link";
    return readSameFile(path, before);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    if (code === "ELOOP") return "link";
    throw error;
  }
}

/** Reads the very file that was looked at, so one exchanged meanwhile is not followed out. */
function readSameFile(path: string, before: { dev: number; ino: number }): Uint8Array | "link" {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const opened = fstatSync(descriptor);
    if (opened.dev !== before.dev || opened.ino !== before.ino) return "link";
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The lines asked for, as far as `maxChars` UTF-16 units go; whole lines unless the first alone is longer. */
function windowOf(text: string, request: Omit<GetRequest, "path">, maxChars: number): Omit<GetAnswer, "path"> {
  const whole = request.from === undefined && request.lines === undefined;
  if (whole && text.length <= maxChars) return { text };
  const all = text.split(/\r?\n/);
  if (all.at(-1) === "") all.pop();
  const from = request.from ?? 1;
  const wanted = all.slice(from - 1, request.lines === undefined ? undefined : from - 1 + request.lines);
  const kept: string[] = [];
  let length = 0;
  for (const line of wanted) {
    length += line.length + (kept.length > 0 ? 1 : 0);
    if (length > maxChars && kept.length > 0) break;
    kept.push(line);
  }
  const first = kept[0] ?? "";
  const cut = kept.length === 1 && first.length > maxChars;
  if (cut) kept[0] = cutAtGrapheme(first, maxChars);
  const next = from + kept.length;
  const more = next <= all.length && kept.length > 0;
  return {
    text: kept.join("\n"),
    from,
    lines: kept.length,
    ...(more || cut ? { truncated: true as const } : {}),
    ...(more ? { nextFrom: next } : {}),
  };
}

function refusal(path: string, code: NonNullable<GetAnswer["code"]>, error: string): GetAnswer {
  return { text: "", path, disabled: true, error, code };
}

function quoted(path: string): string {
  return JSON.stringify(path);
}

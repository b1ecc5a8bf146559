import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { reasonOf } from "../errors.ts";
import { type Env, wayBelow } from "../home/paths.ts";
import type { Home } from "../home/types.ts";
import { decodeNote, MAX_NOTE_BYTES, MAX_NOTE_MB } from "../notes/decode.ts";
import { docidOf, type Resolution } from "../search/resolve.ts";
import { shortened } from "../printable.ts";
import { cutAtGrapheme } from "../search/snippet.ts";
import { type NotePlace, notePlaces } from "./note-place.ts";

/**
 * What is asked of a note: all of it, or `lines` lines from line `from` on (1-based). `path` may be a citation, with lines of its own,
 * or a docid (`#abc123`).
 */
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

/** An agent's home, and the look into its index for a docid's digits. */
export type NoteReader = { home: Home; env: Env; documentOf: (docid: string) => Resolution };

/**
 * Reads a note as it is on disk now, by any name that a surface printed for it: what a scan of the memory folders and the extra
 * paths takes up, any Markdown below `memory/`, hidden notes included, `MEMORY.md`, `USER.md` and `DREAMS.md`. Nothing behind
 * `..`, an absolute path, a NUL or a symbolic link at any part of the path leads out, and transcripts are not read. A missing
 * file is an empty text; a refusal is an answer too, since the agent goes on either way.
 */
export function readNote(reader: NoteReader, request: GetRequest, maxChars: number): GetAnswer {
  const { home, env } = reader;
  const whole = { ...request, path: request.path.trim() };
  const cited = uncited(whole);
  const asked = cited === null ? [whole] : [whole, cited];
  // The likeliest first; of notes that are not there the last, whose name holds no lines.
  let missing: NotePlace | null = null;
  for (const { path, ...window } of asked) {
    for (const place of notePlaces(home, env, path)) {
      const read = readPlace(place, window, maxChars);
      if (read !== null) return read;
      missing = place;
    }
  }
  for (const one of asked) {
    const read = readDocid(reader, one, maxChars);
    if (read !== null) return read;
  }
  if (missing !== null) return { text: "", path: missing.path };
  const { path } = cited ?? whole;
  return refusal(path, "MEMORY_PATH_NOT_ALLOWED", `${quoted(path)} is not a note of this memory.`);
}

/** The note that a docid stands for, where it may be read by its path too; null for what is no docid of a note here. */
function readDocid(reader: NoteReader, { path: name, ...window }: GetRequest, maxChars: number): GetAnswer | null {
  const { home, env, documentOf } = reader;
  const docid = docidOf(name);
  const found = docid === null ? null : documentOf(docid);
  if (found === null || found.kind === "missing") return null;
  const documents = found.kind === "document" ? [found.document] : found.documents;
  const places = documents.flatMap(({ collection, path }) => {
    const owner = home.collections.find((one) => one.name === collection && one.source !== "sessions");
    return owner === undefined ? [] : notePlaces(home, env, `${owner.pathPrefix}${path}`).slice(0, 1);
  });
  const [place] = places;
  if (place === undefined) return null;
  if (places.length > 1) {
    const paths = places.map(({ path }) => quoted(path)).join(", ");
    return refusal(name, "MEMORY_READ_FAILED", `${quoted(name)} stands for several notes: ${paths}.`);
  }
  return readPlace(place, window, maxChars) ?? { text: "", path: place.path };
}

/** Null when nothing is there. */
function readPlace(place: NotePlace, window: Omit<GetRequest, "path">, maxChars: number): GetAnswer | null {
  const { path } = place;
  try {
    const bytes = readInside(place);
    if (bytes === null) return null;
    if (bytes === "large")
      return refusal(path, "MEMORY_READ_FAILED", `${quoted(path)} is larger than ${MAX_NOTE_MB} MB.`);
    if (bytes === "link") {
      return refusal(path, "MEMORY_PATH_NOT_ALLOWED", `${quoted(path)} is not a regular file inside this memory.`);
    }
    const { text } = decodeNote(bytes);
    if (text === null) return refusal(path, "MEMORY_READ_FAILED", `${quoted(path)} is not a text file.`);
    const { text: read, ...lines } = windowOf(text, window, maxChars);
    return { text: read, path, ...lines };
  } catch (error) {
    return refusal(path, "MEMORY_READ_FAILED", `${quoted(path)} can't be read: ${reasonOf(error)}.`);
  }
}

/**
 * The path and lines of what a search cites (`note.md#L3-L5`) or prints (`note.md:3-5`), or null for a name without lines; lines
 * that are asked for by themselves win.
 */
function uncited({ path, from, lines }: GetRequest): GetRequest | null {
  const [, note, start, end] = /^(.+?)(?:#L|:)([1-9]\d*)(?:-L?(\d+))?$/is.exec(path) ?? [];
  if (note === undefined) return null;
  const count = Math.max(1, Number(end ?? start) - Number(start) + 1);
  return { path: note, from: from ?? Number(start), lines: lines ?? (from === undefined ? count : undefined) };
}

/**
 * The bytes, null when there is no such file, "link" when a symbolic link or something that is no file stands in the way, "large" for no
 * note's size.
 */
function readInside({ root, parts, followLinks }: NotePlace): Uint8Array | null | "link" | "large" {
  let path = root;
  try {
    if (followLinks) {
      const real = realpathSync(join(root, ...parts));
      if (wayBelow(realpathSync(root), real) === null) return "link";
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
function readSameFile(path: string, before: { dev: number; ino: number }): Uint8Array | "link" | "large" {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const opened = fstatSync(descriptor);
    if (opened.dev !== before.dev || opened.ino !== before.ino) return "link";
    return opened.size > MAX_NOTE_BYTES ? "large" : readFileSync(descriptor);
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
  return { text: "", path, disabled: true, error: shortened(error), code };
}

function quoted(path: string): string {
  return JSON.stringify(path);
}

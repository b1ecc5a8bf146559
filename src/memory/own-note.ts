import { lstat, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { asMemqError } from "../errors.ts";
import { decodeNote } from "../notes/decode.ts";

/** A note of an agent's own; `file` is the same for two names of one file, and `stamp` changes when the file does. */
export type OwnNote = { text: string; file: string; stamp: string };

/**
 * Reads a note of the workspace as it is now: null when there is none, or a sentence that says why it was not read. With `known`, what
 * was read before, an unchanged file is not read again. What is longer than `maxBytes` is not read either.
 */
export async function readOwnNote(
  workspace: string,
  path: string,
  maxBytes: number,
  known?: OwnNote,
): Promise<OwnNote | string | null> {
  const full = join(workspace, path);
  try {
    const stats = await lstat(full);
    // A link, of the file or of its folder, could lead anywhere: only regular files are the agent's own memory.
    if (!stats.isFile() || (await realpath(full)) !== join(await realpath(workspace), path)) {
      return `${path} was not read: it is not a regular file inside the workspace.`;
    }
    if (stats.size > maxBytes) return `${path} was not read: it is larger than ${Math.floor(maxBytes / 1024 ** 2)} MB.`;
    const stamp = `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}`;
    if (known?.stamp === stamp) return known;
    const { text } = decodeNote(await readFile(full));
    if (text === null) return `${path} was not read: it is not a text file.`;
    return { text, file: `${stats.dev}:${stats.ino}`, stamp };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? null : `${path} was not read: ${asMemqError(error).message}`;
  }
}

import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { isAscii } from "../search/scripts.ts";
import { asMemqError, MemqError } from "../errors.ts";
import type { AgentHome } from "../home/agent-home.ts";
import { decodeNote, MAX_NOTE_BYTES, MAX_NOTE_MB } from "../notes/decode.ts";
import { dateInZone } from "../notes/dates.ts";
import { whileOnlyAppender } from "./append-lock.ts";
import { isRealDate } from "./dates.ts";

export type AppendRequest = { text: string; target?: "daily" | "long-term" | undefined; date?: string | undefined };
export type AppendResult = { path: string; startLine: number; endLine: number };

/**
 * Appends text to a note, on lines of its own and with a final newline, in one write that another writer cannot split. Nothing
 * that is there is ever rewritten. A new daily note begins with its date as a heading. Appends to one note wait for each other,
 * so that the reported lines are true; `signal` ends that wait.
 */
export function appendForAgent(
  { home, memory }: AgentHome,
  request: AppendRequest,
  signal?: AbortSignal,
): Promise<AppendResult> {
  const { text, target = "daily", date } = request;
  const workspace = home.workspace ?? "";
  const lock = `${home.indexPath}.append`;
  return appendToMemory({ workspace, text, target, date, timeZone: memory.timeZone, now: Date.now(), lock, signal });
}

/** As `appendForAgent`, of any workspace. */
export async function appendToMemory(options: {
  workspace: string;
  text: string;
  target: "daily" | "long-term";
  /** `YYYY-MM-DD`; today in the user's zone when absent. Only for `daily`. */
  date?: string | undefined;
  timeZone?: string;
  now: number;
  /** Where appends wait for each other if not beside the note: a path in the state folder. */
  lock: string;
  signal?: AbortSignal | undefined;
}): Promise<AppendResult> {
  const { workspace, target, lock, signal } = options;
  if (target === "long-term" && options.date !== undefined) {
    throw new MemqError("BAD_DATE", "A date names a daily note; MEMORY.md has none.", {
      hint: "Leave the date out, or write to the daily note.",
      exitCode: 2,
    });
  }
  const date = options.date ?? dateInZone(options.now, options.timeZone);
  if (!isRealDate(date)) {
    throw new MemqError("BAD_DATE", `'${date}' is not a date.`, { hint: "Use YYYY-MM-DD.", exitCode: 2 });
  }
  if (options.text.trim() === "") {
    throw new MemqError("EMPTY_TEXT", "There is no text to append.", {
      hint: "Give the text to remember.",
      exitCode: 2,
    });
  }
  if (options.text.includes("\0")) {
    throw new MemqError("BAD_TEXT", "The text holds a NUL character.", {
      hint: "A file with one is no text file, and none of it would be found.",
      exitCode: 2,
    });
  }
  const path = target === "daily" ? `memory/${date}.md` : "MEMORY.md";
  const text = endedOnce(options.text);
  const heading = target === "daily" ? `# ${date}\n\n` : "";
  try {
    const note = await placeOf(workspace, path);
    const lines = await whileOnlyAppender(lock, note, () => appendLines(note, path, text, heading), signal);
    return { path, ...lines };
  } catch (error) {
    if (error instanceof MemqError) throw error;
    const { code, message, hint = "Check that the workspace is writable." } = asMemqError(error);
    throw new MemqError(code === "INTERNAL" ? "APPEND_FAILED" : code, `${path} could not be written. ${message}`, {
      hint,
      cause: error,
    });
  }
}

/** Text with one final newline. */
function endedOnce(text: string): string {
  let end = text.length;
  while (text[end - 1] === "\n") end -= 1;
  return `${text.slice(0, end)}\n`;
}

type AppendedLines = Pick<AppendResult, "startLine" | "endLine">;

/** The absolute path of a note that may be written, its folder made. */
async function placeOf(workspace: string, path: string): Promise<string> {
  const note = join(workspace, path);
  await requireWorkspace(workspace);
  await mkdir(dirname(note), { recursive: true });
  await refuseLinks(workspace, note, path);
  return note;
}

async function appendLines(note: string, path: string, text: string, heading: string): Promise<AppendedLines> {
  // O_NOFOLLOW: a link put there in the meantime is an error, not a way out of the workspace.
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
  const bytes = await readFile(note).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (bytes !== null) refuseOtherEncoding(bytes, text, path);
  const before = bytes?.toString("utf8") ?? null;
  const lead = before === null || before === "" ? heading : before.endsWith("\n") ? "" : "\n";
  refuseTooLarge((bytes?.length ?? 0) + Buffer.byteLength(lead + text), path);
  const file = await open(note, flags, 0o600);
  try {
    await writeWhole(file, Buffer.from(lead + text));
  } finally {
    await file.close();
  }
  const startLine = countLines((before ?? "") + lead) + 1;
  return { startLine, endLine: startLine + countLines(text) - 1 };
}

/** A note that grows beyond what is indexed would vanish from memory whole. */
function refuseTooLarge(bytes: number, path: string): void {
  if (bytes <= MAX_NOTE_BYTES) return;
  throw new MemqError(
    "APPEND_FAILED",
    `${path} would be larger than ${MAX_NOTE_MB} MB, and no note that large is found.`,
    {
      hint: "Move what is old to another note, or append less.",
    },
  );
}

/** A workspace that is gone (a disk not mounted, a folder moved) must not come to life again as an empty one. */
async function requireWorkspace(workspace: string): Promise<void> {
  const found = await stat(workspace).catch(() => null);
  if (found?.isDirectory()) return;
  throw new MemqError("WORKSPACE_MISSING", `The workspace ${workspace} does not exist any more.`, {
    hint: "Bring it back, or name another folder.",
  });
}

/** Writes all of it or nothing: what found room on a full disk is taken away again, unless somebody wrote behind it. */
async function writeWhole(file: FileHandle, bytes: Buffer): Promise<void> {
  const { size } = await file.stat();
  let written = 0;
  try {
    // One write as a rule. The system takes less than it is given when room or a limit runs out, and says so only the next time.
    while (written < bytes.length) written += (await file.write(bytes, written)).bytesWritten;
    await file.sync();
  } catch (error) {
    if (written > 0 && (await file.stat()).size === size + written) await file.truncate(size);
    throw error;
  }
}

/** Text in UTF-8 behind another encoding would make the whole note unreadable. */
function refuseOtherEncoding(bytes: Uint8Array, text: string, path: string): void {
  const decoded = decodeNote(bytes);
  const encoding = decoded.text === null ? "binary" : decoded.encoding;
  if (encoding === "utf-8" || (encoding === "windows-1252" && isAscii(text))) return;
  throw new MemqError("APPEND_FAILED", `${path} is not UTF-8 but ${encoding}.`, {
    hint: "Save it as UTF-8 first: what is appended is UTF-8.",
  });
}

async function refuseLinks(workspace: string, full: string, path: string): Promise<void> {
  const root = await realpath(workspace);
  const folder = await realpath(dirname(full));
  const inside = relative(root, folder);
  const linked = await lstat(full)
    .then((stat) => !stat.isFile())
    .catch(() => false);
  if (linked || inside !== relative(workspace, dirname(full))) {
    throw new MemqError("MEMORY_PATH_NOT_ALLOWED", `${path} is, or lies behind, a symbolic link.`, {
      hint: "memq only appends to regular files inside the workspace.",
    });
  }
}

function countLines(text: string): number {
  let lines = 0;
  for (let i = text.indexOf("\n"); i !== -1; i = text.indexOf("\n", i + 1)) lines += 1;
  return lines;
}

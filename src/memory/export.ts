import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { DAY_MS } from "../notes/dates.ts";
import { asMemqError, MemqError } from "../errors.ts";
import { isTranscriptName, renderTranscript, sessionIdOf } from "../notes/transcript.ts";
import { exportedName, exportedSessionId } from "./sessions.ts";

/** What an export did, how large each transcript (by its absolute path) was that it took, and what it left out, in sentences. */
export type ExportReport = { written: number; removed: number; sizes: Map<string, number>; problems: string[] };

export type ExportOptions = {
  sessionsDir: string;
  exportDir: string;
  retentionDays?: number;
  /** Milliseconds since 1970. */
  now: number;
  signal?: AbortSignal;
};

/**
 * Writes each transcript of an agent as Markdown (`# Session <id>`, then its turns) into the folder of a qmd collection, leaves
 * what is unchanged, and removes notes of its own whose transcript is gone or older than `retentionDays`; other notes in that folder
 * are somebody's. A note is as old as its transcript, so that a time asked for in a search means that of the session. What can't be
 * read or written keeps nothing else from being exported.
 */
export async function exportSessions(options: ExportOptions): Promise<ExportReport> {
  const { sessionsDir, exportDir, now, signal } = options;
  await mkdir(exportDir, { recursive: true, mode: 0o700 });
  const names = await readdir(sessionsDir).catch(unlessMissing<string[]>([]));
  const oldest = options.retentionDays === undefined ? -Infinity : now - options.retentionDays * DAY_MS;
  const kept = new Set<string>();
  const report: ExportReport = { written: 0, removed: 0, sizes: new Map(), problems: [] };
  for (const name of names.filter(isTranscriptName).sort()) {
    signal?.throwIfAborted();
    const source = join(sessionsDir, name);
    try {
      const stats = await stat(source).catch(unlessMissing(null));
      if (stats === null || !stats.isFile() || stats.mtimeMs < oldest) continue;
      const target = `${exportedName(name)}.md`;
      kept.add(target);
      report.sizes.set(source, stats.size);
      if (await writeIfNewer(source, stats.mtime, exportDir, target)) report.written += 1;
    } catch (error) {
      report.problems.push(`The transcript ${source} was not exported: ${asMemqError(error).message}`);
    }
  }
  for (const entry of await readdir(exportDir, { withFileTypes: true })) {
    if (!entry.isFile() || kept.has(entry.name)) continue;
    const path = join(exportDir, entry.name);
    try {
      if (!(await isLeft(path, entry.name, now))) continue;
      await rm(path, { force: true });
      if (!isAside(entry.name)) report.removed += 1;
    } catch (error) {
      report.problems.push(`${path} was not looked at: ${asMemqError(error).message}`);
    }
  }
  return report;
}

/** Answers with `instead` for what does not exist; any other failure stays one: an unreadable folder is not an empty one. */
function unlessMissing<T>(instead: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === "ENOENT") return instead;
    throw error;
  };
}

const HEADING = "# Session ";
/** A session's id is part of a file's name, and none is longer. */
const MAX_HEADING_BYTES = HEADING.length + 256;

/** Whether a note is one of those that we write: it begins with the session that its name names. */
async function isExported(path: string, name: string): Promise<boolean> {
  const base = name.replace(/\.md$/, "");
  const heading = await headingOf(path);
  // Names once had a dash for a colon.
  return [base, exportedSessionId(base)].some((id) => [heading, heading.replaceAll(":", "-")].includes(HEADING + id));
}

async function headingOf(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_HEADING_BYTES), 0, MAX_HEADING_BYTES, 0);
    return buffer.toString("utf8", 0, bytesRead).split("\n", 1)[0] ?? "";
  } finally {
    await file.close();
  }
}

/** A note is written under such a name first: short, since that of a transcript may be as long as names can be. */
const ASIDE = /^\.memq-export-[\da-f-]+$/;
const ABANDONED_MS = 3_600_000;

function isAside(name: string): boolean {
  return ASIDE.test(name);
}

/** Whether a file beside the notes is left over: a note without its transcript, or one that a process did not finish. */
async function isLeft(path: string, name: string, now: number): Promise<boolean> {
  if (isAside(name)) return (await stat(path)).ctimeMs < now - ABANDONED_MS;
  return name.endsWith(".md") && isExported(path, name);
}

const SLICE_CHARS = 200_000;

/** The text of a transcript; a long one takes a while, and requests are answered in between. */
async function renderedInSlices(jsonl: string): Promise<string> {
  const texts: string[] = [];
  for (let at = 0; at < jsonl.length;) {
    const lineEnd = jsonl.indexOf("\n", at + SLICE_CHARS);
    const end = lineEnd < 0 ? jsonl.length : lineEnd + 1;
    const { text } = renderTranscript(jsonl.slice(at, end));
    if (text !== "") texts.push(text);
    at = end;
    await setImmediate();
  }
  return texts.join("\n");
}

/** Writes the note of a transcript unless it is as new; true when it did. Throws when somebody's own note has that name. */
async function writeIfNewer(source: string, changedAt: Date, folder: string, name: string): Promise<boolean> {
  const target = join(folder, name);
  const existing = await stat(target).catch(unlessMissing(null));
  // Times of files are set to the millisecond; those of our notes are equal, and that is all there is to look at.
  const newer = (existing?.mtime.getTime() ?? -Infinity) - changedAt.getTime();
  if (newer === 0 && existing?.isFile()) return false;
  if (existing !== null && !(existing.isFile() && (await isExported(target, name)))) {
    throw new MemqError("EXPORT_TAKEN", `${target} is not a note that was exported, and stays.`);
  }
  const heading = HEADING + sessionIdOf(basename(source));
  // A newer one may hold the session that once had to share this name.
  if (newer > 0 && (await headingOf(target)) === heading) return false;
  const body = await renderedInSlices(await readFile(source, "utf8"));
  const text = `${heading}\n\n${body === "" ? "(empty)" : body}\n`;
  if (existing !== null && (await readFile(target, "utf8")) === text) {
    await utimes(target, changedAt, changedAt);
    return false;
  }
  // Written aside and moved: an update that runs meanwhile never reads half a session. No two writes share that name.
  const aside = join(folder, `.memq-export-${randomUUID()}`);
  await writeFile(aside, text, { mode: 0o600 });
  await utimes(aside, changedAt, changedAt);
  await rename(aside, target);
  return true;
}

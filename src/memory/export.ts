import { mkdir, open, readFile, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { isTranscriptName, renderTranscript, sessionIdOf } from "../notes/transcript.ts";

/** What an export did, and how large each transcript (by its absolute path) was that it took. */
export type ExportReport = { written: number; removed: number; sizes: Map<string, number> };

/**
 * Writes each transcript of an agent as Markdown (`# Session <id>`, then its turns) into the folder of a qmd collection, leaves
 * what is unchanged, and removes notes of its own whose transcript is gone or older than `retentionDays`; other notes in that folder
 * are somebody's. A note is as old as its transcript, so that a time asked for in a search means that of the session.
 */
export async function exportSessions(options: {
  sessionsDir: string;
  exportDir: string;
  retentionDays?: number;
  now: number;
  signal?: AbortSignal;
}): Promise<ExportReport> {
  await mkdir(options.exportDir, { recursive: true, mode: 0o700 });
  const names = await readdir(options.sessionsDir).catch(unlessMissing<string[]>([]));
  const oldest = options.retentionDays === undefined ? -Infinity : options.now - options.retentionDays * 86_400_000;
  const kept = new Set<string>();
  const sizes = new Map<string, number>();
  let written = 0;
  for (const name of names.filter(isTranscriptName).sort()) {
    options.signal?.throwIfAborted();
    const source = join(options.sessionsDir, name);
    const stats = await stat(source).catch(unlessMissing(null));
    if (stats === null || stats.mtimeMs < oldest) continue;
    const target = `${exportName(name)}.md`;
    kept.add(target);
    sizes.set(source, stats.size);
    if (await writeIfNewer(source, stats.mtime, join(options.exportDir, target), sessionIdOf(name))) written += 1;
  }
  let removed = 0;
  for (const name of await readdir(options.exportDir)) {
    const path = join(options.exportDir, name);
    if (!name.endsWith(".md") || kept.has(name) || !(await isExported(path))) continue;
    await rm(path, { force: true });
    removed += 1;
  }
  return { written, removed, sizes };
}

/** Answers with `instead` for what does not exist; any other failure stays one: an unreadable folder is not an empty one. */
function unlessMissing<T>(instead: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === "ENOENT") return instead;
    throw error;
  };
}

const HEADING = "# Session ";

/** Whether a note begins as those that we write. */
async function isExported(path: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADING.length), 0, HEADING.length, 0);
    return buffer.toString("latin1", 0, bytesRead) === HEADING;
  } finally {
    await file.close();
  }
}

/** `abc.jsonl` is `abc`; an archive keeps its suffix, so that it does not overwrite the session that goes on. */
function exportName(name: string): string {
  return name
    .replace(/\.jsonl\.(reset|deleted)\./, "-$1-")
    .replace(/\.jsonl$/, "")
    .replaceAll(":", "-");
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

async function writeIfNewer(source: string, changedAt: Date, target: string, sessionId: string): Promise<boolean> {
  const existing = await stat(target).catch(() => null);
  // Times of files are set to the millisecond.
  if (existing !== null && existing.mtime.getTime() >= changedAt.getTime()) return false;
  const body = await renderedInSlices(await readFile(source, "utf8"));
  const text = `${HEADING}${sessionId}\n\n${body === "" ? "(empty)" : body}\n`;
  if (existing !== null && (await readFile(target, "utf8")) === text) {
    await utimes(target, changedAt, changedAt);
    return false;
  }
  // Written aside and moved: an update that runs meanwhile never reads half a session.
  const aside = `${target}.tmp-${process.pid}`;
  await writeFile(aside, text, { mode: 0o600 });
  await utimes(aside, changedAt, changedAt);
  await rename(aside, target);
  return true;
}

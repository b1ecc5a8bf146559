import { mkdir, open, readFile, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isTranscriptName, renderTranscript, sessionIdOf } from "../notes/transcript.ts";

/**
 * Writes each transcript of an agent as Markdown (`# Session <id>`, then its turns) into the folder of a qmd collection, leaves
 * what is unchanged, and removes notes of its own whose transcript is gone or older than `retentionDays`; other notes in that folder
 * are somebody's. Returns how many it wrote and removed.
 */
export async function exportSessions(options: {
  sessionsDir: string;
  exportDir: string;
  retentionDays?: number;
  now: number;
}): Promise<{ written: number; removed: number }> {
  await mkdir(options.exportDir, { recursive: true, mode: 0o700 });
  const names = await readdir(options.sessionsDir).catch(unlessMissing<string[]>([]));
  const oldest = options.retentionDays === undefined ? -Infinity : options.now - options.retentionDays * 86_400_000;
  const kept = new Set<string>();
  let written = 0;
  for (const name of names.filter(isTranscriptName).sort()) {
    const source = join(options.sessionsDir, name);
    const mtimeMs = await stat(source).then((stats) => stats.mtimeMs, unlessMissing(null));
    if (mtimeMs === null || mtimeMs < oldest) continue;
    const target = `${exportName(name)}.md`;
    kept.add(target);
    if (await writeIfNewer(source, mtimeMs, join(options.exportDir, target), sessionIdOf(name))) written += 1;
  }
  let removed = 0;
  for (const name of await readdir(options.exportDir)) {
    const path = join(options.exportDir, name);
    if (!name.endsWith(".md") || kept.has(name) || !(await isExported(path))) continue;
    await rm(path, { force: true });
    removed += 1;
  }
  return { written, removed };
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

async function writeIfNewer(
  source: string,
  sourceMtimeMs: number,
  target: string,
  sessionId: string,
): Promise<boolean> {
  const existing = await stat(target).catch(() => null);
  if (existing !== null && existing.mtimeMs >= sourceMtimeMs) return false;
  const body = renderTranscript(await readFile(source, "utf8")).text;
  const text = `${HEADING}${sessionId}\n\n${body === "" ? "(empty)" : body}\n`;
  if (existing !== null && (await readFile(target, "utf8")) === text) return false;
  // Written aside and moved: an update that runs meanwhile never reads half a session.
  const aside = `${target}.tmp-${process.pid}`;
  await writeFile(aside, text, { mode: 0o600 });
  await rename(aside, target);
  return true;
}

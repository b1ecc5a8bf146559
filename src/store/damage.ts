import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { MemqError } from "../errors.ts";

const OTHER = "A pipe, a socket or a device";

function noFile(path: string, what: string): MemqError {
  return new MemqError("NO_FILE", `${what} stands where the index should be: ${path}.`, {
    hint: "Move it away, or choose another place for the index.",
  });
}

/**
 * What is wrong with a file that should be an index, as far as that shows without opening it; null when nothing does, or when it was
 * taken away since somebody saw it. SQLite alone may open it: a process that closes any handle of a file loses the locks that SQLite
 * holds on it, and then others take its journal away. Throws `NO_FILE` for what is no file.
 */
export function damageOf(path: string): string | null {
  // Before the size: a new file gets its first page, then this.
  const shm = statSync(`${path}-shm`, { throwIfNoEntry: false });
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return null;
  if (!stats.isFile()) throw noFile(path, stats.isDirectory() ? "A folder" : OTHER);
  // Whoever still reads what an emptied file held has a lock on it, and would keep a writer waiting. What a deleted index left beside
  // itself is older than the file that somebody is just making; where the system does not tell the ages, both are 0.
  if (stats.size === 0) return shm !== undefined && shm.birthtimeMs >= stats.birthtimeMs ? "emptied" : null;
  if (stats.size < LEAST_BYTES) return NO_DATABASE;
  return isReported(path, stats.ino) ? "malformed" : null;
}

/** SQLite takes what is smaller than its smallest page for an empty database, and writes over it. */
const LEAST_BYTES = 512;

/**
 * Remembers that SQLite met damage which the first page does not show, so that readers take the file for an empty index from now on
 * and the next writer rebuilds it. `inode` is that of the file which was read: one put in its place meanwhile is another.
 */
export function reportDamage(path: string, inode = statSync(path, { throwIfNoEntry: false })?.ino): void {
  try {
    writeFileSync(reportPath(path), String(inode), { mode: 0o600 });
  } catch {
    // A folder that can't be written: whoever may write there meets the damage too.
  }
}

/** The index that was opened last. */
let lastOpened: { path: string; inode: number } | null = null;

/** Remembers the index that this process works with, for `reportDamageMet`. */
export function rememberOpened(path: string, inode: number): void {
  lastOpened = { path, inode };
}

/** Reports the index that a failing command worked with, when SQLite's damage is what it failed of. */
export function reportDamageMet(error: unknown): void {
  if (lastOpened !== null && isDamage(error)) reportDamage(lastOpened.path, lastOpened.inode);
}

function isReported(path: string, inode: number): boolean {
  try {
    return existsSync(reportPath(path)) && readFileSync(reportPath(path), "utf8") === String(inode);
  } catch {
    return false;
  }
}

function reportPath(path: string): string {
  return `${path}.damaged`;
}

/** Stands as the `application_id` in the header of our files ("memq"). */
export const APPLICATION_ID = 0x6d_65_6d_71;

/** Handles of files whose mark was looked for, by path. They stay open, see `damageOf`. */
const handles = new Map<string, { inode: number; file: number }>();

/** Whether a file carries our mark; one that doesn't may still be ours, since the mark reaches the file with the next checkpoint. */
export function hasMark(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  // What is no file is refused by who opens it; only looking into a pipe would wait for somebody.
  if (stats?.isFile() !== true) return false;
  const inode = stats.ino;
  let handle = handles.get(path);
  if (handle?.inode !== inode) {
    if (handle !== undefined) closeSync(handle.file);
    handle = { inode, file: openSync(path, "r") };
    handles.set(path, handle);
  }
  const id = Buffer.alloc(4);
  return readSync(handle.file, id, 0, 4, 68) === 4 && id.readUInt32BE(0) === APPLICATION_ID;
}

/** Whether SQLite says that the file is no database or malformed. */
export function isDamage(error: unknown): boolean {
  return /^SQLITE_(CORRUPT|NOTADB)/.test((error as { code?: string } | null)?.code ?? "");
}

/** How the damage that SQLite met is called. */
export function damageMet(error: unknown): string {
  return (error as { code?: string }).code?.startsWith("SQLITE_NOTADB") === true ? NO_DATABASE : "malformed";
}

/** What `damageMet` calls a file that never was a database, or whose first page is overwritten. */
export const NO_DATABASE = "not a database";

/** Whether the system could not read or write a database: its files may have been taken away under the connection. */
export function isDiskFault(error: unknown): boolean {
  return (error as { code?: string } | null)?.code?.startsWith("SQLITE_IOERR") === true;
}

/**
 * Takes away what a deleted index left beside itself, before a new one is made. A process that still has the deleted one open keeps its
 * `-shm` alive, and whoever makes a new one would take that for its own.
 */
export function removeLeftBehind(path: string): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0) return;
  for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true });
}

/** Moves a damaged index away under a dated name, with its `-wal` and `-shm`; returns the sentence to warn with. */
export function setAside(path: string, reason: string): string {
  const stamp = new Date().toISOString().replaceAll(/[-:]/g, "").replace(/\.\d+/, "");
  let target = `${path}.damaged-${stamp}`;
  for (let n = 2; existsSync(target); n++) target = `${path}.damaged-${stamp}-${n}`;
  // The database goes first: SQLite drops a journal that it finds beside a new, empty database.
  for (const suffix of ["", "-wal", "-shm"]) {
    try {
      renameSync(path + suffix, target + suffix);
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOENT") throw error;
    }
  }
  rmSync(reportPath(path), { force: true });
  return `The index ${path} was damaged (${reason}); it was set aside as ${target} and is rebuilt from your notes.`;
}

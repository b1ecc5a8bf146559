import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { MemqError } from "../errors.ts";

const MAGIC = "SQLite format 3\0";

/** Opens what should be an index to look at its header. A pipe is not waited for: whatever is no file throws `NO_FILE`. */
function withFile<T>(path: string, look: (file: number, stats: Stats) => T): T {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    // So the system says that it is a socket, or a device that is not there.
    throw ["ENXIO", "ENODEV"].includes((error as NodeJS.ErrnoException).code ?? "") ? noFile(path, OTHER) : error;
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw noFile(path, stats.isDirectory() ? "A folder" : OTHER);
    return look(file, stats);
  } finally {
    closeSync(file);
  }
}

const OTHER = "A pipe, a socket or a device";

function noFile(path: string, what: string): MemqError {
  return new MemqError("NO_FILE", `${what} stands where the index should be: ${path}.`, {
    hint: "Move it away, or choose another place for the index.",
  });
}

/**
 * What is wrong with a file that should be an SQLite database, judged by its first page and its length; null when nothing is. Throws
 * `NO_FILE` for what is no file.
 */
export function damageOf(path: string): string | null {
  return withFile(path, (file, { size, ino }) => {
    // Whoever still reads what an emptied file held has a lock on it, and would keep a writer waiting.
    if (size === 0) return existsSync(`${path}-shm`) ? "emptied" : null;
    if (isReported(path, ino)) return "malformed";
    const header = Buffer.alloc(100);
    if (readSync(file, header, 0, 100, 0) < 100 || header.toString("latin1", 0, 16) !== MAGIC) return "not a database";
    const pageSize = header.readUInt16BE(16) === 1 ? 65536 : header.readUInt16BE(16);
    const pages = header.readUInt32BE(28);
    // The page count holds only when it was written together with the change counter; pages may still stand in the WAL.
    const counted = header.readUInt32BE(24) === header.readUInt32BE(92);
    return counted && pages * pageSize > size && !existsSync(`${path}-wal`) ? "cut short" : null;
  });
}

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

/** Path of the index that was opened last. */
let lastOpened: string | null = null;

/** Remembers the index that this process works with, for `reportDamageMet`. */
export function rememberOpened(path: string): void {
  lastOpened = path;
}

/** Reports the index that a failing command worked with, when SQLite's damage is what it failed of. */
export function reportDamageMet(error: unknown): void {
  if (lastOpened !== null && isDamage(error)) reportDamage(lastOpened);
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

/** Whether a file carries our mark; one that doesn't may still be ours, since the mark reaches the file with the next checkpoint. */
export function hasMark(path: string): boolean {
  return withFile(path, (file) => {
    const id = Buffer.alloc(4);
    return readSync(file, id, 0, 4, 68) === 4 && id.readUInt32BE(0) === APPLICATION_ID;
  });
}

/** Whether SQLite says that the file is no database or malformed. */
export function isDamage(error: unknown): boolean {
  return /^SQLITE_(CORRUPT|NOTADB)/.test((error as { code?: string } | null)?.code ?? "");
}

/** Whether the system could not read or write a database: its files may have been taken away under the connection. */
export function isDiskFault(error: unknown): boolean {
  return (error as { code?: string } | null)?.code?.startsWith("SQLITE_IOERR") === true;
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

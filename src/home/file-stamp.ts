import { statSync } from "node:fs";

/** A file as it was at a moment; the stamp is empty where there was none. */
export type FileStamp = { path: string; stamp: string };

/** The file at `path` as it is now. */
export function stampOf(path: string): FileStamp {
  const stat = statSync(path, { throwIfNoEntry: false });
  return { path, stamp: stat === undefined ? "" : `${stat.ino}:${stat.size}:${stat.mtimeMs}` };
}

/** The inode of the file at `path`, 0 where there is none: another one when a file was put in its place. */
export function inodeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}

/** Whether a file is not what it was when the stamp was taken. */
export function hasChanged({ path, stamp }: FileStamp): boolean {
  return stampOf(path).stamp !== stamp;
}

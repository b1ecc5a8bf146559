import { MemqError } from "../../errors.ts";
import type { Program } from "../../version.ts";

/** How long ago an ISO time was, in one unit: `12s ago`, `3h ago`. */
export function ago(iso: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(iso)) / 1000));
  if (seconds < 60) return `${seconds}s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h ago`;
  return `${Math.floor(seconds / 86_400)}d ago`;
}

/** Bytes for people, in powers of 1024: `812 B`, `1.4 MB`. */
export function sizeText(bytes: number): string {
  const units = ["B", "KB", "MB", "GB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${bytes} B` : `${value.toFixed(1)} ${units[unit]}`;
}

/** A span of time: `12s`, `3m 5s`, `2h 10m`. */
export function spanText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
  return `${Math.floor(seconds / 3600)}h ${Math.floor((seconds % 3600) / 60)}m`;
}

/** Where to turn when a command does not do what is expected. */
export function doctorHint(program: string): string {
  return `If ${program} still behaves unexpectedly, run '${program} doctor' for diagnostics.`;
}

/** What is said when the text printed is that of the index: `missing` of `total` files are gone. */
export function goneWarning(missing: number, total: number, program: string): string {
  const what = total === 1 ? "the file is" : `${missing} of ${total} files are`;
  return `warning: ${what} gone from disk (moved or deleted since indexing); showing the indexed text. Run '${program} update' to refresh the index.`;
}

/** What is said when the text printed is that of the index, because `unread` of `total` files are there and can't be read as notes. */
export function unreadWarning(unread: number, total: number, program: string): string {
  const what = total === 1 ? "the file" : `${unread} of ${total} files`;
  return `warning: ${what} can't be read as a note; showing the indexed text. '${program} update' says why.`;
}

/** What is said when `--full-path` finds no file: `missing` of `total` documents. */
export function fullPathWarning(missing: number, total: number, program: string): string {
  const what = total === 1 ? "the file" : `${missing} of ${total} results`;
  return `warning: --full-path could not resolve ${what} on disk (moved or deleted since indexing); showing qmd:// + docid instead. Run '${program} update' to refresh the index.`;
}

/** The failure of a command that names a collection which is none. */
export function collectionNotFound(name: string, program: Program): MemqError {
  return new MemqError("COLLECTION_NOT_FOUND", `Collection not found: ${name}`, {
    hint: `Run '${program} collection list' to see available collections.`,
  });
}

import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { MemqError, messageOf } from "../errors.ts";
import { embedded, type EmbeddedArchive } from "./embedded.ts";
import { cacheHome, createFolder, privateTempFolder } from "./folders.ts";

/**
 * Folder that holds llama.cpp's addon and libraries in a folder named after the platform, unpacked on first use. Throws
 * `NATIVE_MISSING` where there are none.
 */
export async function nativeFolder(): Promise<string> {
  if (embedded !== null) {
    if (embedded.llama === null) throw noLlama();
    return unpackedFolder(embedded.llama, unpackBase());
  }
  const platform = llamaPlatform();
  const bins = join(import.meta.dir, "../../node_modules/@node-llama-cpp", platform, "bins");
  if (!existsSync(join(bins, platform, "llama-addon.node"))) throw noLlama();
  return bins;
}

/** Path of the sqlite-vec extension, unpacked on first use, or null where SQLite loads no extensions or there is none. */
export function vecExtensionPath(): string | null {
  if (process.platform !== "linux") return null;
  if (embedded !== null) {
    const archive = embedded.vec;
    return archive?.files[0] === undefined ? null : join(unpackedFolder(archive, unpackBase()), archive.files[0].name);
  }
  const path = join(import.meta.dir, `../../node_modules/sqlite-vec-linux-${process.arch}/vec0.so`);
  return existsSync(path) ? path : null;
}

/** The name that node-llama-cpp gives to this platform's build without CUDA and Vulkan. */
export function llamaPlatform(platform = process.platform, arch = process.arch): string {
  if (platform !== "darwin") return `${platform}-${arch}`;
  return arch === "arm64" ? "mac-arm64-metal" : "mac-x64";
}

/** Short text that differs between builds of this program; when running from source, between its checkouts. */
export function programBuild(): string {
  if (embedded === null) return `source:${join(import.meta.dir, "../..")}`;
  return `${embedded.build}:${embedded.llama?.hash ?? "none"}`;
}

function noLlama(): MemqError {
  return new MemqError("NATIVE_MISSING", `This build has no local models for ${process.platform} ${process.arch}.`, {
    hint: "Set a remote embedding provider, or search by keyword.",
  });
}

/**
 * Folder below `base` that holds the archive's files, unpacked unless they are there whole. Safe for many processes at once.
 * Throws `NATIVE_UNPACK`.
 */
export function unpackedFolder(archive: EmbeddedArchive, base: string): string {
  const folder = join(base, archive.hash);
  if (isComplete(folder, archive)) return folder;
  const temporary = join(base, `${archive.hash}.${process.pid}-${crypto.randomUUID().slice(0, 8)}`);
  try {
    unpackInto(temporary, archive);
    putInPlace(temporary, folder, archive);
  } catch (error) {
    throw new MemqError("NATIVE_UNPACK", `Native parts could not be unpacked to ${folder}: ${messageOf(error)}`, {
      hint: "Set XDG_CACHE_HOME to a folder with 35 MB of free space.",
      cause: error,
    });
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  return folder;
}

function unpackBase(): string {
  try {
    return createFolder(join(cacheHome(), "memq/native"));
  } catch {
    // No home folder, or a read-only one (a container): the temporary folder serves, and is as private.
    return createFolder(join(privateTempFolder(), "native"));
  }
}

/** Sizes are checked, not only names: a full disk or a cleaner may have left some files out or cut them off. */
function isComplete(folder: string, archive: EmbeddedArchive): boolean {
  return archive.files.every((file) => isWhole(folder, file));
}

function isWhole(folder: string, { name, size }: EmbeddedArchive["files"][number]): boolean {
  try {
    return statSync(join(folder, name)).size === size;
  } catch {
    // It is not there, or below what is no folder: who puts it there says what is wrong.
    return false;
  }
}

function unpackInto(folder: string, archive: EmbeddedArchive): void {
  const bytes = Bun.zstdDecompressSync(readFileSync(archive.path));
  mkdirSync(folder, { mode: 0o700 });
  let offset = 0;
  for (const { name, size } of archive.files) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const file = openSync(path, "wx", 0o700);
    try {
      const end = offset + size;
      while (offset < end) offset += writeSync(file, bytes, offset, end - offset);
    } finally {
      closeSync(file);
    }
  }
}

/**
 * Several processes may unpack at once: the first rename wins. In a damaged folder what is whole stays where it is, since others have
 * found it and are about to load it; each of the other files is replaced at once.
 */
function putInPlace(temporary: string, folder: string, archive: EmbeddedArchive): void {
  try {
    renameSync(temporary, folder);
    return;
  } catch (error) {
    if (isComplete(folder, archive)) return;
    if (!isFolder(folder)) throw error;
  }
  for (const file of archive.files) {
    if (isWhole(folder, file)) continue;
    const path = join(folder, file.name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // Nobody loads a folder, and no file takes its place.
    if (isFolder(path)) rmSync(path, { recursive: true, force: true });
    renameSync(join(temporary, file.name), path);
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

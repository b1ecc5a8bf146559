import { messageOf } from "../errors.ts";
import type { Index } from "./types.ts";

/** Path of the sqlite-vec library of this platform, or null when there is none. */
type VecLoader = () => string | null;

let locate: VecLoader = locateInstalled;

/** Sets where sqlite-vec comes from; an executable that carries it unpacks it here, when first needed. */
export function setVecLoader(loader: VecLoader): void {
  locate = loader;
}

/** sqlite-vec as installed beside the sources. */
function locateInstalled(): string | null {
  const os = process.platform === "win32" ? "windows" : process.platform;
  const extension = { darwin: "dylib", windows: "dll" }[os as string] ?? "so";
  try {
    return Bun.resolveSync(`sqlite-vec-${os}-${process.arch}/vec0.${extension}`, import.meta.dir);
  } catch {
    return null;
  }
}

/**
 * Loads sqlite-vec into the connection unless that was tried before, and says how vectors are kept. A library without
 * extension loading (Apple's), `MEMQ_NO_VEC=1`, a missing file or a setting mean `packed`: the same answers from plain tables. That a
 * library which somebody named can't be loaded is one of the index's warnings.
 */
export function loadVec(index: Index): "vec0" | "packed" {
  index.engine ??= tryLoad(index) ? "vec0" : "packed";
  return index.engine;
}

function tryLoad(index: Index): boolean {
  const { enabled = true, path: named } = index.extension ?? {};
  if (!enabled || process.env["MEMQ_NO_VEC"] === "1") return false;
  try {
    const path = named ?? locate();
    if (path === null) return false;
    index.db.loadExtension(path, "sqlite3_vec_init");
    return true;
  } catch (error) {
    // Apple's SQLite refuses extensions and a foreign libc refuses the file: `engine` tells, and `status` shows it.
    if (named === undefined) return false;
    index.extensionError = `sqlite-vec unavailable: ${named} could not be loaded (${messageOf(error)}).`;
    index.warnings.push(`${index.extensionError} Vectors are compared in process; correct store.vector.extensionPath.`);
    return false;
  }
}

import { lstatSync, mkdirSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { MemqError } from "../errors.ts";
import { systemHome, systemTemp } from "../system-folders.ts";

/** `$XDG_CACHE_HOME` or `~/.cache`; a relative value is ignored, as the XDG specification demands. */
export function cacheHome(env: NodeJS.ProcessEnv = process.env): string {
  const xdg = env["XDG_CACHE_HOME"];
  return xdg !== undefined && isAbsolute(xdg) ? xdg : join(env["HOME"] || systemHome(), ".cache");
}

/** Creates a folder that only its owner may enter, and its parents. Throws what the system throws. */
export function createFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}

/**
 * A folder inside the system's temporary folder that is ours alone. There anyone may have put something under its name before
 * us, so its owner and mode are checked.
 */
export function privateTempFolder(base = systemTemp()): string {
  const uid = process.getuid?.() ?? 0;
  const path = createFolder(privateTempPath(base));
  const found = lstatSync(path);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) {
    throw new MemqError("TEMP_FOLDER", `${path} is not a folder of yours alone.`, {
      hint: "Remove it, or set XDG_RUNTIME_DIR and XDG_CACHE_HOME to folders of your own.",
    });
  }
  return path;
}

/** Where `privateTempFolder` makes its folder, below `base`. */
export function privateTempPath(base: string): string {
  return join(base, `memq-${process.getuid?.() ?? 0}`);
}

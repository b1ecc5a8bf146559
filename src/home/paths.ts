import { readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { usageError } from "../errors.ts";
import { systemHome } from "../system-folders.ts";

/** Environment variables as handed to every resolver: no function here reads `process.env` itself. */
export type Env = Readonly<Record<string, string | undefined>>;

/** A variable without surrounding blanks; undefined when unset or blank. */
export function envText(env: Env, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === undefined || value === "" ? undefined : value;
}

/** The user's home folder: `HOME`, else `USERPROFILE`, else what the system says. */
export function userHome(env: Env): string {
  return envText(env, "HOME") ?? envText(env, "USERPROFILE") ?? systemHome();
}

/** `~` and `~/…` with the user's home folder in place of the tilde; anything else as it is. */
export function expandTilde(path: string, env: Env): string {
  if (path === "~") return userHome(env);
  return /^~[/\\]/.test(path) ? join(userHome(env), path.slice(2)) : path;
}

/** Absolute path of what a person wrote: tilde expanded, relative to `base`. */
export function absolutePath(path: string, base: string, env: Env): string {
  return resolve(base, expandTilde(path, env));
}

/**
 * As `absolutePath`, of what an option or a parameter names. Throws a usage error for an empty text, which a script's unset variable
 * leaves and which would otherwise mean the current folder, and for one that no path can be.
 */
export function givenPath(path: string, meaning: string, base: string, env: Env): string {
  if (path.trim() === "")
    throw usageError(`The ${meaning} is named by an empty text.`, "Leave it out for the default.");
  if (path.includes("\0")) throw usageError(`The path of the ${meaning} holds a NUL character.`);
  return absolutePath(path, base, env);
}

/** The path with every symbolic link resolved, or the path itself where nothing is there. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** As many links one after another as systems follow. */
const MOST_LINKS = 40;

/** The file that a path stands for, through every symbolic link, also where the last one leads to a file that is not there yet. */
export function linkedFile(path: string): string {
  let file = path;
  for (let followed = 0; followed < MOST_LINKS; followed++) {
    const folder = realPath(dirname(file));
    try {
      file = resolve(folder, readlinkSync(file));
    } catch {
      return join(folder, basename(file));
    }
  }
  return file;
}

/** Whether `path` is `folder` or lies below it; both absolute. */
export function isInside(path: string, folder: string): boolean {
  const root = folder.endsWith("/") ? folder : `${folder}/`;
  return path === folder || path.startsWith(root);
}

/** The path of `file` below `root` with `/` between its parts, or null when it is not below; both absolute. */
export function wayBelow(root: string, file: string): string | null {
  const path = relative(root, file);
  if (path === "" || path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path)) return null;
  return path.split(sep).join("/");
}

/** A folder of the XDG specification: the variable when it is an absolute path (relative ones are ignored), else the default. */
export function xdgFolder(env: Env, name: string, fallback: string): string {
  const value = envText(env, name);
  return value !== undefined && isAbsolute(value) ? value : join(userHome(env), fallback);
}

/** A file name as a glob pattern that matches it alone. */
export function escapedGlob(name: string): string {
  return name.replace(/[\\*?[\]{}()!+@]/g, String.raw`\$&`);
}

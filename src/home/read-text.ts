import { readFileSync, statSync } from "node:fs";
import { MemqError, reasonOf } from "../errors.ts";

/**
 * The text of a file that somebody configured. A pipe, a socket or a device is refused, since reading it could wait for ever.
 * Throws what the system throws.
 */
export function textOfFile(path: string): string {
  const stats = statSync(path);
  if (!stats.isFile() && !stats.isDirectory()) throw new Error("it is a pipe, a socket or a device, not a file");
  return readFileSync(path, "utf8");
}

/** The text of a configuration file as it stands, or null when there is none. Any other fault is `CONFIG_UNREADABLE`. */
export function configText(path: string): string | null {
  try {
    return textOfFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new MemqError("CONFIG_UNREADABLE", `The configuration file ${path} can't be read: ${reasonOf(error)}.`, {
      hint: "Check its permissions, and that it is a regular file.",
      cause: error,
    });
  }
}

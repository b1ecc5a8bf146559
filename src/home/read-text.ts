import { readFileSync, statSync } from "node:fs";

/**
 * The text of a file that somebody configured. A pipe, a socket or a device is refused, since reading it could wait for ever.
 * Throws what the system throws.
 */
export function textOfFile(path: string): string {
  const stats = statSync(path);
  if (!stats.isFile() && !stats.isDirectory()) throw new Error("it is a pipe, a socket or a device, not a file");
  return readFileSync(path, "utf8");
}

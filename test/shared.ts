import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dir, "../../shared");

/** Path of recorded or large data that only developers and CI have, or null: a test that needs it is then skipped, visibly. */
export function sharedPath(relative: string): string | null {
  const path = join(root, relative);
  return existsSync(path) ? path : null;
}

import { chmod, mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { realPath } from "./paths.ts";

/** Puts `text` in place of a file at once, or makes it; a link stays a link, and the file's mode is kept (new ones: 0600). */
export async function replaceFile(path: string, text: string): Promise<void> {
  const target = realPath(path);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  const mode = await stat(target).then(
    (stats) => stats.mode & 0o777,
    () => 0o600,
  );
  const temporary = `${target}.${process.pid}.${crypto.randomUUID().slice(0, 8)}.tmp`;
  try {
    await writeFile(temporary, text, { mode, flag: "wx", flush: true });
    // The process's mask may have taken bits away that an existing file had.
    await chmod(temporary, mode);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

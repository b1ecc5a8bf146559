import { chmod, mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { linkedFile } from "./paths.ts";

/**
 * Puts `text` in place of a file at once, or makes it; a link stays a link, and the file's mode is kept (new ones: 0600). `alongside`
 * runs when the text lies on the disk and nothing is left but to give it the file's name; what it throws leaves the file as it was.
 */
export async function replaceFile(path: string, text: string, alongside: () => void = () => {}): Promise<void> {
  const target = linkedFile(path);
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
    alongside();
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

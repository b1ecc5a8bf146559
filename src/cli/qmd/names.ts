import { realpathSync } from "node:fs";
import { isAbsolute, join, relative } from "node:path";
import type { OpenQmd } from "./open.ts";

type Place = { collection: string; path: string };

/** How a document is called: `qmd://collection/literal path`, with `?index=` where the index is not the default one. */
export function documentName({ named }: Pick<OpenQmd, "named">, { collection, path }: Place): string {
  const index = named === undefined ? "" : `?index=${encodeURIComponent(named)}`;
  return `qmd://${collection}/${path}${index}`;
}

/** Where a document's file is, every link resolved, or null when it is gone. */
export function diskPath({ qmd }: Pick<OpenQmd, "qmd">, { collection, path }: Place): string | null {
  const root = qmd.home.collections.find(({ name }) => name === collection)?.root;
  if (root === undefined) return null;
  try {
    return realpathSync(join(root, path));
  } catch {
    return null;
  }
}

/** A path as `--full-path` prints it: `./…` below the current folder, else absolute. */
export function shownPath(path: string): string {
  const way = relative(realpathSync(process.cwd()), path);
  return way === "" || way.startsWith("..") || isAbsolute(way) ? path : `./${way}`;
}

/** What is said when `--full-path` finds no file: `missing` of `total` documents. */
export function fullPathWarning(missing: number, total: number, program: string): string {
  const what = total === 1 ? "the file" : `${missing} of ${total} results`;
  return `warning: --full-path could not resolve ${what} on disk (moved or deleted since indexing); showing qmd:// + docid instead. Run '${program} update' to refresh the index.`;
}

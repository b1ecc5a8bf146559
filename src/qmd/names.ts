import { realpathSync } from "node:fs";
import { join } from "node:path";
import { MemqError } from "../errors.ts";
import { isInside, wayBelow } from "../home/paths.ts";
import type { OpenQmd } from "./open.ts";

type Place = { collection: string; path: string };

/** How a document is called: `qmd://collection/literal path`, with `?index=` where the index is not the default one. */
export function documentName({ named }: Pick<OpenQmd, "named">, { collection, path }: Place): string {
  const index = named === undefined ? "" : `?index=${encodeURIComponent(named)}`;
  return `qmd://${collection}/${path}${index}`;
}

/** Where a document's file is, every link resolved, or null when it is gone: a link out of the collection is not its file. */
export function diskPath({ qmd }: Pick<OpenQmd, "qmd">, { collection, path }: Place): string | null {
  const root = qmd.home.collections.find(({ name }) => name === collection)?.root;
  if (root === undefined) return null;
  try {
    const file = realpathSync(join(root, path));
    return isInside(file, realpathSync(root)) ? file : null;
  } catch {
    return null;
  }
}

/** A path on disk as it is shown: `./…` below the current folder, else absolute. */
export function shownPath(path: string): string {
  const way = wayBelow(realpathSync(process.cwd()), path);
  return way === null ? path : `./${way}`;
}

/** Checks the name of a collection: it stands between `qmd://` and the next slash of every document's name. */
export function checkCollectionName(name: string): void {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (name.trim() !== "" && !/[/\u0000-\u001f]/.test(name)) return;
  throw new MemqError("COLLECTION_NAME", `'${name}' can't be the name of a collection.`, {
    hint: "Choose a name without slashes.",
  });
}

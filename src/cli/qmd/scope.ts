import { MemqError } from "../../errors.ts";
import { notice } from "../output.ts";
import type { Invocation, Program } from "../parse.ts";
import { values } from "../parse.ts";
import type { OpenQmd } from "./open.ts";

/**
 * Names of the collections that a search is confined to: those given with `-c`, else all that are not excluded. An empty list means
 * that there is nothing to search, which has been said on stderr. Throws `COLLECTION_NOT_FOUND`.
 */
export function scopeOf(invocation: Invocation, { qmd, index, program }: OpenQmd): string[] {
  const known = qmd.home.collections;
  const asked = values(invocation, "collection");
  for (const name of asked) {
    if (known.some((collection) => collection.name === name)) continue;
    throw collectionNotFound(name, program);
  }
  if (asked.length > 0) return [...new Set(asked)];
  const included = known.filter(({ includeByDefault }) => includeByDefault).map(({ name }) => name);
  if (known.length === 0) notice(`No collections. Run '${program} collection add .' to create one.`);
  else if (included.length === 0) {
    notice(`Every collection is excluded: name one with -c, or run '${program} collection include <name>'.`);
  } else if (index.state === "missing") notice(`Nothing is indexed yet. Run '${program} update'.`);
  return included;
}

export function collectionNotFound(name: string, program: Program): MemqError {
  return new MemqError("COLLECTION_NOT_FOUND", `Collection not found: ${name}`, {
    hint: `Run '${program} collection list' to see available collections.`,
  });
}

/** Checks the name of a collection: it stands between `qmd://` and the next slash of every document's name. */
export function checkCollectionName(name: string): void {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (name.trim() !== "" && !/[/\u0000-\u001f]/.test(name)) return;
  throw new MemqError("COLLECTION_NAME", `'${name}' can't be the name of a collection.`, {
    hint: "Choose a name without slashes.",
  });
}

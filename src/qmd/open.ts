import { type MemqError, messageOf } from "../errors.ts";
import { type QmdHome, readQmdHome, resolveQmdHome } from "../home/qmd-home.ts";
import { documentCounts, hasDocuments } from "../store/documents.ts";
import { readRenaming } from "../store/meta.ts";
import { openIndex } from "../store/open.ts";
import type { Index } from "../store/types.ts";
import type { Program } from "../version.ts";

/** How the program that opens a home calls itself, and the way it tells people what they should know. */
type Opener = { program: Program; notice: (sentence: string) => void };

/** A qmd home with its index open for reading: what everything that only looks works with. */
export type OpenQmd = Opener & {
  qmd: QmdHome;
  index: Index;
  /** Name of the index where it is not the default one: printed names then carry `?index=`. */
  named: string | undefined;
};

/**
 * Resolves the home that the name of an index, if there is one, and the current folder lead to and opens its index. Nothing is written,
 * except that an index which only qmd has written to is made ready for searching first, once.
 */
export async function openQmd(name: string | undefined, { program, notice }: Opener): Promise<OpenQmd> {
  const qmd = await resolveQmdHome({ index: name, env: process.env, cwd: process.cwd() });
  for (const sentence of noticesOf(qmd)) notice(sentence);
  let index = openIndex(qmd.places.indexPath, { mode: "read" });
  if (index.state === "unprepared" && hasDocuments(index)) index = await prepared(index, qmd, notice);
  for (const warning of index.warnings) notice(warning);
  const halfRenamed = halfRenamedNotice(index, qmd, program);
  if (halfRenamed !== null) notice(halfRenamed);
  // The name in full: `--index ./a` means another index in every folder.
  const { indexName } = qmd.places;
  return { qmd, index, named: indexName === "index" ? undefined : indexName, program, notice };
}

/** What to say while the index has a renaming that the configuration lacks: a command was ended between the two. */
function halfRenamedNotice(index: Index, { config }: QmdHome, program: Program): string | null {
  const renaming = index.state === "ready" ? readRenaming(index) : null;
  if (renaming === null) return null;
  const { from, to } = renaming;
  const names = new Set(config.collections.map(({ name }) => name));
  if (!names.has(from) || names.has(to)) return null;
  if (documentCounts(index).some(({ collection }) => collection === from)) return null;
  return `The renaming of '${from}' to '${to}' was interrupted: nothing of '${from}' is found until '${program} update' has run.`;
}

/** Which keys of the configuration look misspelt, and which collections are left out because the project's is not trusted. */
export function noticesOf({ skipped, home }: QmdHome): string[] {
  return [
    ...home.issues,
    ...skipped.map(
      ({ name, path }) =>
        `Skipping collection '${name}' — path ${path} is outside this project and this .qmd config is not trusted.`,
    ),
  ];
}

/**
 * Names of the collections that a search is confined to: those asked for, else all that are not excluded. Throws what `notFound`
 * makes of a name that no collection has.
 */
export function searchedCollections(
  { qmd }: OpenQmd,
  asked: readonly string[],
  notFound: (name: string) => MemqError,
): string[] {
  const known = qmd.home.collections;
  const unknown = asked.find((name) => known.every((collection) => collection.name !== name));
  if (unknown !== undefined) throw notFound(unknown);
  if (asked.length > 0) return [...new Set(asked)];
  return known.filter(({ includeByDefault }) => includeByDefault).map(({ name }) => name);
}

/** How long a search waits for another one that makes the index ready: a gateway soon gives both up. */
const OTHERS_MS = 1000;

/** Another program's file: its documents are cut into passages now, and its vectors taken over, unless another writer is at it. */
async function prepared(index: Index, qmd: QmdHome, notice: Opener["notice"]): Promise<Index> {
  notice("This index has not been used by memq before: making it ready.");
  index.close();
  try {
    const [{ withWriterLock }, { syncLockedIndex }] = await Promise.all([
      import("../store/lock.ts"),
      import("../sync/sync.ts"),
    ]);
    const work = async () => {
      const { home } = await readQmdHome(qmd.places, { env: process.env, cwd: process.cwd() });
      return syncLockedIndex(home, { embed: false, patienceMs: 0 });
    };
    const { warnings, skipped } = await withWriterLock(qmd.places.indexPath, work, { timeoutMs: OTHERS_MS });
    for (const warning of warnings) notice(warning);
    const [first] = skipped;
    if (first !== undefined) notice(`Not read: ${skipped.length} file(s), ${first.path} since ${first.reason}.`);
  } catch (error) {
    notice(`${messageOf(error)} Searches find little or nothing until the index could be made ready.`);
  }
  return openIndex(qmd.places.indexPath, { mode: "read" });
}

import { MemqError } from "../../errors.ts";
import type { SearchProfile } from "../../home/types.ts";
import { notice } from "../../output.ts";
import { type OpenQmd, searchedCollections } from "../../qmd/open.ts";
import { parseTime } from "../../search/filters.ts";
import { unsyncedCollections } from "../../store/meta.ts";
import type { Hit, SearchRequest } from "../../search/types.ts";
import type { Invocation } from "../parse.ts";
import { commandName, flag, number, value, values } from "../parse.ts";
import type { Format } from "./format.ts";
import { collectionNotFound } from "./words.ts";

/** How many rows a format shows when nobody says. */
const ROWS: Partial<Record<Format, number>> = { json: 20, files: 20 };
const OTHER_ROWS = 5;
/** More documents than anybody has. */
const ALL_ROWS = 1_000_000;

/**
 * The query of a command, its words joined; of blanks alone it asks for nothing. Throws a usage error (exit 1, as qmd) when there is
 * none.
 */
export function queryOf({ words, program, command }: Invocation): string {
  const query = words.join(" ");
  if (query !== "") return query.trim();
  throw new MemqError("USAGE", `Usage: ${program} ${commandName(command)} [options] <query>`);
}

/** How many rows are wanted. */
export function limitOf(invocation: Invocation, format: Format): number {
  const asked = number(invocation, "n");
  return flag(invocation, "all") ? ALL_ROWS : (asked ?? ROWS[format] ?? OTHER_ROWS);
}

/** The least score asked for, or undefined. */
export function minScoreOf(invocation: Invocation): number | undefined {
  return number(invocation, "min-score");
}

/**
 * Names of the collections that a search is confined to: those given with `-c`, else all that are not excluded. An empty list means
 * that there is nothing to search, which has been said on stderr. Throws `COLLECTION_NOT_FOUND`.
 */
export function scopeOf(invocation: Invocation, open: OpenQmd): string[] {
  const { qmd, index, program } = open;
  const asked = values(invocation, "collection");
  const searched = searchedCollections(open, asked, (name) => collectionNotFound(name, program));
  if (qmd.home.collections.length === 0) {
    notice(`No collections. Run '${program} collection add .' to create one.`);
    // qmd's users know no other search.
    if (program === "memq") notice("An agent's memory is searched by 'memq memory search'.");
  } else if (searched.length === 0) {
    notice(`Every collection is excluded: name one with -c, or run '${program} collection include <name>'.`);
  } else if (index.state === "missing") {
    notice(`Nothing is indexed yet. Run '${program} update'.`);
  }
  return searched;
}

/** Says which of the searched collections nothing is indexed of, as of one that was written into the configuration by hand. */
export function noteUnsynced({ index, program }: OpenQmd, searched: readonly string[], hits: readonly Hit[]): void {
  // Most searches find something of each, and need not ask the index.
  const unfound = searched.filter((name) => !hits.some(({ collection }) => collection === name));
  if (index.state !== "ready" || unfound.length === 0) return;
  const [first, ...others] = unsyncedCollections(index, unfound);
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  if (first !== undefined) notice(`Nothing of '${first}'${more} is indexed yet. Run '${program} update'.`);
}

/** What all searches of the surface have in common; `limit` counts documents. */
export function requestOf(
  invocation: Invocation,
  ask: { query: string; collections: string[]; profile: SearchProfile; limit: number; deadline: number },
): SearchRequest {
  const now = Date.now();
  const since = value(invocation, "since");
  const until = value(invocation, "until");
  const tags = values(invocation, "tag");
  return {
    ...ask,
    asOf: now,
    minScore: 0,
    ...(since === undefined ? {} : { since: parseTime(since, "since", now) }),
    ...(until === undefined ? {} : { until: parseTime(until, "until", now) }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(flag(invocation, "full-path") ? { keepGone: true } : {}),
  };
}

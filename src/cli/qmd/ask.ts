import { MemqError } from "../../errors.ts";
import type { SearchProfile } from "../../home/types.ts";
import { withBegunWords } from "../../search/begun-words.ts";
import { parseTime } from "../../search/filters.ts";
import type { LineTerms } from "../../search/hunk.ts";
import { type ParsedQuery, parseQuery } from "../../search/query.ts";
import { termFinder, termPlacer } from "../../search/terms.ts";
import type { SearchRequest } from "../../search/types.ts";
import type { Index } from "../../store/types.ts";
import type { Invocation } from "../parse.ts";
import { commandName, flag, number, value, values } from "../parse.ts";
import type { Format } from "./format.ts";

/** How many rows a format shows when nobody says. */
const ROWS: Partial<Record<Format, number>> = { json: 20, files: 20 };
const OTHER_ROWS = 5;
/** More documents than anybody has. */
const ALL_ROWS = 1_000_000;

/** The query of a command, its words joined; of blanks alone it asks for nothing. Throws a usage error (exit 1, as qmd) when there is none. */
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

/** A query as a search of the index understands it. */
export function parsedFor(index: Index, query: string): ParsedQuery {
  return withBegunWords(index, parseQuery(query, "qmd"));
}

/** What makes a line of a hit worth printing: the words of the query, and of `--intent`. */
export function lineTerms(parsed: ParsedQuery, intent: string | undefined): LineTerms {
  const termsIn = termFinder(parsed);
  const terms = { termsIn, placed: termPlacer(parsed, termsIn) };
  return intent === undefined ? terms : { ...terms, intentIn: termFinder(parseQuery(intent, "plain")) };
}

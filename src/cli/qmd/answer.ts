import { notice } from "../../output.ts";
import type { OpenQmd } from "../../qmd/open.ts";
import { type Explain, lineTerms, parsedFor, rowOf } from "../../qmd/rows.ts";
import type { ParsedQuery } from "../../search/query.ts";
import type { Hit } from "../../search/types.ts";
import type { Invocation } from "../parse.ts";
import { flag } from "../parse.ts";
import { decorationFor } from "./decoration.ts";
import type { Format } from "./format.ts";
import { printRows } from "./print-rows.ts";
import { fullPathWarning } from "./words.ts";

/** Longest snippet of a format, in UTF-16 units. */
const SNIPPET_CHARS = { json: 300, other: 500 };

/**
 * Prints the hits of a search as the options say. `query` decides which lines are shown; with `--full-path` what has no file is said
 * on stderr.
 */
export function printHits(
  invocation: Invocation,
  open: OpenQmd,
  hits: readonly Hit[],
  how: {
    format: Format;
    query: string;
    /** The query as the search understood it, where that is known. */
    parsed?: ParsedQuery | undefined;
    intent?: string | undefined;
    belowMinimum?: boolean;
    explain?: Explain;
  },
): void {
  const { format, query, parsed, intent, belowMinimum = false, explain } = how;
  const fullPath = flag(invocation, "full-path");
  const terms = lineTerms(parsed ?? parsedFor(open.index, query), intent);
  const options = {
    snippetChars: format === "json" ? SNIPPET_CHARS.json : SNIPPET_CHARS.other,
    full: flag(invocation, "full"),
    fullPath,
    linked: format === "cli",
    terms,
    ...(explain ? { explain } : {}),
  };
  const rows = hits.map((hit) => rowOf(open, hit, options));
  const missing = fullPath ? rows.filter(({ docid }) => docid !== undefined).length : 0;
  if (missing > 0) notice(fullPathWarning(missing, rows.length, open.program));
  printRows(format, rows, {
    lineNumbers: flag(invocation, "line-numbers"),
    fullPath,
    belowMinimum,
    decoration: format === "cli" ? decorationFor(open, query) : undefined,
  });
}

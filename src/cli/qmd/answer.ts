import type { ParsedQuery } from "../../search/query.ts";
import type { Hit } from "../../search/types.ts";
import type { Invocation } from "../parse.ts";
import { flag } from "../parse.ts";
import { lineTerms, parsedFor } from "./ask.ts";
import { decorationFor } from "./decoration.ts";
import type { Format } from "./format.ts";
import type { OpenQmd } from "./open.ts";
import { printRows } from "./print-rows.ts";
import { type Explain, rowsOf } from "./rows.ts";

/** Prints the hits of a search as the options say. `query` decides which lines are shown. */
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
  const rows = rowsOf(open, hits, {
    format,
    full: flag(invocation, "full"),
    fullPath,
    terms,
    ...(explain ? { explain } : {}),
  });
  printRows(format, rows, {
    lineNumbers: flag(invocation, "line-numbers"),
    fullPath,
    belowMinimum,
    decoration: format === "cli" ? decorationFor(open, query) : undefined,
  });
}

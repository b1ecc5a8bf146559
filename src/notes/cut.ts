import { cutAtBreakpoints } from "./cut-breakpoints.ts";
import { cutEntries } from "./cut-entries.ts";
import { linesOf, packLines } from "./cut-lines.ts";
import type { Cutting, PassageDraft } from "./types.ts";

/** The passages of a decoded document, in order; a blank document has none. */
export function cutPassages(text: string, cutting: Cutting): PassageDraft[] {
  if (cutting.kind === "lines") return packLines(text, linesOf(text), cutting);
  if (cutting.kind === "entries") return cutEntries(text, cutting);
  return cutAtBreakpoints(text, cutting);
}

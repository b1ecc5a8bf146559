import type { ExpansionLine } from "./protocol.ts";

/**
 * The expansion that a model wrote for a query, as qmd reads it: lines of `type: text`, those without any word of the query
 * left out (all kept when none has one), those equal to the query left out. Nothing left: the query itself and a sentence.
 */
export function parsedExpansion(written: string, query: string): ExpansionLine[] {
  const lines = written.split("\n").flatMap((line) => {
    const match = /^\s*(lex|vec|hyde)\s*:(.*)$/.exec(line);
    const text = match?.[2]?.trim() ?? "";
    return match === null || text === "" ? [] : [{ type: match[1] as ExpansionLine["type"], text }];
  });
  const words: string[] = query.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const related = lines.filter(({ text }) => words.some((word) => text.toLowerCase().includes(word)));
  const useful = (related.length > 0 ? related : lines).filter(({ text }) => text !== query);
  if (useful.length > 0) return useful;
  return [
    { type: "hyde", text: `Information about ${query}` },
    { type: "lex", text: query },
    { type: "vec", text: query },
  ];
}

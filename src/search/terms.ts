import type { ParsedQuery } from "./query.ts";
import { indexTokens } from "./tokens.ts";

/** Lists the terms of a query that a text holds, each once. */
export function termFinder(parsed: ParsedQuery): (text: string) => string[] {
  const whole = new Set(parsed.terms.map((term) => term.term));
  return (text) => {
    const found = new Set<string>();
    for (const token of indexTokens(text)) {
      if (whole.has(token)) found.add(token);
    }
    return [...found];
  };
}

import type { ParsedQuery } from "./query.ts";
import { indexTokens } from "./tokens.ts";

/** Lists the terms of a query that a text holds, each once. */
export function termFinder(parsed: ParsedQuery): (text: string) => string[] {
  const whole = new Set(parsed.terms.filter((term) => !term.prefix).map((term) => term.term));
  const prefixes = parsed.terms.filter((term) => term.prefix).map((term) => term.term);
  return (text) => {
    const found = new Set<string>();
    for (const token of indexTokens(text)) {
      if (whole.has(token)) found.add(token);
      for (const prefix of prefixes) if (token.startsWith(prefix)) found.add(prefix);
    }
    return [...found];
  };
}

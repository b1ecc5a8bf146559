import type { ParsedQuery } from "./query.ts";
import { tokenFinder } from "./tokens.ts";

/** Lists the terms of a query that a text holds, each once. */
export function termFinder(parsed: ParsedQuery): (text: string) => string[] {
  const whole = new Set(parsed.terms.map((term) => term.term));
  return tokenFinder(whole);
}

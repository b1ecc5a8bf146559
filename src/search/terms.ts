import type { ParsedQuery } from "./query.ts";
import { tokenFinder } from "./tokens.ts";

/** Lists the terms of a query that a text holds, each once. */
export function termFinder(parsed: ParsedQuery): (text: string) => string[] {
  const whole = new Set(parsed.terms.map((term) => term.term));
  return tokenFinder(whole);
}

/** How many characters an inflected word shares with its form in the index, but for a few that are irregular. */
const SHARED_START = 3;

/**
 * A cheap guess whether a text may hold terms of a query, for choosing among many short texts: never wrong about texts beyond ASCII
 * that they may, wrong about an irregular word (`bought` for `buy`) that it may not.
 */
export function termGuess(parsed: ParsedQuery): (text: string) => boolean {
  const starts = new Set(parsed.terms.map(({ term }) => term.slice(0, SHARED_START)));
  const escaped = Array.from(starts, (start) => start.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`));
  const pattern = new RegExp([...escaped, String.raw`[^\0-\x7f]`].join("|"), "i");
  return (text) => pattern.test(text);
}

import type { ParsedQuery } from "./query.ts";
import { indexTokens } from "./tokens.ts";

export type TermFinder = {
  /** The query's terms that a text holds, each once. */
  termsIn: (text: string) => string[];
  /** What a term is worth: the rarer, the more. */
  termWeight: (term: string) => number;
};

/** Finds the terms of a query in texts, for snippets; frequencies are asked for only when a weight is. */
export function termFinder(parsed: ParsedQuery, frequenciesOf: (terms: string[]) => Map<string, number>): TermFinder {
  const whole = new Set(parsed.terms.filter((term) => !term.prefix).map((term) => term.term));
  const prefixes = parsed.terms.filter((term) => term.prefix).map((term) => term.term);
  let frequencies: Map<string, number> | undefined;
  return {
    termsIn: (text) => {
      const found = new Set<string>();
      for (const token of indexTokens(text)) {
        if (whole.has(token)) found.add(token);
        for (const prefix of prefixes) if (token.startsWith(prefix)) found.add(prefix);
      }
      return [...found];
    },
    termWeight: (term) => {
      frequencies ??= frequenciesOf([...whole]);
      return 1 / (1 + Math.log1p(frequencies.get(term) ?? 0));
    },
  };
}

import { parseQuery } from "../../src/search/query.ts";

/**
 * The question without the given share of its content words, as when note and question use different words. At least one word stays,
 * and which ones go depends on nothing but the seed and the question.
 */
export function withoutWords(question: string, share: number, seed: string): string {
  const words = question.split(/\s+/).filter((word) => word !== "");
  const termOf = (word: string): string => {
    const parsed = parseQuery(word, "plain");
    return parsed.onlyStopWords ? "" : parsed.terms.map(({ term }) => term).join(" ");
  };
  const content = [...new Set(words.map(termOf).filter((term) => term !== ""))];
  const order = content.toSorted((a, b) => (Bun.hash(a + seed + question) < Bun.hash(b + seed + question) ? -1 : 1));
  const gone = new Set(order.slice(0, Math.min(content.length - 1, Math.round(content.length * share))));
  return words.filter((word) => !gone.has(termOf(word))).join(" ");
}

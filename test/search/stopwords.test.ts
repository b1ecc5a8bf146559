import { expect, test } from "bun:test";
import { type Language, stopWordSurfaces } from "../../src/search/stopword-lists.ts";
import { stopWords } from "../../src/search/stopwords.ts";
import { analyse } from "../../src/search/tokens.ts";

const languages = Object.keys(stopWordSurfaces()) as Language[];

test.each(languages)("the table of %s stop words is what the tokenizer makes of the lists", (language) => {
  expect([...stopWords(language)].join(" ")).toBe(stopWordSurfaces()[language]);
});

test.each(languages)("every %s stop word has the form that words of a query have", (language) => {
  for (const word of stopWords(language)) {
    const surfaces = analyse(word).map(({ surface }) => surface);
    expect(surfaces).toContain(word);
  }
});

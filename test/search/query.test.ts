import { describe, expect, test } from "bun:test";
import { array, assert, constantFrom, oneof, property, string } from "fast-check";
import { parseQuery } from "../../src/search/query.ts";
import { indexTokens } from "../../src/search/tokens.ts";

const termsOf = (text: string, grammar: "plain" | "qmd" = "plain"): string[] =>
  parseQuery(text, grammar).terms.map((term) => term.term);

describe("stop words drop out", () => {
  test.each([
    ["When did she go to the market?", ["go", "market"]],
    ["¿Dónde están las llaves de la casa?", ["llave", "casa"]],
    ["Onde estão as chaves da cozinha?", ["chave", "cozinh"]],
    ["Où est la clé du garage ?", ["cle", "garag"]],
    ["Wo ist der Schlüssel für die Garage?", ["schlussel", "garag"]],
    ["Где ключ от сарая?", ["ключ", "сар"]],
    ["أين المفتاح", ["مفتاح"]],
    ["चाबी कहाँ है?", ["चाब"]],
  ])("%s", (text, terms) => expect(termsOf(text)).toEqual(terms));

  test("unless nothing else is left", () => {
    expect(parseQuery("who is it", "plain")).toMatchObject({ onlyStopWords: true });
    expect(termsOf("who is it")).toEqual(["who", "is", "it"]);
  });

  test("unless they are quoted", () => expect(termsOf('"to be or not"')).toEqual(["to", "be", "or", "not"]));

  test("a word of another language stays where one word alone would prove that language", () => {
    expect(termsOf("die policy")).toContain("die");
  });
});

describe("unspaced scripts", () => {
  test("pairs find, characters by themselves only add", () => {
    const { terms } = parseQuery("悬空引用", "plain");
    expect(terms.filter((term) => term.finds).map((term) => term.term)).toEqual(["悬空", "空引", "引用"]);
    expect(terms.filter((term) => !term.finds).map((term) => term.term)).toEqual(["悬", "空", "引", "用"]);
  });

  test("a lone character finds", () => expect(parseQuery("盐", "plain").match?.any).toEqual([{ tokens: ["盐"] }]));

  test("a particle halves its pair", () => {
    const weights = new Map(parseQuery("队的防守", "plain").terms.map((term) => [term.term, term.weight]));
    expect(weights.get("的防")).toBe(0.5);
    expect(weights.get("防守")).toBe(1);
    expect(weights.has("的")).toBe(false);
  });
});

describe("qmd's grammar", () => {
  test("a phrase is demanded, a minus excludes", () => {
    const { match, phrases } = parseQuery('deploy "blue green" -canary -"two words" multi-agent', "qmd");
    expect(phrases).toEqual([["blue", "green"]]);
    expect(match?.all).toEqual([{ tokens: ["blue", "green"] }]);
    expect(match?.none).toEqual([{ tokens: ["canary"] }, { tokens: ["two", "word"] }]);
    expect(match?.any.flatMap((phrase) => phrase.tokens)).toContain("multiag");
  });

  test("an unclosed quote reaches to the end", () => {
    expect(parseQuery('a "blue green', "qmd").phrases).toEqual([["blue", "green"]]);
  });

  test("exclusions alone find nothing", () => expect(parseQuery("-canary", "qmd").match).toBeNull());
});

test("in plain words a minus is nothing and a phrase is preferred only", () => {
  const { match, phrases } = parseQuery('deploy -canary "blue green"', "plain");
  expect(match?.none).toEqual([]);
  expect(match?.all).toEqual([]);
  expect(phrases).toEqual([["blue", "green"]]);
});

test("questions and notes agree on irregular forms", () => {
  expect(termsOf("where did she buy it")).toEqual(indexTokens("bought"));
});

const anyQuery = oneof(
  string({ unit: "binary", maxLength: 100 }),
  string({ unit: "grapheme", maxLength: 100 }),
  array(constantFrom('"', "-", "NEAR(", "AND", "OR", "NOT", "*", "^", ":", "{", "}", "(", ")", " ", "a", "步", "'"), {
    maxLength: 30,
  }).map((pieces) => pieces.join("")),
);

test("any string is a query, made of index tokens only", () => {
  assert(
    property(anyQuery, constantFrom("plain", "qmd"), (text, grammar) => {
      const { terms, match } = parseQuery(text, grammar);
      const tokens = new Set(indexTokens(text.replaceAll('"', " ").replaceAll(/[\u201c\u201d]/g, " ")));
      for (const { term, weight } of terms) {
        expect(term).toMatch(/^[^\s"\p{Cc}]+$/u);
        expect(weight).toBeGreaterThan(0);
        if (!text.includes('"') && !text.includes("-")) expect(tokens.has(term)).toBe(true);
      }
      expect(match === null).toBe(terms.length === 0);
    }),
  );
});

test("a phrase that was typed a thousand times was looked for as often, for half a minute", () => {
  const again = parseQuery('"a b" -c '.repeat(1000), "qmd");
  expect(again.phrases).toEqual([["a", "b"]]);
  expect(again.match).toMatchObject({ all: [{ tokens: ["a", "b"] }], none: [{ tokens: ["c"] }] });
  const many = Array.from({ length: 500 }, (_, at) => `"w${at} x"`).join(" ");
  expect(parseQuery(many, "qmd").match?.all).toHaveLength(32);
});

import { afterAll, beforeAll, expect, test } from "bun:test";
import { withBegunWords } from "../../src/search/begun-words.ts";
import { parseQuery } from "../../src/search/query.ts";
import { type TestHome, testHome } from "./homes.ts";

let home: TestHome;
beforeAll(async () => {
  home = await testHome({
    "memory/a.md": "Authentication of the gateway, and who is authorized.",
    "memory/b.md": "The configuration of the router.",
    "memory/c.md": "A gate in the garden, code aut-4711.",
    "memory/d.md": "Die Betriebskostenabrechnung liegt im Ordner.",
  });
});
afterAll(() => home.close());

const terms = (query: string): string[] =>
  withBegunWords(home.index, parseQuery(query, "qmd"))
    .terms.map(({ term }) => term)
    .sort();

test("a word that no passage holds stands for those that begin with it", () => {
  expect(terms("auth")).toEqual(["author", "authent"].sort());
  expect(terms("config gate")).toEqual(["configur", "gate"]);
  expect(withBegunWords(home.index, parseQuery("config -gate", "qmd")).match).toEqual({
    any: [{ tokens: ["configur"] }],
    all: [],
    none: [{ tokens: ["gate"] }],
  });
});

test("a word that the index knows stands for itself, and so does what is no word or begins nothing", () => {
  for (const query of ["gate", "g", "471", "zebra", '"config"', "设置"]) {
    const parsed = parseQuery(query, "qmd");
    expect(withBegunWords(home.index, parsed).match?.all ?? []).toEqual(parsed.match?.all ?? []);
    if (query !== '"config"') expect(withBegunWords(home.index, parsed)).toMatchObject(parsed);
  }
});

test("a word of two letters that no passage holds stands for those that begin with it, too", () => {
  expect(terms("ga")).toEqual(["gard", "gate", "gateway"]);
  expect(terms("ga zebra")).toEqual(["gard", "gate", "gateway", "zebra"]);
});

test("words that begin the same word bring it once", () => {
  expect(terms("auth autho")).toEqual(["author", "authent"].sort());
});

test("of a pasted log no more than a few dozen unknown words are looked at", () => {
  const letters = "bcdfghjklm";
  const unknown = Array.from({ length: 90 }, (_, at) => `zq${letters[Math.floor(at / 10)]}${letters[at % 10]}x`);
  expect(terms(`config ${unknown.join(" ")}`)).toContain("configur");
  expect(terms(`${unknown.join(" ")} config`)).not.toContain("configur");
});

test("a search by meaning read the whole vocabulary for a word that is nowhere, though vectors answer", () => {
  const parsed = parseQuery("Abrechnung", "qmd");
  expect(withBegunWords(home.index, parsed).terms).toHaveLength(1);
  expect(withBegunWords(home.index, parsed, { onlyWords: true }).terms).toHaveLength(2);
});

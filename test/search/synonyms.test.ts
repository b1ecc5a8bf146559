import { expect, test } from "bun:test";
import { keywordLeg, scoreByKeyword } from "../../src/search/keyword.ts";
import { parseQuery } from "../../src/search/query.ts";
import { alikeTermsOf } from "../../src/search/synonyms.ts";
import { testHome } from "./homes.ts";

function synonyms(query: string): string[] {
  return alikeTermsOf(parseQuery(query, "plain").terms).synonyms.map(({ term }) => term);
}

test("words that may mean the same are known, most likely first, and those of the query are none", () => {
  expect(synonyms("movie")[0]).toBe("pic");
  expect(synonyms("movie")).toContain("film");
  expect(synonyms("movie film")).not.toContain("film");
  for (const query of ["john", "NOTE-4711", "黑豹队", "xyzzy", ""]) expect(synonyms(query)).toEqual([]);
});

test("likeness lies between nothing and the word itself", () => {
  const { synonyms: same, neighbours } = alikeTermsOf(parseQuery("begin a job with the kid in a car", "plain").terms);
  expect(neighbours.length).toBeGreaterThan(0);
  for (const { likeness } of [...same, ...neighbours]) {
    expect(likeness).toBeGreaterThan(0);
    expect(likeness).toBeLessThan(1);
  }
});

test("a neighbour of several words is the closest one's, and no synonym too", () => {
  const { synonyms: same, neighbours } = alikeTermsOf(parseQuery("guitar piano violin", "plain").terms);
  const terms = neighbours.map(({ term }) => term);
  expect(terms).toContain("drum");
  expect(new Set(terms).size).toBe(terms.length);
  for (const { term } of same) expect(terms).not.toContain(term);
  for (const own of ["guitar", "piano", "violin"]) expect(terms).not.toContain(own);
});

test("of notes without a word, one with a neighbour of it stands before one with none, which it finds nowhere", async () => {
  const home = await testHome({
    "memory/a.md": "Ann plays the violin on Sundays.\n",
    "memory/b.md": "Ann plays in the garden on Sundays.\n",
    "memory/c.md": "Bob repaired the violin.\n",
    "memory/d.md": "Ann plays some instrument on Sundays.\n",
  });
  const { hits } = await home.ask("Which instrument does Ann play on Sundays?");
  expect(hits.map(({ path }) => path)).toEqual(["memory/d.md", "memory/a.md", "memory/b.md"]);
  home.close();
});

test("a note with the word stands before one with a synonym, which stands before one with neither", async () => {
  const home = await testHome({
    "memory/a.md": "Ann sold her green car and walks to work now.\n",
    "memory/b.md": "Ann sold her green automobile and walks to work now.\n",
    "memory/c.md": "Ann sold her green guitar and walks to work now.\n",
  });
  const { hits } = await home.ask("Who sold a green car?");
  expect(hits.map(({ path }) => path)).toEqual(["memory/a.md", "memory/b.md", "memory/c.md"]);
  home.close();
});

test("where no note has the word, one with a synonym is found", async () => {
  const home = await testHome({
    "memory/a.md": "Her automobile is in the garage.\n",
    "memory/b.md": "The weather was fine.\n",
  });
  const { hits } = await home.ask("car");
  expect(hits.map(({ path }) => path)).toEqual(["memory/a.md"]);
  home.close();
});

test("a synonym of two words of a query counts for each of them, not for the last one alone", async () => {
  const home = await testHome({
    "memory/a.md": "The youngster liked the park.\n",
    "memory/b.md": "A kid ran.\n",
    "memory/c.md": "Another kid sang.\n",
    "memory/d.md": "One child slept.\n",
  });
  const scope = { collections: ["memory"], limit: 10 };
  const [note] = keywordLeg(home.index, parseQuery("youngster", "plain"), scope);
  const scoreOf = (query: string): number =>
    scoreByKeyword(home.index, parseQuery(query, "plain"), [note!.passageId]).get(note!.passageId)!;
  const [kid, child] = [scoreOf("park kid"), scoreOf("park child")];
  expect(scoreOf("park kid child")).toBeCloseTo(scoreOf("park child kid"), 10);
  expect(scoreOf("park kid child")).toBeGreaterThan(Math.max(kid, child));
  home.close();
});

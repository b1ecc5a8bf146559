import { afterAll, describe, expect, test } from "bun:test";
import { array, assert, asyncProperty, oneof, string } from "fast-check";
import { type KeywordHit, keywordLeg, scoreByKeyword } from "../../src/search/keyword.ts";
import { parseQuery } from "../../src/search/query.ts";
import { analyse } from "../../src/search/tokens.ts";
import { documentsById } from "../../src/store/documents.ts";
import { type Notes, type TestHome, testHome } from "./homes.ts";
import { workMeter } from "../work.ts";

const homes: TestHome[] = [];
async function homeWith(notes: Notes): Promise<TestHome> {
  const home = await testHome(notes);
  homes.push(home);
  return home;
}
afterAll(() => {
  for (const home of homes) home.close();
});

function ask(home: TestHome, query: string, grammar: "plain" | "qmd" = "plain"): (KeywordHit & { path: string })[] {
  const collections = home.home.collections.map((collection) => collection.name);
  const hits = keywordLeg(home.index, parseQuery(query, grammar), { collections, limit: 200 });
  const documents = documentsById(home.index, [...new Set(hits.map((hit) => hit.documentId))]);
  return hits.map((hit) => Object.assign(hit, { path: documents.get(hit.documentId)?.path ?? "" }));
}
const paths = (home: TestHome, query: string, grammar: "plain" | "qmd" = "plain"): string[] =>
  ask(home, query, grammar).map((hit) => hit.path);

const scripts = await homeWith({
  "memory/a.md": "步2 重跑gen-itgc后50条悬空引用清零",
  "memory/b.md": "할머니는 부산에서 서점을 하셨다",
  "memory/c.md": "味噌汁には煮干しで出汁をとる",
  "memory/d.md": "ช่างซ่อมหลังคาจะมาวันเสาร์",
});

describe("row 6: Chinese, Japanese and Korean words are found", () => {
  test.each([
    ["悬空", "memory/a.md"],
    ["itgc", "memory/a.md"],
    ["清", "memory/a.md"],
    ["부산", "memory/b.md"],
    ["서점은 어디?", "memory/b.md"],
    ["煮干し", "memory/c.md"],
    ["หลังคา", "memory/d.md"],
  ])("%s", (query, path) => expect(paths(scripts, query)[0]).toBe(path));
  test("what is not there is not found", () => expect(paths(scripts, "静默")).toEqual([]));
});

const identifiers = await homeWith({
  "memory/a.md": "On 2026-03-31 the wrong-book fault in gateway/run.py was closed; release 1.0.21, then 2026.4.10.",
  "memory/b.md":
    "It's @nasa who asked why C++ is at 50% in a,b. TODO: fix e=mc2 for user@host, see docs/SYNTAX.md #tag",
  "memory/c.md": "The page https://x.dev/a?b=1 holds foo:bar and NEAR( and AND and *.",
});

describe("rows 7 to 10: no character is syntax, identifiers are found as they are written", () => {
  test.each([
    ["2026-03-31", "memory/a.md"],
    ["wrong-book", "memory/a.md"],
    ["wrong book", "memory/a.md"],
    ["gateway/run.py", "memory/a.md"],
    ["run.py", "memory/a.md"],
    ["1.0.21", "memory/a.md"],
    ['"1.0.21"', "memory/a.md"],
    ["2026.4.10", "memory/a.md"],
    ["it's", "memory/b.md"],
    ["@nasa", "memory/b.md"],
    ["C++", "memory/b.md"],
    ["50%", "memory/b.md"],
    ["a,b", "memory/b.md"],
    ["TODO: fix", "memory/b.md"],
    ["e=mc2", "memory/b.md"],
    ["user@host", "memory/b.md"],
    ["docs/SYNTAX.md", "memory/b.md"],
    ["#tag", "memory/b.md"],
    ["https://x.dev/a?b=1", "memory/c.md"],
    ["foo:bar", "memory/c.md"],
    ["NEAR(", "memory/c.md"],
  ])("%s", (query, path) => {
    for (const grammar of ["plain", "qmd"] as const) expect(paths(identifiers, query, grammar)[0]).toBe(path);
  });
  test.each(['"', "*", "^", "()", "-", "'", '""', "\0"])("%p finds nothing and fails nowhere", (query) => {
    for (const grammar of ["plain", "qmd"] as const) expect(paths(identifiers, query, grammar)).toEqual([]);
  });
});

const ranked = await homeWith({
  "memory/exact.md": "ticket ZX-4411 is closed",
  "memory/near.md":
    "ZX is a code. 4411 is a ticket number, and this ticket is about tickets, a ticket like any ticket.",
  "memory/phrase.md":
    "A long note on many things in which a blue green deployment is mentioned once among other words of no weight.",
  "memory/words.md": "green or blue, blue or green: deployment",
  "memory/close.md": "The boiler pressure fell. " + "Nothing else happened that day in the house. ".repeat(8),
  "memory/apart.md":
    "The boiler is old. " + "Nothing else happened that day in the house. ".repeat(8) + "Air pressure rose.",
});

describe("ranking", () => {
  test("an exact rare identifier stands before looser matches", () => {
    expect(ask(ranked, "ticket ZX-4411")[0]).toMatchObject({ path: "memory/exact.md", exact: true });
  });
  test("a quoted phrase is exact, its words apart are not", () => {
    const hits = ask(ranked, '"blue green" deployment');
    expect(hits.find((hit) => hit.path === "memory/phrase.md")?.exact).toBe(true);
    expect(hits.find((hit) => hit.path === "memory/words.md")?.exact).toBe(false);
  });
  test("qmd's grammar demands the phrase and leaves out what is excluded", () => {
    expect(paths(ranked, '"blue green" deployment', "qmd")).toEqual(["memory/phrase.md"]);
    expect(paths(ranked, "ticket -closed", "qmd")).toEqual(["memory/near.md"]);
  });
  test("words that stand together count more than words apart", () => {
    expect(paths(ranked, "boiler pressure").slice(0, 2)).toEqual(["memory/close.md", "memory/apart.md"]);
  });
  test("row 56: a better match has a better score, and two notes score as sensibly as many", async () => {
    const two = await homeWith({
      "memory/a.md": "espresso espresso machine",
      "memory/b.md": "espresso and other drinks of the day",
    });
    const [first, second] = ask(two, "espresso machine");
    expect(first?.path).toBe("memory/a.md");
    expect(first!.bm25).toBeGreaterThan(second!.bm25);
    expect(second!.bm25).toBeGreaterThan(1);
  });
  test("a passage found by another leg gets the same score", () => {
    const parsed = parseQuery("boiler pressure", "plain");
    const hits = ask(ranked, "boiler pressure");
    const scores = scoreByKeyword(ranked.index, parsed, [...hits.map((hit) => hit.passageId), 999_999]);
    expect([...scores]).toEqual(hits.map((hit) => [hit.passageId, hit.bm25]));
  });
});

test("every word of a note finds the note", async () => {
  const home = await homeWith({});
  let number = 0;
  await assert(
    asyncProperty(
      array(oneof(string({ unit: "grapheme", maxLength: 12 }), string({ unit: "binary", maxLength: 8 })), {
        maxLength: 8,
      }),
      async (words) => {
        const path = `memory/n${number++}.md`;
        const text = words.join(" ").replaceAll(/<!--|-->|\p{Cc}/gu, " ");
        home.write({ [path]: text });
        await home.sync();
        for (const { surface } of analyse(text)) expect(paths(home, surface)).toContain(path);
      },
    ),
    { numRuns: 12 },
  );
}, 20_000);

describe("a very long query", () => {
  test("is searched by its beginning and its rarest words, in little time, and the answer says so", async () => {
    const notes = Object.fromEntries(
      Array.from({ length: 300 }, (_, n) => [`memory/n${n}.md`, `Note w${n} w${n + 1} about common things.`]),
    );
    const home = await homeWith(notes);
    const words = Array.from({ length: 100_000 }, (_, n) => `w${n + 7}`).join(" ");
    const spent = workMeter();
    const answer = await home.ask(words);
    expect(spent()).toBeLessThan(3000);
    expect(answer.hits.length).toBeGreaterThan(0);
    expect(answer.notices.join(" ")).toContain("The query is long");
  });
});

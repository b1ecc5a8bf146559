import { expect, test } from "bun:test";
import { array, assert, constantFrom, oneof, property, string, uniqueArray } from "fast-check";
import { parseQuery } from "../../src/search/query.ts";
import { knownRunScorer, type RunCounts, runScorer, runsSearchedIn, runsWalkedIn } from "../../src/search/runs.ts";
import { indexTokenString } from "../../src/search/tokens.ts";

function runsOf(question: string, notes: string[]): number[] {
  const bodies = notes.map(indexTokenString);
  return bodies.map(runScorer(parseQuery(question, "plain"), bodies));
}

test("a form that the stemmer keeps apart is preferred to a word that only shares a beginning", () => {
  const [related, other] = runsOf("biomaterials with inductive properties", [
    "An inducer of growth in a biomaterial composite.",
    "A bicycle with an industrial frame of steel.",
  ]);
  expect(related!).toBeGreaterThan(other!);
});

test("words that stand side by side as in the question count, little ones too", () => {
  const [sideBySide, apart] = runsOf("When did she go to the support group?", [
    "She will go to the support group again in May.",
    "The group was of support; to whom she will go is open.",
  ]);
  expect(sideBySide!).toBeGreaterThan(apart!);
});

test("what all passages share says nothing, and a text is worth the same whoever asks", () => {
  const query = parseQuery("gateway deploy", "plain");
  const bodies = ["gateway deploy today", "gateway deploy again", "gateway deploy"].map(indexTokenString);
  const score = runScorer(query, bodies);
  expect(score(bodies[0]!)).toBe(0);
  expect(knownRunScorer(query)!(bodies[0]!)).toBe(score(bodies[0]!));
  expect(knownRunScorer(parseQuery("gateway deploy", "plain"))).toBeNull();
});

test("notes that are copies of each other lose nothing by their runs", () => {
  const notes = [...Array.from({ length: 20 }, () => "Deployment pipeline checklist."), "Other words altogether."];
  const long = `deployment pipeline ${Array.from({ length: 60 }, (_, at) => `q${at}z`).join(" ")}`;
  for (let asked = 0; asked < 7; asked++) {
    for (const question of ["deployment pipeline", long]) {
      const sums = runsOf(question, notes);
      expect(sums[0]!).toBeGreaterThan(0);
      expect(sums.at(-1)).toBe(0);
    }
  }
});

test("the first question and a later one rank the same", () => {
  const notes = Array.from(
    { length: 12 },
    (_, at) => `Deployment ${at} of pipelines, checked by ${"review ".repeat(at % 4)}and deployed.`,
  );
  const long =
    "who deployed the pipelines that were checked by a reviewer and which deployments have not been reviewed or checked since";
  const order = (sums: number[]): number[] =>
    sums
      .map((sum, at) => ({ sum: Math.round(sum * 1e9), at }))
      .sort((a, b) => b.sum - a.sum || a.at - b.at)
      .map(({ at }) => at);
  for (const question of ["deployed pipelines", long]) {
    const first = order(runsOf(question, notes));
    for (let asked = 0; asked < 7; asked++) expect(order(runsOf(question, notes))).toEqual(first);
  }
});

test("scripts without blanks have no runs", () => {
  expect(runsOf("黑豹队的防守丢了多少分", ["黑豹队的防守丢了分", "今天天气很好"])).toEqual([0, 0]);
});

test("searching for runs and walking over a text count the same, whatever words stand in both", () => {
  const character = constantFrom("a", "b", " ", "0", "é", "я", "\u{1f600}", "\ud83d");
  const text = (minLength: number, maxLength: number) =>
    array(character, { minLength, maxLength }).map((characters) => characters.join(""));
  const word = constantFrom("abababab", "ababababab", "aaaaaaaa", "baaaaaab", "яяяяяяяя", "ab", "a", "b00b00b0");
  const words = array(word, { minLength: 1, maxLength: 5 }).map((some) => some.join(" "));
  const runsOfWords = words.map((some) => [
    some,
    Array.from({ length: some.length - 2 }, (_, at) => ` ${some} `.slice(at, at + 5)),
  ]);
  const loose = uniqueArray(text(5, 8).map((characters) => characters.slice(0, 5))).map((runs) => ["", runs]);
  const bodies = array(oneof(text(0, 60), words, string()).map((body) => body.replaceAll("\n", " ")));
  const eachRun = ({ held, unitOf }: RunCounts, bodies: string[]): number[][] =>
    bodies.map((_, nth) => unitOf.map((unit) => held[unit]?.find(({ body }) => body === nth)?.count ?? 0));
  assert(
    property(bodies, oneof(runsOfWords, loose), (some, [asked, runs]) => {
      const wanted = [...new Set(runs as string[])].filter(({ length }) => length === 5);
      const searched = runsSearchedIn(some, wanted, asked as string);
      expect(eachRun(searched, some)).toEqual(eachRun(runsWalkedIn(some, wanted), some));
    }),
    { numRuns: 500 },
  );
});

test("any text and any question have a finite sum, never less than nothing", () => {
  assert(
    property(string({ unit: "grapheme" }), array(string({ unit: "grapheme" })), (question, notes) => {
      for (const sum of runsOf(question, notes)) expect(sum >= 0 && Number.isFinite(sum)).toBe(true);
    }),
  );
});

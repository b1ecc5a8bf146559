import { expect, test } from "bun:test";
import { array, assert, constantFrom, integer, property } from "fast-check";
import { hunkOf, type LineTerms } from "../../src/search/hunk.ts";
import { parseQuery } from "../../src/search/query.ts";
import { termFinder, termPlacer } from "../../src/search/terms.ts";
import { workMeter } from "../work.ts";

/** One word is looked for. */
const terms: LineTerms = {
  termsIn: (text) => (text.includes("heron") ? ["heron"] : []),
  placed: (text) => (from, to) => (text.slice(from, to).includes("heron") ? ["heron"] : []),
};

test("a document that is not taken apart has the line numbers of one that is", () => {
  const line = constantFrom("", "a", "a heron", "\r", "x".repeat(40));
  assert(
    property(
      array(line, { maxLength: 12 }),
      integer({ min: -1, max: 16 }),
      integer({ min: -1, max: 16 }),
      (...given) => {
        const [lines, startLine, endLine] = given;
        const all = lines.join("\n").split("\n");
        const hunk = hunkOf({ body: all.join("\n"), startLine, endLine, pos: 0, length: 0 }, 1000, terms);
        expect(hunk.text).toBe(all.slice(hunk.startLine - 1, hunk.endLine).join("\n"));
        const [before, after] = [hunk.startLine - 1, all.length - hunk.endLine];
        expect(hunk.header).toBe(
          `@@ -${hunk.startLine},${hunk.endLine - before} @@ (${before} before, ${after} after)`,
        );
        const first = Math.min(Math.max(1, startLine), all.length);
        const last = Math.min(Math.max(first, endLine), all.length);
        const passage = all.slice(first - 1, last);
        const told = passage.findIndex((text) => text.includes("heron"));
        const filled = passage.findIndex((text) => text.trim() !== "");
        expect(hunk.line).toBe(first + Math.max(0, told >= 0 ? told : filled));
      },
    ),
    { numRuns: 1000 },
  );
});

/** The terms of a query, as surfaces look for them. */
function termsOf(query: string): LineTerms {
  const parsed = parseQuery(query, "qmd");
  const termsIn = termFinder(parsed);
  return { termsIn, placed: termPlacer(parsed, termsIn) };
}

test.each([
  ["words", "heron pond w77 data "],
  ["no blank", '{"heron":"pond","w77":1},'],
  ["beyond ASCII", "heron étang w77 data "],
])("a hit in a line of megabytes is shown as fast as any other: %s", (_, unit) => {
  const line = unit.repeat(200_000);
  const passage = { pos: 6 + 2_000_000, length: 3600, startLine: 3, endLine: 3 };
  const spent = workMeter();
  const hunk = hunkOf({ body: `# Log\n\n${line}\nlast\n`, ...passage }, 300, termsOf("heron data"));
  expect(spent()).toBeLessThan(1000);
  expect(hunk.header).toBe("@@ -3,1 @@ (2 before, 2 after)");
  expect(hunk.text).toContain("heron");
  expect(hunk.text.endsWith("...")).toBe(true);
  expect(hunk.text.length).toBeLessThanOrEqual(300);
  expect(hunk.matches).toBe(true);
});

test("of a very long line the passage's own part is shown, whatever else the line holds", () => {
  const filler = "nothing of note ".repeat(20_000);
  const body = `${filler}heron alone ${filler}heron here in the reeds ${filler}`;
  const pos = body.indexOf("heron here") - 1000;
  const hunk = hunkOf({ body, pos, length: 3600, startLine: 1, endLine: 1 }, 300, termsOf("heron reeds"));
  expect(hunk.text).toContain("heron here in the reeds");
});

test("a very long line beside the passage hides none of the passage's own", () => {
  const filler = "nothing of note ".repeat(20_000);
  const body = `${filler}\nthe heron\n${filler}\n${filler}`;
  const pos = body.indexOf("the heron");
  const hunk = hunkOf({ body, pos, length: 9, startLine: 2, endLine: 2 }, 300, termsOf("heron"));
  expect(hunk).toMatchObject({ line: 2, matches: true });
  expect(hunk.text).toContain("the heron\n");
});

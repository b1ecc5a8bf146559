import { expect, test } from "bun:test";
import { array, assert, constantFrom, integer, property } from "fast-check";
import { hunkOf, type LineTerms } from "../../src/search/hunk.ts";

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
        const hunk = hunkOf({ body: all.join("\n"), startLine, endLine }, 1000, terms);
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

import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { join } from "node:path";
import { keywordCandidates, tokensOf } from "../../src/store/keyword.ts";
import { openIndex } from "../../src/store/open.ts";
import type { Index, KeywordMatch } from "../../src/store/types.ts";
import { writeDocuments } from "../../src/store/write-documents.ts";
import { temporaryFolder } from "../temporary.ts";
import { draftOf } from "./helpers.ts";

function indexOf(...texts: string[]): Index {
  const index = openIndex(join(temporaryFolder(), "index.sqlite"), { mode: "write" });
  writeDocuments(
    index,
    texts.map((text, i) => draftOf("memory", `${i}`, text)),
  );
  return index;
}

function found(index: Index, match: KeywordMatch): string[] {
  const hits = keywordCandidates(index, match, { collections: ["memory"], limit: 100 });
  const tokens = tokensOf(
    index,
    hits.map((hit) => hit.passageId),
  );
  return hits.map((hit) => tokens.get(hit.passageId)?.body ?? "").sort();
}

/** Anything that may stand in a token: no blank, nothing that lower-casing in the index would change. */
const token = fc
  .oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 12 }),
    fc.constantFrom(
      '"',
      "''",
      "-a",
      "*",
      "^x",
      "or",
      "and",
      "not",
      "near(a",
      "body:x",
      "{a",
      "a.b-c_d",
      "c++",
      "$5",
      "名前",
      'a"b',
      "(",
      ")",
    ),
  )
  .map((text) => text.toLowerCase().replaceAll(/[\s\p{Cc}]/gu, ""))
  .filter((text) => text !== "" && text === text.toLowerCase() && text.isWellFormed());

test("any token finds the passage that holds it, and no other", () => {
  fc.assert(
    fc.property(token, (word) => {
      const index = indexOf(`before ${word} after`, "nothing of that");
      expect(found(index, { any: [{ tokens: [word] }] })).toContain(`before ${word} after`);
      expect(found(index, { any: [{ tokens: [`${word}x`] }] })).toEqual([]);
      expect(found(index, { any: [{ tokens: ["before", word, "after"] }] })).toEqual([`before ${word} after`]);
      index.close();
    }),
    { numRuns: 25 },
  );
});

test("no bytes whatever are syntax", () => {
  const index = indexOf("alpha beta", "gamma");
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary", maxLength: 20 }), { maxLength: 4 }), (tokens) => {
      const phrase = { tokens };
      for (const match of [
        { any: [phrase] },
        { any: [], all: [phrase] },
        { any: [{ tokens: ["alpha"] }], none: [phrase] },
      ]) {
        expect(() => found(index, match)).not.toThrow();
      }
    }),
  );
  index.close();
});

test("phrases, demands and exclusions", () => {
  const index = indexOf("red green blue", "green red", "greenish", "blue");
  const words = (...tokens: string[]): { tokens: string[] } => ({ tokens });
  expect(found(index, { any: [words("red", "green")] })).toEqual(["red green blue"]);
  expect(found(index, { any: [], all: [words("red"), words("green")], none: [words("blue")] })).toEqual(["green red"]);
  expect(found(index, { any: [words("greenish"), words("blue")] })).toEqual(["blue", "greenish", "red green blue"]);
  expect(found(index, { any: [words("absent")], all: [words("red")] })).toEqual([]);
  expect(found(index, { any: [], none: [words("red")] })).toEqual([]);
  index.close();
});

import { expect, test } from "bun:test";
import { candidatesOfLists, type QueryList } from "../../src/search/lists.ts";

/** `count` lists of a leg, each with passages of its own; `asked` gets what they score beyond that. */
function separateLists(count: number, asked: number[][]): QueryList[] {
  return Array.from({ length: count }, (_, list) => ({
    source: "fts" as const,
    queryType: "lex" as const,
    query: `line ${list}`,
    weight: list === 0 ? 1 : 0.5,
    hits: Array.from({ length: 100 }, (_, place) => {
      const passageId = list * 100 + place;
      return { passageId, documentId: passageId, score: 100 - place, exact: false };
    }),
    scoresOf(ids) {
      asked.push(ids);
      return new Map(ids.map((id) => [id, 1]));
    },
  }));
}

test("each list scored what all the others found, which grew with the square of their number", () => {
  const asked: number[][] = [];
  const candidates = candidatesOfLists(separateLists(20, asked), true);
  expect(candidates).toHaveLength(2000);
  expect(Math.max(...asked.map(({ length }) => length))).toBeLessThanOrEqual(400);
  // The best of every list are scored by all.
  expect(
    asked.every((ids, list) =>
      Array.from({ length: 20 }, (_, at) => at * 100).every((id) => id === list * 100 || ids.includes(id)),
    ),
  ).toBe(true);
});

test("a few lists score all that any of them found", () => {
  const asked: number[][] = [];
  candidatesOfLists(separateLists(4, asked), true);
  expect(asked.map(({ length }) => length)).toEqual([300, 300, 300, 300]);
});

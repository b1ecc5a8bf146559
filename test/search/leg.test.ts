// Long documents and the passages of a leg that counts documents.
import { afterAll, expect, test } from "bun:test";
import { keywordLeg } from "../../src/search/keyword.ts";
import { enough } from "../../src/search/leg.ts";
import { parseQuery } from "../../src/search/query.ts";
import { testHome } from "./homes.ts";

const long = (name: string): string =>
  Array.from(
    { length: 3000 },
    (_, n) => `The hedgehog of ${name} walked, turn ${n}. ${"So it went on. ".repeat(24)}\n\n`,
  ).join("");
const short = Object.fromEntries(
  Array.from({ length: 6 }, (_, n) => [`memory/short${n}.md`, `# Note ${n}\n\nOf many things, one was a hedgehog.\n`]),
);
const home = await testHome({ "memory/a.md": long("a"), "memory/b.md": long("b"), ...short });
afterAll(() => home.close());

const query = parseQuery("hedgehog", "plain");
const scope = { collections: home.home.collections.map(({ name }) => name), limit: 20 };
const documentsOf = (hits: { documentId: number }[]): number[] => [...new Set(hits.map((hit) => hit.documentId))];

test("long documents keep no other out, and are not read whole for that", () => {
  const all = keywordLeg(home.index, query, { ...scope, limit: 10_000 });
  expect(all.length).toBeGreaterThan(1000);
  const hits = keywordLeg(home.index, query, { ...scope, documents: 8 });
  expect(documentsOf(hits)).toHaveLength(8);
  expect(hits.length).toBeLessThan(all.length / 2);
  // Ranks are those of a leg that reads everything.
  expect(documentsOf(hits)).toEqual(documentsOf(all));
  const best = (id: number) => (found: { documentId: number; bm25: number }[]) =>
    found.find(({ documentId }) => documentId === id)?.bm25;
  for (const id of documentsOf(hits)) expect(best(id)(hits)).toBe(best(id)(all));
});

test("nothing more is asked for where the first passages belong to enough documents, or there are no more", () => {
  const asked: number[] = [];
  const find = (documentIds: number[]) => {
    asked.length = 0;
    return enough(home.index, { ...scope, limit: 3, documents: 2 }, ({ limit }) => {
      asked.push(limit);
      return documentIds.slice(0, limit).map((documentId) => ({ documentId }));
    });
  };
  expect(find([1, 1, 2, 2, 2])).toHaveLength(3);
  expect(asked).toEqual([3]);
  expect(find([1, 1])).toHaveLength(2);
  expect(asked).toEqual([3]);
  expect(find([1, 1, 1, 1])).toHaveLength(4);
  expect(asked).toEqual([3, 24]);
});

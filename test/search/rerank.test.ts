import { expect, test } from "bun:test";
import { reranked } from "../../src/search/rerank.ts";
import type { Hit } from "../../src/search/types.ts";

const hit = (id: number): Hit => ({
  passageId: id,
  documentId: id,
  collection: "notes",
  path: `${id}.md`,
  title: "",
  hash: "",
  startLine: 1,
  endLine: 1,
  pos: 0,
  length: 6,
  score: 1,
  text: `text ${id}`,
  body: `text ${id}`,
  snippet: { text: "", startLine: 1, endLine: 1 },
});
const hits = Array.from({ length: 45 }, (_, index) => hit(index + 1));
const later = (): number => Date.now() + 5000;

test("position decides together with the reranker, what was not judged follows", async () => {
  const likesFifth = async (_: string, texts: string[]): Promise<number[]> =>
    texts.map((_text, i) => (i === 4 ? 1 : 0));
  const ordered = await reranked("q", hits, likesFifth, later());
  if (typeof ordered === "string") throw new Error(ordered);
  expect(ordered.slice(0, 3).map((row) => row.passageId)).toEqual([1, 5, 2]);
  expect(ordered[0]?.score).toBeCloseTo(0.75, 12);
  expect(ordered[1]?.score).toBeCloseTo(0.6 / 5 + 0.4, 12);
  expect(ordered.slice(40).map((row) => row.passageId)).toEqual([41, 42, 43, 44, 45]);
});

test("one that fails or is not done by the deadline is left out, and it is told which", async () => {
  const broken = () => Promise.reject(new Error("m.gguf is cut off"));
  expect(await reranked("q", hits, broken, later())).toBe("Not reranked: m.gguf is cut off.");
  const slow = await reranked("q", hits, () => new Promise(() => {}), Date.now() + 10);
  expect(slow).toBe("Not reranked: the reranker was not done in time.");
  expect(await reranked("q", [], () => Promise.reject(new Error("not asked")), later())).toEqual([]);
});

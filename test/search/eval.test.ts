import { expect, test } from "bun:test";
import { join } from "node:path";
import { failures, readFloors } from "../../scripts/eval/gate.ts";
import { judge, percentile } from "../../scripts/eval/measures.ts";
import { runSet } from "../../scripts/eval/run.ts";
import { readSet } from "../../scripts/eval/sets.ts";

const folder = join(import.meta.dir, "../fixtures/eval");

test("the small set stays above its recorded floors", async () => {
  const results = await runSet(readSet(folder, "home"), { stages: ["leg", "keyword"], provider: null });
  expect(failures(results, readFloors(join(folder, "floors.json")), ["home"])).toEqual([]);
}, 20_000);

test("measures are those of the textbook", () => {
  expect(judge(["a", "b", "c"], ["b"])).toEqual({
    ndcg10: 1 / Math.log2(3),
    recall5: 1,
    recall10: 1,
    mrr10: 0.5,
    empty: 0,
  });
  expect(judge(["x", "y", "z", "u", "v", "a"], ["a", "b"])).toMatchObject({ recall5: 0, recall10: 0.5, mrr10: 1 / 6 });
  expect(judge([], ["a"])).toEqual({ ndcg10: 0, recall5: 0, recall10: 0, mrr10: 0, empty: 1 });
  expect(percentile([3, 1, 2], 0.5)).toBe(2);
});

test("a figure under its floor is named", async () => {
  const [result] = await runSet(readSet(folder, "home"), { stages: ["leg"], provider: null });
  expect(failures([result!], { home: { leg: { ndcg10: 1.1, empty: 0.5 } } }, ["home"])).toHaveLength(1);
}, 20_000);

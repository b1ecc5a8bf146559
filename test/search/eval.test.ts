import { expect, test } from "bun:test";
import { join } from "node:path";
import { failures, readFloors } from "../../scripts/eval/gate.ts";
import { percentile } from "../../scripts/bench/timing.ts";
import { judge } from "../../scripts/eval/measures.ts";
import { startEmbedder } from "../../scripts/eval/embedder.ts";
import { runHybrid } from "../../scripts/eval/hybrid.ts";
import { runSet } from "../../scripts/eval/run.ts";
import { readSet } from "../../scripts/eval/sets.ts";
import { withoutWords } from "../../scripts/eval/withhold.ts";
import { standIn } from "../embed/servers/stand-in.ts";
import { openAiWire } from "../embed/servers/wires.ts";

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

test("a share of a question's content words is withheld, the same ones each time", () => {
  const question = "When did Caroline go to the support group for painters in Valencia?";
  const kept = withoutWords(question, 0.6, "seed");
  expect(kept).toBe(withoutWords(question, 0.6, "seed"));
  const content = ["Caroline", "go", "support", "group", "painters", "Valencia?"];
  const left = content.filter((word) => kept.split(" ").includes(word));
  expect(left.length).toBeGreaterThanOrEqual(2);
  expect(left.length).toBeLessThan(4);
  expect(withoutWords("Valencia?", 0.6, "seed")).toBe("Valencia?");
});

test("legs and fusions are compared through a server of embeddings", async () => {
  const server = standIn(openAiWire);
  const embedder = await startEmbedder(`${server.origin}/v1#any`);
  const results = await runHybrid(readSet(folder, "home"), embedder.config);
  await server.stop();
  expect(results.filter(({ withheld }) => withheld === 0).map(({ way }) => way)).toContain("weighted");
  const keyword = results.find(({ way, withheld }) => way === "keyword" && withheld === 0);
  const vector = results.find(({ way, withheld }) => way === "vector" && withheld === 0);
  expect(keyword!.ndcg10).toBeGreaterThan(vector!.ndcg10);
  const relative = results.find(({ way, withheld }) => way === "relative" && withheld === 0);
  expect(relative!.gain![0]).toBeCloseTo(relative!.ndcg10 - keyword!.ndcg10, 10);
}, 20_000);

test("a figure under its floor is named", async () => {
  const [result] = await runSet(readSet(folder, "home"), { stages: ["leg"], provider: null });
  expect(failures([result!], { home: { leg: { ndcg10: 1.1, empty: 0.5 } } }, ["home"])).toHaveLength(1);
}, 20_000);

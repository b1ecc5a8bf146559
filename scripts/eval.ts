#!/usr/bin/env bun
import { existsSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { startEmbedder } from "./eval/embedder.ts";
import { runHybrid, type HybridResult } from "./eval/hybrid.ts";
import { openLocalModel } from "./eval/model.ts";
import { failures, readFloors } from "./eval/gate.ts";
import { type Result, runSet } from "./eval/run.ts";
import { readSet, sampled, setNames } from "./eval/sets.ts";
import { STAGES, needsVectors } from "./eval/stages.ts";

const USAGE = `usage: bun scripts/eval.ts [--folder DIR] [--sets a,b] [--stage a,b] [--model FILE.gguf] [--gate FILE] [--json FILE]
       bun scripts/eval.ts --hybrid [--embedder URL#MODEL] [--notes N] [--folder DIR] [--sets a,b] [--json FILE]
Measures retrieval on sets of notes and questions (docs.jsonl, queries.jsonl), whole notes as the unit. --folder holds a folder
for each set; by default the small set in test/fixtures/eval. --gate compares with recorded floors and fails below them.
--hybrid compares the legs and their fusions with a sentence encoder (an OpenAI-compatible server, by default one that is started
and whose packages go to .cache/use), all words given and 60 % of the content words withheld from the keyword leg.
--notes takes at most N notes of a set: those that answer a question and a fixed sample of the others.
The recorded floors of the large sets are in scripts/eval/floors.json.
stages: ${Object.keys(STAGES).join(", ")}`;

// The large sets lie beside the repository where they are at hand; one small set comes with it.
const folders = ["../../shared/eval", "../test/fixtures/eval"].map((path) => resolve(import.meta.dir, path));

const { values } = parseArgs({
  options: {
    folder: { type: "string", default: folders.find(existsSync) ?? "." },
    sets: { type: "string" },
    stage: { type: "string", default: "keyword" },
    model: { type: "string" },
    hybrid: { type: "boolean", default: false },
    embedder: { type: "string" },
    notes: { type: "string" },
    gate: { type: "string" },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

function header(): string {
  const names = ["set", "stage", "n", "nDCG@10", "(halves)", "R@5", "(halves)", "R@10", "MRR@10", "empty %", "index s"];
  return [...names, "search p50/p95 ms", "leg", "bare", "leg/bare"].join("\t");
}

function row({ set, stage, questions, measures, halves, indexSeconds, search, leg, bare }: Result): string {
  const both = (name: "ndcg10" | "recall5"): string => halves.map((half) => half[name].toFixed(3)).join("/");
  const pair = ({ p50, p95 }: { p50: number; p95: number }): string => `${p50.toFixed(2)}/${p95.toFixed(2)}`;
  return [
    set,
    stage,
    questions,
    measures.ndcg10.toFixed(4),
    both("ndcg10"),
    measures.recall5.toFixed(4),
    both("recall5"),
    measures.recall10.toFixed(4),
    measures.mrr10.toFixed(4),
    (100 * measures.empty).toFixed(2),
    indexSeconds.toFixed(2),
    pair(search),
    pair(leg),
    pair(bare),
    pair({ p50: leg.p50 / bare.p50, p95: leg.p95 / bare.p95 }),
  ].join("\t");
}

function hybridRow(result: HybridResult): string {
  const signed = (value: number): string => `${value < 0 ? "" : "+"}${value.toFixed(4)}`;
  const [gain, ...halves] = result.gain ?? [];
  const against = gain === undefined ? [] : [signed(gain), halves.map(signed).join("/")];
  const { set, notes, questions, withheld, way, ndcg10 } = result;
  return [set, notes, questions, `${100 * withheld} %`, way, ndcg10.toFixed(4), ...against].join("\t");
}

async function measureHybrid(sets: string[]): Promise<HybridResult[]> {
  const embedder = await startEmbedder(values.embedder);
  const results: HybridResult[] = [];
  console.log("set\tnotes\tn\twithheld\tway\tnDCG@10\tagainst the better leg\t(chosen/confirmed half)");
  try {
    for (const name of sets) {
      const set = sampled(readSet(values.folder, name), Number(values.notes ?? Infinity));
      for (const result of await runHybrid(set, embedder.config)) {
        results.push(result);
        console.log(hybridRow(result));
      }
    }
  } finally {
    await embedder.end();
  }
  return results;
}

async function main(): Promise<number> {
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const stages = values.stage.split(",");
  const unknown = stages.filter((stage) => !(stage in STAGES));
  const present = setNames(values.folder);
  const sets = values.sets?.split(",") ?? present;
  const missing = sets.filter((set) => !present.includes(set));
  if (unknown.length > 0 || missing.length > 0 || sets.length === 0) {
    const named = [...unknown, ...missing].join(", ");
    console.error(`${named === "" ? `no set in ${values.folder}` : `no such stage or set: ${named}`}\n${USAGE}`);
    return 2;
  }
  if (values.hybrid || values.embedder !== undefined) {
    const results = await measureHybrid(sets);
    if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`);
    return 0;
  }
  if (stages.some(needsVectors) && values.model === undefined) {
    console.error("hybrid stages need --model FILE.gguf");
    return 2;
  }
  const provider = values.model === undefined ? null : await openLocalModel(values.model);
  const results: Result[] = [];
  console.log(header());
  for (const set of sets) {
    for (const result of await runSet(readSet(values.folder, set), { stages, provider })) {
      results.push(result);
      console.log(row(result));
    }
  }
  await provider?.close();
  if (values.json !== undefined) writeFileSync(join(values.json), `${JSON.stringify(results, null, 2)}\n`);
  const fallen = values.gate === undefined ? [] : failures(results, readFloors(values.gate), sets);
  for (const sentence of fallen) console.error(sentence);
  return fallen.length > 0 ? 1 : 0;
}

process.exitCode = await main();

import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../src/json.ts";
import type { Hit } from "../../src/search/types.ts";
import { sharedPath } from "../shared.ts";
import { type Notes, type TestHome, hashedWords, standIn, testHome } from "./homes.ts";

const golden = sharedPath("golden");
const describeGolden = golden === null ? describe.skip : describe;

type Row = {
  path: string;
  startLine: number;
  endLine: number;
  score: number;
  vectorScore?: number;
  importance?: number;
};
type Recorded = { query: string; at: number; rows: Row[]; decayed?: boolean };

function json(...path: string[]): unknown {
  return JSON.parse(readFileSync(join(golden ?? "", ...path), "utf8"));
}

/** The recorded workspace with its extra path, every file as old as it was in the recording. */
function recordedNotes(folder: string): Notes {
  const times = new Map(
    (json(folder, "sources.json") as { path: string; mtime: number }[]).map((s) => [s.path, s.mtime]),
  );
  const notes: Notes = {};
  for (const [root, prefix] of [
    ["ws", ""],
    ["team-docs", "../team-docs/"],
  ] as const) {
    const base = join(golden ?? "", root);
    for (const name of readdirSync(base, { recursive: true, encoding: "utf8" })) {
      if (!statSync(join(base, name)).isFile()) continue;
      const path = prefix + name;
      notes[path] = { text: readFileSync(join(base, name), "utf8"), mtimeMs: times.get(path) ?? 0 };
    }
  }
  return notes;
}

function recordedHome(folder: string, hybrid: JsonObject): Promise<TestHome> {
  const query = { minScore: 0, maxResults: 48, hybrid: { fusion: "weighted", ...hybrid } };
  return testHome(recordedNotes(folder), {
    config: { agents: { defaults: { memorySearch: { extraPaths: ["../team-docs"], query } } } },
    provider: standIn(hashedWords),
  });
}

function recordedAnswers(folder: string, sub: string, nameOf: (n: string) => string): Recorded[] {
  const queries = json(folder, sub, "index.json") as { n: string; query: string; startMs: number }[];
  return queries.map(({ n, query, startMs }) => ({
    query,
    at: startMs,
    rows: (json(folder, sub, nameOf(n)) as { results: Row[] }).results,
  }));
}

const placeOf = (row: { path: string; startLine: number; endLine: number }): string =>
  `${row.path}:${row.startLine}-${row.endLine}`;

/** Our rows for a recorded query, by place. */
async function ourRows(home: TestHome, { query, at }: Recorded) {
  const { hits } = await home.ask(query, { asOf: at, limit: 48, explain: true });
  const prefixes = new Map(home.home.collections.map((collection) => [collection.name, collection.pathPrefix]));
  return new Map(hits.map((hit) => [placeOf({ ...hit, path: `${prefixes.get(hit.collection)}${hit.path}` }), hit]));
}

/** Compares every recorded row with ours, except those that are left out, each for a reason; a reason that nothing needs fails too. */
async function compare(
  home: TestHome,
  answers: Recorded[],
  leftOut: Record<string, string>,
  check: (row: Row, hit: Hit) => void,
): Promise<void> {
  const reasons = new Set(Object.keys(leftOut));
  let compared = 0;
  for (const answer of answers) {
    const ours = await ourRows(home, answer);
    for (const row of answer.rows) {
      const anyQuery = `* | ${placeOf(row)}`;
      const name = anyQuery in leftOut ? anyQuery : `${answer.query} | ${placeOf(row)}`;
      reasons.delete(name);
      const hit = ours.get(placeOf(row));
      if (leftOut[name] === anyWord && !answer.decayed) {
        // Without a text score theirs is the vector's share alone.
        expect(Math.abs(hit!.vectorScore! - row.score / 0.7)).toBeLessThan(0.0001);
      }
      if (name in leftOut) continue;
      if (!hit) throw new Error(`not found: ${name}`);
      check(row, hit);
      compared++;
    }
  }
  expect([...reasons]).toEqual([]);
  expect(compared).toBeGreaterThan(0);
}

const perEntry = "MEMORY.md is cut per entry here, into one passage there";
const bounded = "cut elsewhere: the overlap is bounded here";
const anyWord = "holds some of the query's words: there all are demanded, and the text score is 0";

const named = "asked for by name: the score is 1";

const leftOut2026_3 = {
  "network | memory/network.md:1-4": named,
  "* | MEMORY.md:1-16": perEntry,
  "* | memory/longline.md:2-2": bounded,
  "* | memory/projects/migration.md:1-33": bounded,
  "deploy the gateway | memory/projects/gateway.md:1-14": anyWord,
  "Omada router VLAN 10 | memory/2026-11-28-router-upgrade.md:1-3": anyWord,
  "Omada router VLAN 10 | memory/crlf.md:1-4": anyWord,
};

describeGolden("answers recorded of OpenClaw", () => {
  const homes: TestHome[] = [];
  const opened = async (...home: Parameters<typeof recordedHome>): Promise<TestHome> => {
    homes.push(await recordedHome(...home));
    return homes.at(-1)!;
  };
  afterAll(() => homes.forEach((home) => home.close()));

  test("2026.3.13, defaults: the weighted score", async () => {
    const folder = "openclaw-2026.3.13-defaults";
    const home = await opened(folder, { temporalDecay: { enabled: false }, mmr: { enabled: false } });
    const leftOut = {
      ...leftOut2026_3,
      "* | memory/projects/migration.md:25-54": bounded,
      "* | memory/projects/migration.md:67-96": bounded,
      "Omada router VLAN 10 | memory/2026-02-05.md:1-3": anyWord,
      "Omada router VLAN 10 | memory/2025-09-15.md:1-3": anyWord,
    };
    await compare(home, answersOf(folder), leftOut, (row, hit) => {
      if (hit.textScore === undefined && row.score > 0) {
        expect(Math.abs(hit.vectorScore! - row.score / 0.7)).toBeLessThan(0.0001);
      }
      expect(Math.abs(hit.score - row.score)).toBeLessThan(0.02);
    });
  });

  test("2026.3.13, MMR and decay on: the decayed score", async () => {
    const folder = "openclaw-2026.3.13-decay-mmr";
    const home = await opened(folder, { temporalDecay: { enabled: true }, mmr: { enabled: true } });
    const answers = answersOf(folder, true);
    await compare(home, answers, leftOut2026_3, (row, hit) => {
      expect(Math.abs(hit.score - row.score)).toBeLessThan(0.02);
    });
  });

  test("2026.9.6: vector score, decay and importance", async () => {
    const folder = "openclaw-2026.9.6-hybrid";
    const home = await opened(folder, { temporalDecay: { enabled: true }, mmr: { enabled: true } });
    const leftOut = {
      "network | memory/network.md:1-4": named,
      "memory/projects/gateway.md | memory/projects/gateway.md:1-14": named,
    };
    const answers = recordedAnswers(folder, "tool-out", (n) => `search-${n}.json`);
    await compare(home, answers, leftOut, (row, hit) => {
      expect(Math.abs(hit.vectorScore! - row.vectorScore!)).toBeLessThan(0.0001);
      // Its keyword term is a text score with bonuses, cut off at 1, which it is in every recorded row.
      const theirs = row.score / (0.7 * row.vectorScore! + 0.3);
      expect(Math.abs(hit.explain!.recency * hit.explain!.importance - theirs)).toBeLessThan(0.02);
      expect(hit.importance).toBe(row.importance as number);
    });
    for (const answer of answers.filter(({ query }) => query === "network" || query.endsWith(".md"))) {
      const [first] = (await home.ask(answer.query, { asOf: answer.at })).hits;
      expect(first?.score).toBe(1);
      expect(first?.path).toBe(answer.rows[0]!.path);
    }
  });
});

/** The recorded answers, with the one that asked for every row. */
function answersOf(folder: string, decayed = false): Recorded[] {
  const answers = recordedAnswers(folder, "mgr-out", (n) => `${n}.json`);
  const all = json(folder, "mgr-out", "ms0.json") as { query: string; results: Row[] };
  answers.push({ query: all.query, at: answers[0]!.at, rows: all.results });
  return answers.map(({ query, at, rows }) => ({ query, at, rows, decayed }));
}

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { EmbeddingProvider } from "../../src/embed/types.ts";
import { resolveAgentHome } from "../../src/home/agent-home.ts";
import type { JsonObject } from "../../src/json.ts";
import type { Home } from "../../src/home/types.ts";
import { keywordLeg } from "../../src/search/keyword.ts";
import { parseQuery } from "../../src/search/query.ts";
import { dayInName } from "../../src/search/recency.ts";
import { search } from "../../src/search/search.ts";
import { openIndex } from "../../src/store/open.ts";
import type { Index } from "../../src/store/types.ts";
import { syncIndex } from "../../src/sync/sync.ts";
import { percentile } from "../bench/timing.ts";
import { type Measures, judge, meanOf } from "./measures.ts";
import type { EvalGroup, EvalSet } from "./sets.ts";
import { STAGES, needsVectors } from "./stages.ts";

/** One set measured at one stage; milliseconds per query. */
export type Result = {
  set: string;
  stage: string;
  questions: number;
  measures: Measures;
  /** The same over two fixed halves of the questions: rules are chosen on the first and confirmed on the second. */
  halves: [Measures, Measures];
  indexSeconds: number;
  search: { p50: number; p95: number };
  /** The keyword leg by itself, and a bare FTS5 query of the same words joined by OR. */
  leg: { p50: number; p95: number };
  bare: { p50: number; p95: number };
};

export type RunOptions = { stages: string[]; provider: EmbeddingProvider | null };

type Timed = { id: string; measures: Measures; ms: number };

/** Indexes a set as an agent's memory, the way the program does it, and asks its questions at each stage. */
export async function runSet(set: EvalSet, options: RunOptions): Promise<Result[]> {
  const answers = new Map<string, Timed[]>(options.stages.map((stage) => [stage, []]));
  const legTimes: number[] = [];
  const bareTimes: number[] = [];
  let indexSeconds = 0;
  for (const group of set.groups) {
    const folder = mkdtempSync(join(tmpdir(), "memq-eval-"));
    try {
      const home = await homeOf(group, folder);
      const started = performance.now();
      await syncIndex(home, options.provider ? { embed: true, provider: options.provider } : { embed: false });
      indexSeconds += (performance.now() - started) / 1000;
      const index = openIndex(home.indexPath, { mode: "read" });
      for (const stage of options.stages) {
        answers.get(stage)!.push(...(await askAll(home, index, group, stage, options.provider)));
      }
      timeLeg(home, index, group, legTimes, bareTimes);
      index.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return [...answers].map(([stage, timed]) => ({
    set: set.name,
    stage,
    questions: timed.length,
    measures: meanOf(timed.map((answer) => answer.measures)),
    halves: [halfOf(set.name, timed, 0), halfOf(set.name, timed, 1)],
    indexSeconds,
    search: times(timed.map((answer) => answer.ms)),
    leg: times(legTimes),
    bare: times(bareTimes),
  }));
}

function halfOf(set: string, timed: Timed[], half: 0 | 1): Measures {
  const chosen = timed.filter(({ id }) => Number(Bun.hash(id + set) % 2n) === half);
  return meanOf(chosen.map((answer) => answer.measures));
}

function times(all: number[]): { p50: number; p95: number } {
  return { p50: percentile(all, 0.5), p95: percentile(all, 0.95) };
}

/** Writes a group's notes into a new workspace below `folder`, the memory of an agent with this configuration. */
export async function homeOf(group: EvalGroup, folder: string, config: JsonObject = {}): Promise<Home> {
  const workspace = join(folder, "workspace");
  for (const note of group.notes) {
    const file = join(workspace, note.path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, note.text);
  }
  const resolved = await resolveAgentHome({
    workspace,
    stateDir: join(folder, "state"),
    config,
    env: { HOME: folder },
    cwd: folder,
    withKeys: false,
  });
  return resolved.home;
}

/** The day after the newest dated note: a memory is asked while it is in use. */
export function clockOf(group: EvalGroup): number {
  const days = group.notes.map((note) => dayInName(note.path)).filter((day) => day !== null);
  const newest = days.sort().at(-1);
  return newest === undefined ? Date.now() : Date.parse(newest) + 86_400_000;
}

async function askAll(
  home: Home,
  index: Index,
  group: EvalGroup,
  stage: string,
  provider: EmbeddingProvider | null,
): Promise<Timed[]> {
  const profile = { ...STAGES[stage]!({ ...home.search, minScore: 0 }), unit: "documents" as const };
  const collections = home.collections.map((collection) => collection.name);
  const asOf = clockOf(group);
  const timed: Timed[] = [];
  for (const { id, query, relevant } of group.questions) {
    const started = performance.now();
    const answer = await search(
      { home, index, provider: needsVectors(stage) ? provider : null },
      { query, profile, limit: 10, collections, asOf, deadline: Date.now() + 60_000 },
    );
    const ms = performance.now() - started;
    timed.push({
      id,
      ms,
      measures: judge(
        answer.hits.map((hit) => hit.path),
        relevant,
      ),
    });
  }
  return timed;
}

/** Asks every question again, by the leg and by FTS5 alone, in turn, so that both meet the same machine. */
function timeLeg(home: Home, index: Index, group: EvalGroup, legTimes: number[], bareTimes: number[]): void {
  const scope = { collections: home.collections.map((collection) => collection.name), limit: home.search.pool };
  const bare = index.db.query("SELECT rowid FROM memq_fts WHERE memq_fts MATCH ? ORDER BY rank LIMIT 10");
  for (const { query } of group.questions) {
    const words = parseQuery(query, "plain").terms.filter((term) => term.finds);
    if (words.length === 0) continue;
    const match = words.map(({ term }) => `"${term}"`).join(" OR ");
    let started = performance.now();
    bare.all(match);
    bareTimes.push(performance.now() - started);
    started = performance.now();
    keywordLeg(index, parseQuery(query, "plain"), scope);
    legTimes.push(performance.now() - started);
  }
}

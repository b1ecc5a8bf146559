import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openProvider } from "../../src/embed/registry.ts";
import type { EmbeddingProvider } from "../../src/embed/types.ts";
import type { JsonObject } from "../../src/json.ts";
import type { Home, SearchProfile } from "../../src/home/types.ts";
import { search } from "../../src/search/search.ts";
import { openIndex } from "../../src/store/open.ts";
import type { Index } from "../../src/store/types.ts";
import { syncIndex } from "../../src/sync/sync.ts";
import { type Measures, judge, meanOf } from "./measures.ts";
import { clockOf, homeOf } from "./run.ts";
import type { EvalGroup, EvalSet } from "./sets.ts";
import { withoutWords } from "./withhold.ts";

/** The legs by themselves, then the ways to fuse them. */
const WAYS: Record<string, (profile: SearchProfile) => SearchProfile> = {
  keyword: (profile) => profile,
  vector: (profile) => ({ ...profile, hybrid: false }),
  relative: (profile) => profile,
  "relative 0.6/0.4": (profile) => ({ ...profile, vectorWeight: 0.6, textWeight: 0.4 }),
  "relative 0.4/0.6": (profile) => ({ ...profile, vectorWeight: 0.4, textWeight: 0.6 }),
  weighted: (profile) => ({ ...profile, fusion: "weighted", vectorWeight: 0.7, textWeight: 0.3 }),
};
const LEGS = ["keyword", "vector"];

/** Of a question's content words, the share that the keyword leg does not get to see. */
const SHARES = [0, 0.6];

/** One way to search one set, with all words or without some. */
export type HybridResult = {
  set: string;
  notes: number;
  questions: number;
  withheld: number;
  way: string;
  ndcg10: number;
  /** Over two fixed halves of the questions: a rule is chosen on the first and confirmed on the second. */
  halves: [number, number];
  /** Against the better leg, whole and by halves; absent for the legs. */
  gain?: [number, number, number];
};

type Judged = { id: string; measures: Measures };

/** Measures the legs and every fusion over a set that is indexed and embedded as an agent's memory, by the provider that `config` names. */
export async function runHybrid(set: EvalSet, config: JsonObject): Promise<HybridResult[]> {
  const judged = new Map<string, Judged[]>();
  for (const group of set.groups) {
    const folder = mkdtempSync(join(tmpdir(), "memq-eval-"));
    try {
      const home = await homeOf(group, folder, config);
      const { embedding } = await syncIndex(home);
      if (embedding.state !== "complete") throw new Error(`${set.name}: embedding ${JSON.stringify(embedding)}`);
      const { provider, reason } = await openProvider(home.embedding, { kind: "agent" });
      if (provider === undefined) throw new Error(reason);
      const index = openIndex(home.indexPath, { mode: "read" });
      for (const withheld of SHARES) {
        for (const way of Object.keys(WAYS)) {
          const name = `${withheld} ${way}`;
          const answers = await askAll({ home, index, group, way, withheld, provider: remembering(provider) });
          judged.set(name, [...(judged.get(name) ?? []), ...answers]);
        }
      }
      index.close();
      await provider.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  const notes = set.groups.reduce((sum, group) => sum + group.notes.length, 0);
  return SHARES.flatMap((withheld) => compared(set.name, notes, withheld, judged));
}

function compared(set: string, notes: number, withheld: number, judged: Map<string, Judged[]>): HybridResult[] {
  const scores = (way: string): [number, number, number] => {
    const all = judged.get(`${withheld} ${way}`) ?? [];
    const mean = (some: Judged[]): number => meanOf(some.map(({ measures }) => measures)).ndcg10;
    const half = (number: bigint): Judged[] => all.filter(({ id }) => Bun.hash(id + set) % 2n === number);
    return [mean(all), mean(half(0n)), mean(half(1n))];
  };
  const legs = LEGS.map(scores);
  const best = [0, 1, 2].map((place) => Math.max(...legs.map((leg) => leg[place] ?? 0)));
  const results: HybridResult[] = [];
  for (const way of Object.keys(WAYS)) {
    const [ndcg10, first, second] = scores(way);
    const questions = judged.get(`${withheld} ${way}`)?.length ?? 0;
    const result: HybridResult = { set, notes, questions, withheld, way, ndcg10, halves: [first, second] };
    if (!LEGS.includes(way)) result.gain = [ndcg10 - best[0]!, first - best[1]!, second - best[2]!];
    results.push(result);
  }
  return results;
}

type Asking = {
  home: Home;
  index: Index;
  group: EvalGroup;
  way: string;
  withheld: number;
  provider: (question: string) => EmbeddingProvider;
};

async function askAll({ home, index, group, way, withheld, provider }: Asking): Promise<Judged[]> {
  const profile = { ...WAYS[way]!({ ...home.search, minScore: 0 }), unit: "documents" as const };
  const collections = home.collections.map((collection) => collection.name);
  const asOf = clockOf(group);
  const judged: Judged[] = [];
  for (const { id, query: question, relevant } of group.questions) {
    const query = withheld === 0 || way === "vector" ? question : withoutWords(question, withheld, "memq");
    const answer = await search(
      { home, index, provider: way === "keyword" ? null : provider(question) },
      { query, profile, limit: 10, collections, asOf, deadline: Date.now() + 60_000 },
    );
    if (answer.degraded.length > 0) throw new Error(answer.notices.join(" "));
    const paths = answer.hits.map((hit) => hit.path);
    judged.push({ id, measures: judge(paths, relevant) });
  }
  return judged;
}

const vectors = new Map<string, Promise<Float32Array>>();

/** The provider, asked once per question, and for the whole question whatever the keyword leg gets to see. */
function remembering(provider: EmbeddingProvider): (question: string) => EmbeddingProvider {
  return (question) => ({
    ...provider,
    embedQuery: (_text, signal) => {
      const known = vectors.get(question) ?? provider.embedQuery(question, signal);
      vectors.set(question, known);
      return known;
    },
  });
}

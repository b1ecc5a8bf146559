import { readFileSync } from "node:fs";
import { openProvider } from "../../embed/registry.ts";
import type { EmbeddingProvider } from "../../embed/types.ts";
import { MemqError, messageOf } from "../../errors.ts";
import { notice, writeJson, writeOut } from "../../output.ts";
import type { OpenQmd } from "../../qmd/open.ts";
import { deepSearch } from "../../search/deep.ts";
import { judged, type Judgement } from "../../search/judge.ts";
import { openQueryModels, type QueryModels } from "../../search/query-models.ts";
import { search, type SearchEngine } from "../../search/search.ts";
import type { SearchAnswer, SearchRequest } from "../../search/types.ts";
import { vectorCount } from "../../store/maintenance.ts";
import type { Invocation } from "../parse.ts";
import { flag, value, values } from "../parse.ts";
import { openedQmd } from "../qmd/home.ts";
import { collectionNotFound } from "../qmd/words.ts";

type Question = { id: string; query: string; type: string; expected: string[]; k: number };
type Fixture = { collection: string | undefined; questions: Question[] };
type Measured = Judgement & { latency_ms: number };

/** What answers a question, as far as it is at hand. */
type Means = { provider: EmbeddingProvider | null; models: QueryModels };
type Backend = {
  name: string;
  isThere: (means: Means) => boolean;
  answer: (engine: SearchEngine, request: SearchRequest, means: Means) => Promise<SearchAnswer>;
};

/** Ways to search: words, meaning, both, and all the stages of `query`. */
const BACKENDS: Backend[] = [
  {
    name: "bm25",
    isThere: () => true,
    answer: (engine, request) => search({ ...engine, provider: null }, request),
  },
  {
    name: "vector",
    isThere: ({ provider }) => provider !== null,
    answer: (engine, request) => search(engine, { ...request, profile: { ...request.profile, hybrid: false } }),
  },
  {
    name: "hybrid",
    isThere: ({ provider }) => provider !== null,
    answer: (engine, request) => search(engine, request),
  },
  {
    name: "full",
    isThere: ({ provider, models }) => provider !== null || models.expand !== undefined || models.rerank !== undefined,
    answer: (engine, request, { models: { expand, rerank } }) =>
      deepSearch(engine, {
        ...request,
        document: { kind: "plain", query: request.query },
        rrf: false,
        ...(expand === undefined ? {} : { expand }),
        ...(rerank === undefined ? {} : { rerank }),
      }),
  },
];
const ROWS = 10;
const DEADLINE_MS = 30_000;

/** `bench FIXTURE`: asks questions whose answers are known, and says how well they were answered. */
export async function run(invocation: Invocation): Promise<void> {
  const path = invocation.words[0];
  if (path === undefined) {
    throw new MemqError("USAGE", `Usage: ${invocation.program} bench <fixture.json> [--json] [-c collection]`, {
      hint: 'The fixture holds {"queries": [{"id", "query", "expected_files", "expected_in_top_k"}]}.',
    });
  }
  const { collection, questions } = fixtureOf(path);
  const open = await openedQmd(invocation);
  const name = values(invocation, "collection")[0] ?? collection;
  const known = open.qmd.home.collections.map((one) => one.name);
  if (name !== undefined && !known.includes(name)) throw collectionNotFound(name, invocation.program);
  const scope = name === undefined ? known : [name];
  const provider = vectorCount(open.index) > 0 ? await providerOf(open) : null;
  const models = await openQueryModels(open.index, open.qmd.models, {
    modelsDir: open.qmd.places.modelsDir,
    wanted: { expand: true, rerank: true },
  });
  for (const { why } of models.leftOut) notice(why);
  try {
    const backends = BACKENDS.filter(({ isThere }) => isThere({ provider, models }));
    const results: (Result & { query: string; type: string })[] = [];
    for (const question of questions) {
      const measured: Record<string, Measured> = {};
      for (const backend of backends)
        measured[backend.name] = await ask(open, question, scope, backend, { provider, models });
      results.push({ id: question.id, query: question.query, type: question.type, backends: measured });
    }
    const names = backends.map((one) => one.name);
    const summary = Object.fromEntries(
      names.map((one) => [one, averages(results.flatMap(({ backends: all }) => all[one] ?? []))]),
    );
    if (flag(invocation, "json") || value(invocation, "format") === "json") {
      writeJson({ timestamp: new Date().toISOString(), fixture: path, results, summary });
    } else {
      writeOut(tables(results, summary));
    }
  } finally {
    models.close();
    await provider?.close();
    open.index.close();
  }
}

async function providerOf({ qmd }: OpenQmd): Promise<EmbeddingProvider | null> {
  const { provider, reason } = await openProvider(qmd.home.embedding, { kind: "qmd" });
  if (provider === undefined) {
    if (reason !== undefined) notice(reason);
    return null;
  }
  try {
    await provider.embedQuery("A first text.", AbortSignal.timeout(DEADLINE_MS));
    return provider;
  } catch (error) {
    notice(`Keywords only: ${messageOf(error)}`);
    await provider.close();
    return null;
  }
}

async function ask(
  { qmd: { home }, index }: OpenQmd,
  { query, expected, k }: Question,
  collections: string[],
  backend: Backend,
  means: Means,
): Promise<Measured> {
  const started = performance.now();
  const request = {
    query,
    profile: home.search,
    limit: Math.max(ROWS, k),
    minScore: 0,
    collections,
    asOf: Date.now(),
    deadline: Date.now() + DEADLINE_MS,
  };
  const { hits } = await backend.answer({ home, index, provider: means.provider }, request, means);
  const latency = Math.round((performance.now() - started) * 10) / 10;
  const found = hits.map(({ collection, path }) => `${collection}/${path}`);
  return { ...judged(found, expected, k), latency_ms: latency };
}

function averages(all: readonly Measured[]): Record<string, number> {
  const mean = (key: keyof Measured): number =>
    all.length === 0 ? 0 : all.reduce((sum, one) => sum + Number(one[key]), 0) / all.length;
  return {
    avg_precision: mean("precision_at_k"),
    avg_recall: mean("recall"),
    avg_recall_at_1: mean("recall_at_1"),
    avg_recall_at_3: mean("recall_at_3"),
    avg_recall_at_5: mean("recall_at_5"),
    avg_mrr: mean("mrr"),
    avg_f1: mean("f1"),
    avg_latency_ms: mean("latency_ms"),
  };
}

type Result = { id: string; backends: Record<string, Measured> };

function tables(results: readonly Result[], summary: Record<string, Record<string, number>>): string {
  const header = `${"backend".padEnd(10)}${["p@k", "recall", "mrr", "f1", "ms"].map((one) => one.padStart(8)).join("")}`;
  const row = (name: string, numbers: (number | undefined)[]): string =>
    name.padEnd(10) + numbers.map((one, at) => (one ?? 0).toFixed(at === 4 ? 0 : 2).padStart(8)).join("");
  const perQuestion = results.flatMap(({ id, backends }) => [
    id,
    ...Object.entries(backends).map(([name, one]) =>
      row(`  ${name}`, [one.precision_at_k, one.recall, one.mrr, one.f1, one.latency_ms]),
    ),
  ]);
  const means = Object.entries(summary).map(([name, mean]) =>
    row(name, [mean["avg_precision"], mean["avg_recall"], mean["avg_mrr"], mean["avg_f1"], mean["avg_latency_ms"]]),
  );
  return `${[header, ...perQuestion, "", "Summary", header, ...means].join("\n")}\n`;
}

/** Reads and checks a fixture. */
function fixtureOf(path: string): Fixture {
  const invalid = (reason: string): MemqError =>
    new MemqError("BENCH_FIXTURE", `The fixture ${path} can't be used: ${reason.replace(/\.$/, "")}.`, {
      hint: 'It holds {"queries": [{"id", "query", "expected_files", "expected_in_top_k"}]}, and may name a "collection".',
    });
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw invalid(messageOf(error));
  }
  const { queries, collection } = (parsed ?? {}) as { queries?: unknown; collection?: unknown };
  if (!Array.isArray(queries)) throw invalid("it has no list of queries");
  const questions = queries.map((entry: unknown, at): Question => {
    const { id, query, type, expected_files: files, expected_in_top_k: k } = (entry ?? {}) as Record<string, unknown>;
    if (typeof query !== "string") throw invalid(`query ${at + 1} has no text`);
    if (!Array.isArray(files) || !files.every((file) => typeof file === "string")) {
      throw invalid(`query ${at + 1} has no list of expected_files`);
    }
    return {
      id: typeof id === "string" ? id : String(at + 1),
      query,
      type: typeof type === "string" ? type : "exact",
      expected: files,
      k: typeof k === "number" && k > 0 ? k : Math.max(1, files.length),
    };
  });
  return { collection: typeof collection === "string" ? collection : undefined, questions };
}

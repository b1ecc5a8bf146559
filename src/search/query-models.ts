import { DEFAULT_QMD_MODELS, parseModelSpec } from "../embed/spec.ts";
import type { ModelHost } from "../llama/client.ts";
import { parseModelSource } from "../llama/model-source.ts";
import { modelFolders, presentModel } from "../llama/models.ts";
import { withoutCredentials } from "../printable.ts";
import { llmCacheKey, readLlmCache } from "../store/cache.ts";
import type { Index } from "../store/types.ts";
import type { TypedQuery } from "./query-document.ts";
import type { Reranker, SearchAnswer } from "./types.ts";

/** Other ways to ask for the same. */
export type Expander = (query: string, signal: AbortSignal) => Promise<TypedQuery[]>;

/** The models that `query` may ask beside the embedding model, as far as they are on this machine. */
export type QueryModels = {
  expand?: Expander;
  rerank?: Reranker;
  /** Stages whose model somebody named, but which can't take part, and why. */
  leftOut: { stage: "expansion" | "rerank"; why: string }[];
  /** Answers of models that the index does not keep yet, by the key it would keep them under. */
  answers: Map<string, string>;
  close(): void;
};

/**
 * Finds the models for expansion and reranking of a qmd home; those that are not on this disk are left out, nothing is downloaded.
 * Answers that the index keeps are not asked for again.
 */
export async function openQueryModels(
  index: Index,
  models: { generate: string; rerank: string },
  options: { modelsDir: string; wanted: { expand: boolean; rerank: boolean } },
): Promise<QueryModels> {
  const folders = modelFolders("qmd", options.modelsDir);
  const leftOut: QueryModels["leftOut"] = [];
  const fileOf = (slot: "generate" | "rerank", wanted: boolean): string | null => {
    const { provider } = parseModelSpec(models[slot]);
    if (!wanted || provider === "none") return null;
    const file = provider === "local" ? presentModel(models[slot], folders) : null;
    // qmd's own models are a gain that nobody asked for.
    if (file === null && models[slot] !== DEFAULT_QMD_MODELS[slot])
      leftOut.push(reasonWithout(slot, models[slot], provider));
    return file;
  };
  const generate = fileOf("generate", options.wanted.expand);
  const rerank = fileOf("rerank", options.wanted.rerank);
  const answers = new Map<string, string>();
  if (generate === null && rerank === null) return { leftOut, answers, close: () => {} };
  const { modelHost } = await import("../llama/client.ts");
  const host = modelHost({ modelsFolder: folders.own });
  return {
    ...(generate === null ? {} : { expand: expander(host, generate, models.generate, index, answers) }),
    ...(rerank === null ? {} : { rerank: reranker(host, rerank, models.rerank, index, answers) }),
    leftOut,
    answers,
    close: () => host.close(),
  };
}

function reasonWithout(slot: "generate" | "rerank", spec: string, provider: string): QueryModels["leftOut"][number] {
  const [stage, what] = slot === "generate" ? (["expansion", "expanded"] as const) : (["rerank", "reranked"] as const);
  const model = withoutCredentials(spec);
  if (provider !== "local") return { stage, why: `Not ${what}: ${model} is no local model.` };
  const remedy = parseModelSource(spec).kind === "file" ? "" : "; `pull` downloads it";
  return { stage, why: `Not ${what}: the model ${model} is not on this machine${remedy}.` };
}

/** An answer that also says which of the models that somebody named had no part in it. */
export function withLeftOut<A extends SearchAnswer>(answer: A, { leftOut }: QueryModels): A {
  if (leftOut.length === 0) return answer;
  const degraded = [...new Set([...answer.degraded, ...leftOut.map(({ stage }) => stage)])];
  return { ...answer, degraded, notices: [...answer.notices, ...leftOut.map(({ why }) => why)] };
}

function expander(host: ModelHost, path: string, model: string, index: Index, answers: Map<string, string>): Expander {
  return async (query, signal) => {
    const key = llmCacheKey("expandQuery", { query, model });
    const kept = readExpansion(readLlmCache(index, key));
    if (kept !== null) return kept;
    const contextSize = contextSizeOf("QMD_EXPAND_CONTEXT_SIZE");
    const lines = await host.expand(path, query, { signal, ...(contextSize === null ? {} : { contextSize }) });
    const expansion = lines.map(({ type, text }) => ({ type, query: text }));
    answers.set(key, JSON.stringify(expansion));
    return expansion;
  };
}

/** An older qmd wrote `text` for `query`; null for what can't be read. */
function readExpansion(kept: string | null): TypedQuery[] | null {
  if (kept === null) return null;
  try {
    const rows = JSON.parse(kept) as { type: TypedQuery["type"]; query?: string; text?: string }[];
    return rows
      .map(({ type, query, text }) => ({ type, query: query ?? text ?? "" }))
      .filter(({ query }) => query !== "");
  } catch {
    return null;
  }
}

function reranker(host: ModelHost, path: string, model: string, index: Index, answers: Map<string, string>): Reranker {
  return async (query, texts, signal) => {
    const keys = texts.map((chunk) => llmCacheKey("rerank", { query, model, chunk }));
    const scores = keys.map((key) => keptScore(readLlmCache(index, key)));
    const missing = [...new Set(texts.filter((_, at) => scores[at] === null))];
    if (missing.length === 0) return scores.map((score) => score ?? 0);
    const contextSize = contextSizeOf("QMD_RERANK_CONTEXT_SIZE");
    const judged = await host.rank(path, query, missing, { signal, ...(contextSize === null ? {} : { contextSize }) });
    const byText = new Map(missing.map((text, at) => [text, judged[at] ?? 0]));
    return texts.map((text, at) => {
      const score = scores[at] ?? byText.get(text) ?? 0;
      if (scores[at] === null) answers.set(keys[at] ?? "", String(score));
      return score;
    });
  };
}

function keptScore(kept: string | null): number | null {
  const score = kept === null || kept.trim() === "" ? Number.NaN : Number(kept);
  return Number.isFinite(score) ? score : null;
}

function contextSizeOf(variable: string): number | null {
  const size = Number(process.env[variable]);
  return Number.isInteger(size) && size > 0 ? size : null;
}

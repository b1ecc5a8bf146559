import { statSync } from "node:fs";
import type { ChatWrapper, LlamaContext, LlamaEmbeddingContext, LlamaModel, LlamaRankingContext } from "node-llama-cpp";
import { MemqError, messageOf } from "../errors.ts";
import { checkGguf, truncatedModel } from "./gguf.ts";
import type { LoadOptions } from "./protocol.ts";
import type { Runtime } from "./runtime.ts";

type Use = "embed" | "rank" | "expand";
type Context = LlamaEmbeddingContext | LlamaRankingContext | LlamaContext;
type Loaded = {
  model: LlamaModel;
  stamp: string;
  /** By use and size: two homes may want different sizes of one model. */
  contexts: Map<string, Promise<Context>>;
  /** How the model wants a conversation written; finding out takes most of a second. */
  chatWrapper?: ChatWrapper;
};

/** GGUF's pooling types (llama.cpp's `enum llama_pooling_type`). */
const pooling = { none: 0, rank: 4 };
/** Tokens left for what the model adds at both ends of a text. */
const reservedTokens = 4;
const leastContextSize = 64;
/** Tokens left for a ranking template, when the model has room for it. */
const reservedForTemplate = 512;

/** One line or more of `lex: …`, `vec: …` or `hyde: …` (GBNF). */
const expansionGrammar = `
root ::= line+
line ::= type ": " content "\\n"
type ::= "lex" | "vec" | "hyde"
content ::= [^\\n]+
`;

/** Models of one process by path, loaded on first use. Not safe for calls at once: the host gives out turns. */
export type Engine = {
  /** The text's vector as the model gives it, and whether the text had to be cut. */
  embed(path: string, text: string, load: LoadOptions): Promise<{ vector: Float32Array; truncated: boolean }>;
  /** Relevance of one document, 0 to 1. */
  rank(path: string, query: string, document: string, load: LoadOptions): Promise<number>;
  /** What the model writes for a query: lines of `type: text`. */
  expand(path: string, query: string, load: LoadOptions, signal: AbortSignal): Promise<string>;
  models(): { path: string; uses: Use[] }[];
};

/** The models that a process has loaded, or is loading. */
type Models = {
  runtime: () => Promise<Runtime>;
  byPath: Map<string, Promise<Loaded>>;
  ready: Map<string, Loaded>;
};

/** An engine that has loaded nothing yet; llama.cpp itself is loaded with the first model. */
export function modelEngine(runtime: () => Promise<Runtime>): Engine {
  const models: Models = { runtime, byPath: new Map(), ready: new Map() };
  return {
    async embed(path, text, load) {
      const embedder = await contextFor(models, path, "embed", load, (model) => embeddingContext(path, model, load));
      const { model } = embedder;
      const tokens = model.tokenize(text);
      // Some models have room for fewer tokens than was asked for.
      const room = contextSizeOf(model, load) - reservedTokens;
      const truncated = tokens.length > room;
      const { vector } = await embedder.getEmbeddingFor(truncated ? tokens.slice(0, room) : tokens);
      return { vector: checkedVector(path, vector, tokens.length), truncated };
    },
    async rank(path, query, document, load) {
      const ranker = await contextFor(models, path, "rank", load, (model) => rankingContext(path, model, load));
      const room = ranker.contextSize - Math.min(reservedForTemplate, Math.floor(ranker.contextSize / 4));
      const queryTokens = ranker.model.tokenize(query, false, "trimLeadingSpace").slice(0, Math.floor(room / 2));
      const tokens = ranker.model.tokenize(document, false, "trimLeadingSpace");
      const score = await ranker.rank(queryTokens, tokens.slice(0, room - queryTokens.length));
      if (!Number.isFinite(score)) throw wrongKind(path, "gave no usable score");
      return score;
    },
    expand: (path, query, load, signal) => expand(models, path, query, load, signal),
    models: () => [...models.ready].map(([path, { contexts }]) => ({ path, uses: usesOf([...contexts.keys()]) })),
  };
}

async function expand(
  models: Models,
  path: string,
  query: string,
  load: LoadOptions,
  signal: AbortSignal,
): Promise<string> {
  const [writer, { llama }] = await Promise.all([
    contextFor(models, path, "expand", load, (model) => writingContext(path, model, load)),
    models.runtime(),
  ]);
  const { LlamaChatSession, resolveChatWrapper } = await import("node-llama-cpp");
  const entry = await loadedModel(models, path);
  const chatWrapper = (entry.chatWrapper ??= resolveChatWrapper(entry.model));
  const sequence = writer.getSequence();
  try {
    const session = new LlamaChatSession({ contextSequence: sequence, chatWrapper });
    return await session.prompt(`/no_think Expand this search query: ${query}`, {
      grammar: await llama.createGrammar({ grammar: expansionGrammar }),
      maxTokens: 600,
      temperature: 0.7,
      topK: 20,
      topP: 0.8,
      repeatPenalty: { lastTokens: 64, penalty: 1, presencePenalty: 0.5 },
      // The same query gets the same expansion.
      seed: 1,
      signal,
    });
  } finally {
    await sequence.dispose();
  }
}

/** The model's context for one use, made when it is first asked for. */
async function contextFor<T extends Context>(
  models: Models,
  path: string,
  use: Use,
  { contextSize }: LoadOptions,
  create: (model: LlamaModel) => Promise<T>,
): Promise<T> {
  const { model, contexts } = await loadedModel(models, path);
  const key = `${use} ${contextSize}`;
  let found = contexts.get(key);
  if (found === undefined) {
    found = create(model);
    contexts.set(key, found);
    found.catch(() => contexts.delete(key));
  }
  // A context is only ever stored under the use that created it.
  return found as Promise<T>;
}

/** The model at a path as its file is now. */
async function loadedModel({ runtime, byPath, ready }: Models, path: string): Promise<Loaded> {
  await checkGguf(path);
  const { size, mtimeMs } = statSync(path);
  const stamp = `${size} ${mtimeMs}`;
  const present = await byPath.get(path)?.catch(() => undefined);
  if (present?.stamp === stamp) return present;
  ready.delete(path);
  await present?.model.dispose();
  const loading = loadModel(await runtime(), path).then((model) => ({ model, stamp, contexts: new Map() }));
  byPath.set(path, loading);
  ready.set(path, await loading);
  return loading;
}

function usesOf(keys: string[]): Use[] {
  return (["embed", "rank", "expand"] as const).filter((use) => keys.some((key) => key.startsWith(use)));
}

async function loadModel({ llama, complaints }: Runtime, path: string): Promise<LlamaModel> {
  complaints.length = 0;
  try {
    return await llama.loadModel({ modelPath: path });
  } catch (error) {
    // A length inside the file that no file can have.
    if (error instanceof RangeError) throw truncatedModel(path, error);
    // The first complaint says what is wrong, the later ones that loading failed.
    const reason = complaints[0] ?? messageOf(error);
    throw new MemqError("MODEL_INVALID", `${path} could not be loaded: ${reason.split("\n")[0]}`, {
      hint: "The file may be cut off, damaged, too large for this machine's memory, or of a kind that llama.cpp does not know.",
      cause: error,
    });
  }
}

function embeddingContext(path: string, model: LlamaModel, load: LoadOptions): Promise<LlamaEmbeddingContext> {
  if (poolingType(model) === pooling.rank) throw wrongKind(path, "reranks and does not embed");
  const contextSize = contextSizeOf(model, load);
  // An encoder takes a text in one batch or not at all.
  return model.createEmbeddingContext({ contextSize, batchSize: contextSize, threads: load.threads });
}

function rankingContext(path: string, model: LlamaModel, load: LoadOptions): Promise<LlamaRankingContext> {
  if (!model.fileInsights.supportsRanking) throw wrongKind(path, "is not a reranking model");
  const contextSize = contextSizeOf(model, load);
  return model.createRankingContext({ contextSize, batchSize: contextSize, threads: load.threads });
}

function writingContext(path: string, model: LlamaModel, load: LoadOptions): Promise<LlamaContext> {
  if (poolingType(model) !== pooling.none) throw wrongKind(path, "embeds or reranks and does not write text");
  return model.createContext({
    contextSize: contextSizeOf(model, load),
    threads: load.threads,
  });
}

/** What was asked for, as far as the model goes; one too small for any text would make all texts the same. */
function contextSizeOf({ trainContextSize }: LlamaModel, load: LoadOptions): number {
  return Math.min(Math.max(load.contextSize, leastContextSize), trainContextSize);
}

function poolingType(model: LlamaModel): number {
  return model.fileInfo.architectureMetadata.pooling_type ?? pooling.none;
}

function wrongKind(path: string, what: string): MemqError {
  return new MemqError("MODEL_KIND", `${path} ${what}.`, { hint: "Give a model of the right kind for this use." });
}

function checkedVector(path: string, values: readonly number[], tokens: number): Float32Array {
  const vector = Float32Array.from(values);
  const isUsable = vector.every((value) => Number.isFinite(value)) && (vector.length > 0 || tokens === 0);
  if (!isUsable) throw wrongKind(path, "gave no usable vector");
  return vector;
}

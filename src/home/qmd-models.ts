import type { QmdModels } from "./index-yml.ts";
import { keyOfEnvironment } from "./credentials.ts";
import { absolutePath, envText, type Env } from "./paths.ts";
import type { EmbeddingSettings } from "./types.ts";

export type ModelSlot = "embed" | "rerank" | "generate";

/** qmd's own three models. */
export const DEFAULT_QMD_MODELS: Record<ModelSlot, string> = {
  embed: "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
  rerank: "hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf",
  generate: "hf:tobil/qmd-query-expansion-1.7B-gguf/qmd-query-expansion-1.7B-q4_k_m.gguf",
};

const VARIABLES: Record<ModelSlot, string> = {
  embed: "QMD_EMBED_MODEL",
  rerank: "QMD_RERANK_MODEL",
  generate: "QMD_GENERATE_MODEL",
};

/** The models in force: those of the configuration, then of the environment, then qmd's own. */
export function modelsInForce(configured: QmdModels, env: Env): Record<ModelSlot, string> {
  const model = (slot: ModelSlot): string =>
    configured[slot] ?? envText(env, VARIABLES[slot]) ?? DEFAULT_QMD_MODELS[slot];
  return { embed: model("embed"), rerank: model("rerank"), generate: model("generate") };
}

/** A model as written: a GGUF (`hf:…` or a path), a provider (`openai:…`, `ollama:…`), or a server (`http://host/v1#model`). */
export type ModelPlace =
  | { kind: "local"; model: string }
  | { kind: "remote"; provider: string; model: string; baseUrl?: string };

const PROVIDER_PREFIXES = [
  "openai",
  "gemini",
  "voyage",
  "mistral",
  "ollama",
  "lmstudio",
  "deepinfra",
  "bedrock",
  "github-copilot",
];

/** Reads a model's notation; paths are resolved below `cwd`. */
export function modelPlace(uri: string, cwd: string, env: Env): ModelPlace {
  const server = /^(https?:\/\/[^#]+)#(.+)$/i.exec(uri);
  if (server?.[1] !== undefined && server[2] !== undefined) {
    return { kind: "remote", provider: "openai-compatible", model: server[2], baseUrl: server[1] };
  }
  const colon = uri.indexOf(":");
  const prefix = uri.slice(0, colon).toLowerCase();
  if (colon > 0 && PROVIDER_PREFIXES.includes(prefix)) {
    return { kind: "remote", provider: prefix, model: uri.slice(colon + 1) };
  }
  return { kind: "local", model: /^(hf:|https?:)/i.test(uri) ? uri : absolutePath(uri, cwd, env) };
}

/** The embedding settings of a qmd home. */
export function qmdEmbedding(uri: string, modelsDir: string, cwd: string, env: Env): EmbeddingSettings {
  const place = modelPlace(uri, cwd, env);
  const contextSize = Number(envText(env, "QMD_EMBED_CONTEXT_SIZE") ?? Number.NaN);
  const settings: EmbeddingSettings = {
    provider: "local",
    explicit: false,
    fallback: "none",
    headers: {},
    authStore: "",
    credentials: {},
    local: {
      modelCacheDir: modelsDir,
      contextSize: Number.isInteger(contextSize) && contextSize > 0 ? contextSize : 2048,
    },
    batch: { enabled: false, wait: true, concurrency: 2, pollIntervalMs: 2000, timeoutMinutes: 60 },
    cache: { enabled: true, maxEntries: 50_000 },
    onFailure: "keyword",
    multimodal: false,
  };
  if (place.kind === "local") return { ...settings, local: { ...settings.local, modelPath: place.model } };
  const apiKey = keyOfEnvironment(place.provider, env);
  return {
    ...settings,
    provider: place.provider,
    explicit: true,
    model: place.model,
    ...(place.baseUrl === undefined ? {} : { baseUrl: place.baseUrl }),
    credentials: { [place.provider]: apiKey === undefined ? {} : { apiKey } },
  };
}

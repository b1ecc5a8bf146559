import type { EmbeddingSettings } from "../home/types.ts";

/** Where a model comes from, as one string of a qmd home's `models` names it. */
export type ModelSpec =
  | { provider: "none" }
  /** A GGUF model: `hf:…`, an address that ends in `.gguf`, `file:…` or a path. */
  | { provider: "local"; model: string }
  | { provider: string; model?: string; baseUrl?: string };

/** Services that embed, by their ids. */
const REMOTE_PROVIDERS = [
  "openai",
  "openai-compatible",
  "gemini",
  "voyage",
  "mistral",
  "deepinfra",
  "github-copilot",
  "bedrock",
  "ollama",
  "lmstudio",
] as const;

export type RemoteProvider = (typeof REMOTE_PROVIDERS)[number];

/** Those that `auto` tries, in this order; each needs its key. */
export const AUTOMATIC_PROVIDERS = [
  "openai",
  "gemini",
  "voyage",
  "mistral",
] as const satisfies readonly RemoteProvider[];

/** The local model of an agent that names none. */
export const DEFAULT_AGENT_MODEL = "hf:ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/embeddinggemma-300m-qat-Q8_0.gguf";

/** qmd's own three models. */
export const DEFAULT_QMD_MODELS: Readonly<Record<"embed" | "rerank" | "generate", string>> = {
  embed: "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
  rerank: "hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf",
  generate: "hf:tobil/qmd-query-expansion-1.7B-gguf/qmd-query-expansion-1.7B-q4_k_m.gguf",
};

/**
 * Reads `openai:text-embedding-3-small`, `ollama:nomic-embed-text:v1.5`, `voyage` (its default model),
 * `http://host:port/v1#model`, `none`; all else names a GGUF model.
 */
export function parseModelSpec(text: string): ModelSpec {
  const spec = text.trim();
  if (spec === "none") return { provider: "none" };
  if (/^https?:\/\//i.test(spec)) return urlSpec(spec);
  const colon = spec.indexOf(":");
  const id = (colon < 0 ? spec : spec.slice(0, colon)).toLowerCase();
  if (!REMOTE_PROVIDERS.some((remote) => remote === id)) return { provider: "local", model: spec };
  const model = colon < 0 ? "" : spec.slice(colon + 1).trim();
  return model === "" ? { provider: id } : { provider: id, model };
}

function urlSpec(spec: string): ModelSpec {
  const hash = spec.indexOf("#");
  const baseUrl = hash < 0 ? spec : spec.slice(0, hash);
  if (/\.gguf(\?.*)?$/i.test(baseUrl)) return { provider: "local", model: spec };
  const model = hash < 0 ? "" : decodedOrSame(spec.slice(hash + 1)).trim();
  return { provider: "openai-compatible", baseUrl, ...(model === "" ? {} : { model }) };
}

/** Without percent-encoding, where it is sound. */
export function decodedOrSame(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Settings of a qmd home with the model's one string (`model`, or `local.modelPath`) taken apart. Without any it is qmd's own
 * default model on this machine: nobody's notes go to a service only because a key lies about.
 */
export function withModelSpec(settings: EmbeddingSettings, kind: "agent" | "qmd"): EmbeddingSettings {
  const { provider, model, local } = settings;
  if (kind === "agent" || (provider !== "" && provider !== "auto" && provider !== "local")) return settings;
  const text = model ?? local.modelPath;
  if (!text?.trim()) return { ...settings, provider: "local" };
  const spec = parseModelSpec(text);
  if (spec.provider === "none" || spec.provider === "local") {
    const modelPath = "model" in spec ? spec.model : undefined;
    return { ...settings, provider: spec.provider, model: undefined, local: { ...local, modelPath } };
  }
  return { ...settings, explicit: true, ...spec };
}

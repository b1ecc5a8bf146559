import { DEFAULT_QMD_MODELS, parseModelSpec } from "../embed/spec.ts";
import type { QmdModels } from "./index-yml.ts";
import { absolutePath, envText, type Env } from "./paths.ts";
import { environmentCredentials } from "./provider-keys.ts";
import type { EmbeddingSettings } from "./types.ts";

export type ModelSlot = "embed" | "rerank" | "generate";

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

/** The embedding settings of a qmd home; a model's path is resolved below `cwd`. */
export function qmdEmbedding(uri: string, modelsDir: string, cwd: string, env: Env): EmbeddingSettings {
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
  const spec = parseModelSpec(uri);
  if (spec.provider === "none") return { ...settings, provider: "none" };
  if (spec.provider === "local") {
    return { ...settings, local: { ...settings.local, modelPath: modelPath(uri, cwd, env) } };
  }
  // An address that a model string names has no key of its own anywhere else.
  const addressKey = "baseUrl" in spec ? envText(env, "MEMQ_EMBED_API_KEY") : undefined;
  return {
    ...settings,
    ...spec,
    explicit: true,
    ...(addressKey === undefined ? {} : { apiKey: addressKey, keyOrigin: "environment variable MEMQ_EMBED_API_KEY" }),
    credentials: { [spec.provider]: environmentCredentials(spec.provider, env) },
  };
}

/** `hf:` and web addresses stay; anything else is a file. */
function modelPath(uri: string, cwd: string, env: Env): string {
  return /^(hf:|https?:|file:)/i.test(uri) ? uri : absolutePath(uri, cwd, env);
}

import type { EmbeddingSettings } from "../home/types.ts";

/** Where a model comes from, as one string of a qmd home's `models` names it. */
export type ModelSpec =
  | { provider: "none" }
  /** A GGUF model: `hf:…`, an address that ends in `.gguf`, `file:…` or a path. */
  | { provider: "local"; model: string }
  | { provider: string; model?: string; baseUrl?: string };

const REMOTE_IDS = new Set(
  "openai openai-compatible gemini voyage mistral deepinfra github-copilot bedrock ollama lmstudio".split(" "),
);

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
  if (!REMOTE_IDS.has(id)) return { provider: "local", model: spec };
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

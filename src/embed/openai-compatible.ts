import { bareModel, connectionOf } from "./connection.ts";
import { EmbedError } from "./errors.ts";
import { openAiProtocol } from "./openai-form.ts";
import type { MakeProtocol } from "./provider-context.ts";

/** Any server that takes OpenAI's embeddings requests. Base URL and model must be named; a key only if the server wants one. */
export const makeProtocol: MakeProtocol = (settings, context) => {
  const connection = connectionOf(settings, { id: context.id, keyless: true });
  if (!settings.model?.trim()) {
    throw new EmbedError("fatal", `No model is configured for embedding provider "${context.id}".`, {
      hint: "Set the embedding model to one that the server has.",
    });
  }
  return openAiProtocol({
    id: context.id,
    model: bareModel(settings.model, [`${context.id}/`]),
    connection,
    dimensions: settings.outputDimensionality ?? null,
    inputType: (purpose) => (purpose === "query" ? settings.queryInputType : settings.documentInputType),
  });
};

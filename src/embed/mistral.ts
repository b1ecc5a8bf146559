import { bareModel, connectionOf } from "./connection.ts";
import { openAiProtocol } from "./openai-form.ts";
import type { MakeProtocol } from "./provider-context.ts";

/** Mistral: OpenAI's form. */
export const makeProtocol: MakeProtocol = (settings, context) =>
  openAiProtocol({
    id: context.id,
    model: bareModel(settings.model ?? "mistral-embed", ["mistral/"]),
    connection: connectionOf(settings, {
      id: context.id,
      defaultBaseUrl: "https://api.mistral.ai/v1",
    }),
    dimensions: settings.outputDimensionality,
    dimensionsField: "output_dimension",
    maxItems: 512,
  });

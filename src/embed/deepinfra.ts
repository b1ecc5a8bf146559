import { bareModel, connectionOf } from "./connection.ts";
import { openAiProtocol } from "./openai-form.ts";
import type { MakeProtocol } from "./provider-context.ts";

/** DeepInfra: OpenAI's form. */
export const makeProtocol: MakeProtocol = (settings, context) =>
  openAiProtocol({
    id: context.id,
    model: bareModel(settings.model ?? "BAAI/bge-m3", ["deepinfra/"]),
    connection: connectionOf(settings, {
      id: context.id,
      defaultBaseUrl: "https://api.deepinfra.com/v1/openai",
    }),
    dimensions: settings.outputDimensionality,
    maxItems: 1024,
  });

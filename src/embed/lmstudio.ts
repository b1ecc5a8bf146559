import { bareModel, connectionOf } from "./connection.ts";
import { openAiProtocol } from "./openai-form.ts";
import type { MakeProtocol } from "./provider-context.ts";

/** LM Studio's server on this machine: a key only where it was set up to want one. It loads the model on the first request. */
export const makeProtocol: MakeProtocol = (settings, context) =>
  openAiProtocol({
    id: context.id,
    model: bareModel(settings.model ?? "text-embedding-nomic-embed-text-v1.5", ["lmstudio/"]),
    connection: connectionOf(settings, { id: context.id, defaultBaseUrl: "http://localhost:1234/v1", keyless: true }),
    dimensions: settings.outputDimensionality,
    slow: true,
  });

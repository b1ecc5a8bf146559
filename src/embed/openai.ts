import { bareModel, connectionOf, withoutQuery } from "./connection.ts";
import { openAiProtocol, type OpenAiForm } from "./openai-form.ts";
import type { MakeProtocol, ProviderContext } from "./provider-context.ts";
import type { EmbeddingSettings } from "../home/types.ts";

const BASE = "https://api.openai.com/v1";
const DEFAULT_MODEL = "text-embedding-3-small";

function openAiFormOf(settings: EmbeddingSettings, context: ProviderContext): OpenAiForm {
  const connection = connectionOf(settings, {
    id: context.id,
    defaultBaseUrl: BASE,
  });
  // Routers such as OpenRouter serve many makers' models and need the prefix.
  const isOpenAi = withoutQuery(connection.baseUrl) === BASE;
  return {
    id: context.id,
    model: bareModel(settings.model ?? DEFAULT_MODEL, isOpenAi ? ["openai/"] : []),
    connection,
    dimensions: settings.outputDimensionality ?? null,
    inputType: (purpose) => (purpose === "query" ? settings.queryInputType : settings.documentInputType),
  };
}

/** OpenAI, and whatever takes its requests behind another base URL. */
export const makeProtocol: MakeProtocol = (settings, context) => {
  const form = openAiFormOf(settings, context);
  const jobs = async () => (await import("./batch-jobs/openai-files.ts")).openAiJobs(form);
  return { ...openAiProtocol(form), jobs };
};

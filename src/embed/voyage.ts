import type { EmbeddingSettings } from "../home/types.ts";
import { bareModel, connectionOf } from "./connection.ts";
import { openAiProtocol, type OpenAiForm } from "./openai-form.ts";
import type { MakeProtocol, ProviderContext } from "./provider-context.ts";

function voyageFormOf(settings: EmbeddingSettings, context: ProviderContext): OpenAiForm {
  return {
    id: context.id,
    model: bareModel(settings.model ?? "voyage-4-large", ["voyage/"]),
    connection: connectionOf(settings, {
      id: context.id,
      defaultBaseUrl: "https://api.voyageai.com/v1",
    }),
    dimensions: settings.outputDimensionality,
    dimensionsField: "output_dimension",
    // Voyage's models put a prompt of their own before each kind of text.
    inputType: (purpose) =>
      purpose === "query" ? (settings.queryInputType ?? "query") : (settings.documentInputType ?? "document"),
    maxItems: 1000,
  };
}

/** Voyage AI: OpenAI's form, with the kind of text always named. */
export const makeProtocol: MakeProtocol = (settings, context) => {
  const form = voyageFormOf(settings, context);
  const jobs = async () => (await import("./batch-jobs/openai-files.ts")).voyageJobs(form);
  return { ...openAiProtocol(form), jobs };
};

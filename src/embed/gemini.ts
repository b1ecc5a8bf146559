import type { EmbeddingSettings } from "../home/types.ts";
import { bareModel, bearer, connectionOf, credentialsOf, urlOf, withoutQuery, type Connection } from "./connection.ts";
import { EmbedError } from "./errors.ts";
import { malformed, requestJson, type ExchangeContext } from "./exchange.ts";
import type { Protocol, Purpose } from "./protocol.ts";
import type { MakeProtocol, ProviderContext } from "./provider-context.ts";
import type { EmbedInput } from "./types.ts";

/** What a Gemini model is asked for; the same inline and in a batch job. */
export type GeminiForm = {
  id: string;
  model: string;
  connection: Connection;
  /** The same with further keys, used in turn when one has reached its limit. */
  others: Connection[];
  dimensions: number | null;
  /** How the two kinds of text are told apart: by `taskType`, or by words in front of them. */
  taskTypes: boolean;
  media: boolean;
  maxInputBytes: number;
};

const FAILURE = "gemini embeddings failed:";

function geminiFormOf(settings: EmbeddingSettings, context: ProviderContext): GeminiForm {
  const model = bareModel(settings.model ?? "gemini-embedding-001", ["gemini/", "google/", "models/"]);
  const isSecond = /^gemini-embedding-2(-|$)/.test(model);
  const needs = {
    id: context.id,
    aliases: ["google"],
    defaultBaseUrl: "https://generativelanguage.googleapis.com/v1beta",
    keyHeader,
    tidy: (url: string) => url.replace(/\/openai(\/.*)?$/, ""),
  };
  const connection = connectionOf({ ...settings, apiKey: keyByName(settings.apiKey, context) }, needs);
  const names = [context.id, ...needs.aliases];
  const credentials = credentialsOf(settings, names);
  // A key that is named for this destination is the only one that may be used.
  const further = settings.apiKey ? [] : (credentials.otherKeys ?? []);
  return {
    id: context.id,
    model,
    connection,
    others: further.map((apiKey) =>
      connectionOf({ ...settings, credentials: { [context.id]: { ...credentials, apiKey } } }, needs),
    ),
    dimensions: isSecond ? dimensionsOf(model, settings.outputDimensionality) : null,
    taskTypes: model !== "gemini-embedding-2",
    media: isSecond,
    maxInputBytes: isSecond ? 8000 : 2048,
  };
}

/** Google's Gemini API: one query by `embedContent`, documents by `batchEmbedContents`. */
export const makeProtocol: MakeProtocol = (settings, context) => {
  const form = geminiFormOf(settings, context);
  const jobs = async () => (await import("./batch-jobs/gemini-jobs.ts")).geminiJobs(form);
  return { ...geminiProtocol(form), jobs };
};

function geminiProtocol(form: GeminiForm): Protocol {
  const { id, model, connection, dimensions, media, maxInputBytes, taskTypes } = form;
  const keys = [connection, ...form.others];
  const secrets = keys.flatMap((one) => one.secrets);
  let inUse = 0;
  /** Sends with the key in use; at its limit with the next, until all have been tried. */
  const post = async (path: string, body: object, signal: AbortSignal, context: ExchangeContext): Promise<unknown> => {
    const url = urlOf(connection.baseUrl, path);
    for (let tried = 1; ; tried++) {
      const used = inUse;
      const { headers } = keys[used] ?? connection;
      try {
        return await requestJson({ url, headers, body, secrets, signal, provider: id, failure: FAILURE }, context);
      } catch (error) {
        if (!(error instanceof EmbedError) || error.status !== 429 || tried >= keys.length) throw error;
        // Several requests may meet the limit at once: only the first of them moves on.
        if (used === inUse) inUse = (inUse + 1) % keys.length;
      }
    }
  };
  return {
    id,
    model,
    endpoint: withoutQuery(connection.baseUrl),
    dimensions,
    documentInputType: taskTypes ? "RETRIEVAL_DOCUMENT" : null,
    promptForm: taskTypes ? "raw" : "gemini-2",
    maxInputBytes,
    maxItems: 100,
    concurrency: 4,
    normalise: true,
    media,
    slow: false,
    failure: FAILURE,
    async embed(inputs, purpose, signal, context) {
      if (purpose === "query") {
        const body = geminiRequest(form, purpose, inputs[0] ?? { text: "" });
        const reply = (await post(`/models/${model}:embedContent`, body, signal, context)) as {
          embedding?: { values?: unknown };
        };
        return [reply.embedding?.values];
      }
      const requests = inputs.map((input) => ({ ...geminiRequest(form, purpose, input), model: `models/${model}` }));
      const reply = await post(`/models/${model}:batchEmbedContents`, { requests }, signal, context);
      const { embeddings } = reply as { embeddings?: { values?: unknown }[] };
      if (!Array.isArray(embeddings)) throw malformed({ failure: FAILURE }, "no list `embeddings`");
      return embeddings.map((embedding) => embedding?.values);
    },
  };
}

/** The request for one input, without the model's name. */
export function geminiRequest(form: GeminiForm, purpose: Purpose, input: EmbedInput): object {
  const taskType = form.taskTypes ? { taskType: purpose === "query" ? "RETRIEVAL_QUERY" : "RETRIEVAL_DOCUMENT" } : {};
  const length = form.dimensions === null ? {} : { outputDimensionality: form.dimensions };
  return { content: { parts: partsOf(form, purpose, input) }, ...taskType, ...length };
}

function partsOf(form: GeminiForm, purpose: Purpose, { text, title, media }: EmbedInput): object[] {
  if (media) {
    const data = Buffer.from(media.data).toString("base64");
    return [{ text }, { inlineData: { mimeType: media.mimeType, data } }];
  }
  if (form.taskTypes) return [{ text }];
  const front = purpose === "query" ? "task: search result | query: " : `title: ${title || "none"} | text: `;
  return [{ text: front + text }];
}

/** Throws when `wanted` is not among the lengths that a second-generation model makes. */
function dimensionsOf(model: string, wanted: number | undefined): number {
  if (wanted === undefined) return 3072;
  const usual = [768, 1536, 3072];
  const isAny = model === "gemini-embedding-2" && wanted >= 128 && wanted <= 3072;
  if (usual.includes(wanted) || isAny) return wanted;
  const valid = model === "gemini-embedding-2" ? "128 to 3072" : usual.join(", ");
  throw new EmbedError("fatal", `Invalid outputDimensionality ${wanted} for ${model}. Valid values: ${valid}`);
}

/** The key, or what the environment holds under the name that was entered instead of it. */
function keyByName(key: string | undefined, context: ProviderContext): string | undefined {
  return key === "GEMINI_API_KEY" || key === "GOOGLE_API_KEY" ? context.http.env[key] : key;
}

/** A key, or the JSON that an OAuth login leaves behind. */
function keyHeader(key: string): Record<string, string> {
  if (key.trimStart().startsWith("{")) {
    try {
      const { token } = JSON.parse(key) as { token?: unknown };
      if (typeof token === "string" && token !== "") return bearer(token);
    } catch {
      // Not JSON after all: sent as it is, and the service says what it thinks of it.
    }
  }
  return { "x-goog-api-key": key };
}

import { urlOf, withoutQuery, type Connection } from "./connection.ts";
import { EmbedError, shortBody } from "./errors.ts";
import { malformed, requestJson, type ExchangeContext } from "./exchange.ts";
import type { Protocol, Purpose } from "./protocol.ts";

/** What differs between the services that take OpenAI's `POST {base}/embeddings`. */
export type OpenAiForm = {
  id: string;
  model: string;
  connection: Connection;
  /** Length asked for and the field that asks. */
  dimensions?: number | null;
  dimensionsField?: string;
  /** The field `input_type` by purpose; absent: not sent. */
  inputType?: (purpose: Purpose) => string | undefined;
  maxInputBytes?: number;
  maxItems?: number;
  normalise?: boolean;
  slow?: boolean;
  failure?: string;
  /** Runs before each request: the connection as it is now, where keys are short-lived. */
  prepare?: (signal: AbortSignal, context: ExchangeContext) => Promise<Connection>;
};

/** The body of an embeddings request: the same inline and in a batch job. */
export function openAiBody(form: OpenAiForm, purpose: Purpose, input: string | string[]): object {
  const inputType = form.inputType?.(purpose);
  return {
    model: form.model,
    input,
    ...(form.dimensions ? { [form.dimensionsField ?? "dimensions"]: form.dimensions } : {}),
    input_type: inputType,
  };
}

/** The protocol of a service that takes OpenAI's requests. */
export function openAiProtocol(form: OpenAiForm): Protocol {
  const failure = form.failure ?? `${form.id} embeddings failed:`;
  const { id, model } = form;
  return {
    id,
    model,
    failure,
    endpoint: withoutQuery(form.connection.baseUrl),
    dimensions: form.dimensions ?? null,
    documentInputType: form.inputType?.("document") ?? null,
    promptForm: "raw",
    maxInputBytes: form.maxInputBytes ?? 8000,
    maxItems: form.maxItems ?? 2048,
    concurrency: 4,
    normalise: form.normalise ?? false,
    media: false,
    slow: form.slow ?? false,
    async embed(inputs, purpose, signal, context) {
      const texts = inputs.map((input) => input.text);
      const connection = (await form.prepare?.(signal, context)) ?? form.connection;
      const { headers, secrets } = connection;
      const url = urlOf(connection.baseUrl, "/embeddings");
      const body = openAiBody(form, purpose, texts);
      const reply = await requestJson({ url, headers, body, signal, secrets, provider: id, failure }, context);
      return vectorsByIndex(reply, texts.length, failure, secrets);
    },
  };
}

/**
 * The vectors of `{data: [{embedding, index}]}` in the order of the inputs. Without any `index` the order of the list counts;
 * with some but not all, doubled or wild ones the reply is malformed.
 */
export function vectorsByIndex(reply: unknown, count: number, failure: string, secrets: readonly string[]): unknown[] {
  const { data, error } = (reply ?? {}) as { data?: unknown; error?: unknown };
  if (!Array.isArray(data)) {
    // Some routers answer 200 with an error inside.
    if (error) throw new EmbedError("refused", `${failure} ${shortBody(JSON.stringify(error), secrets)}`);
    throw malformed({ failure }, "no list `data`");
  }
  const rows = data as { embedding?: unknown; index?: unknown }[];
  if (rows.length !== count) throw malformed({ failure }, `${rows.length} vectors for ${count} texts`);
  if (rows.every((row) => (row?.index ?? undefined) === undefined)) return rows.map((row) => row?.embedding);
  const ordered: unknown[] = [];
  const seen = new Set<number>();
  for (const row of rows) {
    const index = row?.index;
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= count || seen.has(index)) {
      throw malformed({ failure }, "its indices are not those of the texts");
    }
    seen.add(index);
    ordered[index] = row.embedding;
  }
  return ordered;
}

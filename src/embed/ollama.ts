import type { EmbeddingSettings } from "../home/types.ts";
import { pooled } from "./batches.ts";
import { bareModel, connectionOf, credentialsOf, urlOf, withoutQuery, type Connection } from "./connection.ts";
import { EmbedError } from "./errors.ts";
import { malformed, requestJson, type ExchangeContext } from "./exchange.ts";
import { ollamaQuery } from "./prompts.ts";
import type { MakeProtocol } from "./provider-context.ts";

const LOCAL = "http://127.0.0.1:11434";
const CLOUD = /^https:\/\/([a-z\d-]+\.)?ollama\.com(?=[/:?]|$)/i;
const FAILURE = "Ollama embeddings HTTP";
/** What people enter where a key is asked for and none is needed. */
const PLACEHOLDER = /^ollama(-local)?$/i;

/** Ollama's own API: `/api/embed`, and on servers that lack it `/api/embeddings`, one text at a time. */
export const makeProtocol: MakeProtocol = (settings, context) => {
  const { id } = context;
  const model = bareModel(settings.model ?? "nomic-embed-text", ["ollama/"]);
  const local = serverOf(context.http.env["OLLAMA_HOST"]);
  const connection = connectionOf(withFittingKey(settings, id, local), {
    id,
    defaultBaseUrl: settings.baseUrl && CLOUD.test(settings.baseUrl) ? settings.baseUrl : local,
    keyless: true,
    tidy: (url) => url.replace(/\/v1\/?$/, ""),
  });
  const dimensions = settings.outputDimensionality ?? null;
  let legacy = false;
  const finished = new Map<string, unknown>();
  return {
    id,
    model,
    endpoint: withoutQuery(connection.baseUrl),
    dimensions,
    documentInputType: null,
    promptForm: "raw",
    maxInputBytes: 8000,
    maxItems: 512,
    concurrency: 1,
    normalise: true,
    media: false,
    slow: true,
    failure: FAILURE,
    async embed(inputs, purpose, signal, exchange) {
      const texts = inputs.map(({ text }) => (purpose === "query" ? ollamaQuery(model, text) : text));
      const request = { model, texts, signal, connection, provider: id };
      if (!legacy) {
        const vectors = await viaEmbed(request, exchange);
        if (vectors !== null) return vectors.map((vector) => shortened(vector, dimensions));
        legacy = true;
      }
      return (await viaEmbeddings(request, finished, exchange)).map((vector) => shortened(vector, dimensions));
    },
  };
};

/**
 * The server that `OLLAMA_HOST` names, as Ollama's own programs read it: `host`, `:port`, `host:port` or an address. One that only
 * says where a server listens (0.0.0.0) is on this machine. What makes no sense is passed over.
 */
function serverOf(host: string | undefined): string {
  const text = host?.trim().replace(/^["']|["']$/g, "") ?? "";
  if (text === "") return LOCAL;
  const hasScheme = /^https?:\/\//i.test(text);
  const address = hasScheme ? text : `http://${text.startsWith(":") ? `127.0.0.1${text}` : text}`;
  if (!URL.canParse(address)) return LOCAL;
  const url = new URL(address);
  if (!hasScheme && url.port === "" && !/:80\/?$/.test(text)) url.port = "11434";
  if (["0.0.0.0", "[::]"].includes(url.hostname)) url.hostname = "127.0.0.1";
  return url.href.replace(/\/+$/, "");
}

/**
 * A key found in the environment or in an auth profile is for Ollama's cloud; one that stands beside a base URL in the
 * configuration is for that server.
 */
function withFittingKey(settings: EmbeddingSettings, id: string, local: string): EmbeddingSettings {
  const credentials = credentialsOf(settings, [id]);
  const isCloud = CLOUD.test(settings.baseUrl ?? credentials.baseUrl ?? local);
  const real = (key: string | undefined): string | undefined => (key && PLACEHOLDER.test(key) ? undefined : key);
  const apiKey = credentials.baseUrl !== undefined || isCloud ? real(credentials.apiKey) : undefined;
  return {
    ...settings,
    apiKey: real(settings.apiKey),
    credentials: { ...settings.credentials, [id]: { ...credentials, apiKey } },
  };
}

type Request = { model: string; texts: string[]; signal: AbortSignal; connection: Connection; provider: string };

/** Null when the server has no such endpoint. */
async function viaEmbed(request: Request, context: ExchangeContext): Promise<unknown[] | null> {
  const { model, texts } = request;
  try {
    const reply = await post("/api/embed", { model, input: texts }, request, context);
    const { embeddings } = reply as { embeddings?: unknown };
    if (!Array.isArray(embeddings)) throw malformed({ failure: FAILURE }, "no list `embeddings`");
    return embeddings;
  } catch (error) {
    if (!(error instanceof EmbedError) || error.status !== 404) throw error;
    // A missing model is a 404 too.
    if (!/\bmodel\b/i.test(error.message)) return null;
    throw new EmbedError("fatal", error.message, { status: 404, hint: `Get the model with: ollama pull ${model}` });
  }
}

/** One request per text. What was done when another one failed waits in `finished` for the next try. */
async function viaEmbeddings(
  request: Request,
  finished: Map<string, unknown>,
  context: ExchangeContext,
): Promise<unknown[]> {
  const { model, texts } = request;
  await pooled([...new Set(texts)], 4, async (prompt) => {
    if (finished.has(prompt)) return;
    const reply = await post("/api/embeddings", { model, prompt }, request, context);
    const { embedding } = reply as { embedding?: unknown };
    if (!Array.isArray(embedding)) throw malformed({ failure: FAILURE }, "missing embedding[]");
    finished.set(prompt, embedding);
  });
  const vectors = texts.map((text) => finished.get(text));
  for (const text of texts) finished.delete(text);
  return vectors;
}

function post(path: string, body: object, request: Request, context: ExchangeContext): Promise<unknown> {
  const { signal, provider, connection } = request;
  const { headers, secrets } = connection;
  const url = urlOf(connection.baseUrl, path);
  return requestJson({ url, headers, body, signal, secrets, provider, failure: FAILURE }, context);
}

/** Its first `dimensions` numbers: models that were trained for it keep their meaning, and scaling follows. */
function shortened(vector: unknown, dimensions: number | null): unknown {
  return dimensions !== null && Array.isArray(vector) ? vector.slice(0, dimensions) : vector;
}

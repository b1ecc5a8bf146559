// The wire formats of the providers.
import type { Recorded, Wire } from "./stand-in.ts";

type Body = Record<string, unknown>;

const bodyOf = (request: Recorded): Body => (request.body ?? {}) as Body;
const listOf = (value: unknown): string[] => (Array.isArray(value) ? (value as string[]) : [value as string]);

/** OpenAI's form; `index` tells whose vector it is. */
export const openAiWire: Wire = {
  texts: (request) => (request.url.pathname.endsWith("/embeddings") ? listOf(bodyOf(request)["input"]) : null),
  reply: (vectors, order) => ({
    object: "list",
    data: order.map((index) => ({ object: "embedding", index, embedding: vectors[index] })),
  }),
};

/** The same in base64, as clients of OpenAI's own libraries ask for. */
export const base64Wire: Wire = {
  ...openAiWire,
  reply: (vectors, order) => ({
    data: order.map((index) => ({ index, embedding: base64(vectors[index] as (number | null)[]) })),
  }),
};

function base64(vector: (number | null)[]): string {
  return Buffer.from(new Float32Array(vector.map((value) => value ?? Number.NaN)).buffer).toString("base64");
}

type GeminiRequest = { content: { parts: { text?: string; inlineData?: { data: string } }[] } };
const geminiText = (request: GeminiRequest): string =>
  request.content.parts.map((part) => part.text ?? part.inlineData?.data ?? "").join("|");

export const geminiWire: Wire = {
  texts(request) {
    if (request.url.pathname.endsWith(":embedContent")) return [geminiText(request.body as GeminiRequest)];
    if (!request.url.pathname.endsWith(":batchEmbedContents")) return null;
    return (bodyOf(request)["requests"] as GeminiRequest[]).map(geminiText);
  },
  reply: (vectors, order, request) =>
    request.url.pathname.endsWith(":embedContent")
      ? { embedding: { values: vectors[0] } }
      : { embeddings: order.map((index) => ({ values: vectors[index] })) },
};

export const ollamaWire: Wire = {
  texts: (request) => (request.url.pathname.endsWith("/api/embed") ? listOf(bodyOf(request)["input"]) : null),
  reply: (vectors, order) => ({ model: "m", embeddings: order.map((index) => vectors[index]) }),
};

/** Ollama before `/api/embed`. */
export const oldOllamaWire: Wire = {
  texts: (request) => (request.url.pathname.endsWith("/api/embeddings") ? listOf(bodyOf(request)["prompt"]) : null),
  reply: (vectors, order) => (order.length === 0 ? {} : { embedding: vectors[order[0] ?? 0] }),
};

export const titanWire: Wire = {
  texts: (request) => (request.url.pathname.endsWith("/invoke") ? listOf(bodyOf(request)["inputText"]) : null),
  reply: (vectors, order) => ({ embedding: order.length === 0 ? undefined : vectors[0], inputTextTokenCount: 1 }),
};

export const cohereWire: Wire = {
  texts: (request) => (request.url.pathname.endsWith("/invoke") ? listOf(bodyOf(request)["texts"]) : null),
  reply: (vectors, order) => ({ embeddings: order.map((index) => vectors[index]) }),
};

export const copilotWire: Wire = {
  ...openAiWire,
  other({ url }) {
    if (url.pathname === "/copilot_internal/v2/token") {
      return Response.json({
        token: "tid=1;proxy-ep=proxy.business.githubcopilot.com;secret-copilot-token",
        expires_at: Math.floor(Date.now() / 1000) + 1800,
      });
    }
    if (!url.pathname.endsWith("/models")) return null;
    return Response.json({
      data: [
        { id: "gpt-5", supported_endpoints: ["/chat/completions"] },
        { id: "text-embedding-3-small", supported_endpoints: ["/v1/embeddings"] },
        { id: "text-embedding-ada-002" },
      ],
    });
  },
};

import { EmbedError } from "./errors.ts";
import type { Purpose } from "./protocol.ts";

/** One family of Amazon Bedrock's embedding models: what is posted to `InvokeModel` and where its answer holds the vectors. */
export type BedrockModel = {
  maxTokens: number;
  /** Length unless another is asked for. */
  dimensions: number;
  /** Lengths that can be asked for; empty: always its own. */
  lengths: readonly number[];
  maxItems: number;
  body(texts: readonly string[], purpose: Purpose, dimensions: number): object;
  /** The raw vectors of a reply; undefined where they should be and are not. */
  vectors(reply: unknown): unknown[];
};

type Shape = Pick<BedrockModel, "maxItems" | "body" | "vectors">;

const first = (texts: readonly string[]): string => texts[0] ?? "";

const titan1: Shape = {
  maxItems: 1,
  body: (texts) => ({ inputText: first(texts) }),
  vectors: (reply) => [(reply as { embedding?: unknown }).embedding],
};
const titan2: Shape = {
  ...titan1,
  body: (texts, _purpose, dimensions) => ({ inputText: first(texts), dimensions, normalize: true }),
};
const titanImage: Shape = {
  ...titan1,
  body: (texts, _purpose, dimensions) => ({
    inputText: first(texts),
    embeddingConfig: { outputEmbeddingLength: dimensions },
  }),
};
const cohere3: Shape = {
  maxItems: 96,
  body: (texts, purpose) => ({
    texts,
    input_type: purpose === "query" ? "search_query" : "search_document",
    truncate: "END",
  }),
  vectors(reply) {
    const { embeddings } = reply as { embeddings?: unknown };
    if (Array.isArray(embeddings)) return embeddings;
    const { float } = (embeddings ?? {}) as { float?: unknown };
    return Array.isArray(float) ? float : [];
  },
};
const cohere4: Shape = {
  ...cohere3,
  body: (texts, purpose, dimensions) => ({
    ...cohere3.body(texts, purpose, dimensions),
    embedding_types: ["float"],
    output_dimension: dimensions,
  }),
};
const nova: Shape = {
  maxItems: 1,
  body: (texts, _purpose, dimensions) => ({
    taskType: "SINGLE_EMBEDDING",
    singleEmbeddingParams: {
      embeddingPurpose: "GENERIC_INDEX",
      embeddingDimension: dimensions,
      text: { truncationMode: "END", value: first(texts) },
    },
  }),
  vectors: (reply) => [(reply as { embeddings?: { embedding?: unknown }[] }).embeddings?.[0]?.embedding],
};
const twelveLabs: Shape = {
  maxItems: 1,
  body: (texts) => ({ inputType: "text", text: { inputText: first(texts) } }),
  vectors(reply) {
    type Found = { embedding?: unknown };
    const { data } = reply as { data?: Found | Found[] };
    return [(Array.isArray(data) ? data[0] : data)?.embedding];
  },
};

/** By the beginning of the id, the more particular first; the last is what unknown ids are taken for. */
const CATALOGUE: [string, BedrockModel][] = [
  ["amazon.titan-embed-text-v2", { maxTokens: 8192, dimensions: 1024, lengths: [256, 512, 1024], ...titan2 }],
  ["amazon.titan-embed-image", { maxTokens: 128, dimensions: 1024, lengths: [256, 384, 1024], ...titanImage }],
  ["amazon.nova", { maxTokens: 8192, dimensions: 1024, lengths: [256, 384, 1024, 3072], ...nova }],
  ["cohere.embed-v4", { maxTokens: 128_000, dimensions: 1536, lengths: [256, 512, 1024, 1536], ...cohere4 }],
  ["cohere.embed", { maxTokens: 512, dimensions: 1024, lengths: [], ...cohere3 }],
  ["twelvelabs.marengo-embed-2", { maxTokens: 512, dimensions: 1024, lengths: [], ...twelveLabs }],
  ["twelvelabs.", { maxTokens: 512, dimensions: 512, lengths: [], ...twelveLabs }],
  ["", { maxTokens: 8000, dimensions: 1536, lengths: [], ...titan1 }],
];

/** The family of a model id; a region (`us.`), an inference profile's ARN and a throughput suffix (`:2:8k`) make no difference. */
export function bedrockModelOf(id: string): BedrockModel {
  const bare = id.slice(id.lastIndexOf("/") + 1).replace(/^(us|eu|ap|apac|au|jp|ca|global|us-gov)\./, "");
  const found = CATALOGUE.find(([beginning]) => bare.startsWith(beginning));
  if (found === undefined) throw new EmbedError("fatal", `Unknown Bedrock model "${id}".`);
  return found[1];
}

/** The length asked for, null when the model has only one. Throws when it makes no such vectors. */
export function bedrockDimensions(id: string, model: BedrockModel, wanted: number | undefined): number | null {
  if (model.lengths.length === 0) {
    if (wanted === undefined || wanted === model.dimensions) return null;
    throw new EmbedError("fatal", `Invalid dimensions ${wanted} for ${id}. Valid values: ${model.dimensions}`);
  }
  if (wanted === undefined || model.lengths.includes(wanted)) return wanted ?? model.dimensions;
  throw new EmbedError("fatal", `Invalid dimensions ${wanted} for ${id}. Valid values: ${model.lengths.join(", ")}`);
}

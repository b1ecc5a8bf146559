// What goes over the wire: path, headers and body of each provider, as its service documents them.
import { afterEach, describe, expect, test } from "bun:test";
import { createHash, createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EmbeddingSettings } from "../../src/home/types.ts";
import type { EmbedInput } from "../../src/embed/types.ts";
import { temporaryFolder } from "../temporary.ts";
import { failure, fakeClock, KEY, never, opened, settingsFor } from "./harness.ts";
import { standIn, type Recorded, type StandIn, type Wire } from "./servers/stand-in.ts";
import * as wires from "./servers/wires.ts";

const servers: StandIn[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

type Asked = { query: Recorded; document: Recorded; server: StandIn; model: string };

/** The requests for the query "who?" and the document "Marta." */
async function requests(
  wire: Wire,
  settings: Partial<EmbeddingSettings>,
  options: { env?: Record<string, string>; length?: number; input?: EmbedInput } = {},
): Promise<Asked> {
  const server = standIn(wire);
  servers.push(server);
  server.length = options.length ?? 8;
  const env = { AWS_EC2_METADATA_DISABLED: "true", HOME: "/nowhere", ...options.env };
  const provider = await opened(settingsFor(settings), { fetch: server.fetch, clock: fakeClock(), env });
  await provider.embedQuery("who?", never());
  await provider.embedDocuments([options.input ?? { text: "Marta.", title: "People" }], never());
  const [query, document] = server.asked;
  if (!query || !document) throw new Error("too few requests");
  return { query, document, server, model: provider.model };
}

const key = (id: string): Partial<EmbeddingSettings> => ({ provider: id, credentials: { [id]: { apiKey: KEY } } });

describe("OpenAI's form", () => {
  test("openai", async () => {
    const { query, document } = await requests(wires.openAiWire, key("openai"));
    expect(query.method).toBe("POST");
    expect(query.url.href).toBe("https://api.openai.com/v1/embeddings");
    expect(query.headers["authorization"]).toBe(`Bearer ${KEY}`);
    expect(query.headers["content-type"]).toBe("application/json");
    expect(query.text).toBe('{"model":"text-embedding-3-small","input":["who?"]}');
    expect(document.text).toBe('{"model":"text-embedding-3-small","input":["Marta."]}');
  });

  test("openai with input types, a length and headers of its own", async () => {
    const { query, document } = await requests(
      wires.openAiWire,
      {
        ...key("openai"),
        model: "openai/text-embedding-3-large",
        outputDimensionality: 8,
        queryInputType: "search_query",
        documentInputType: "search_document",
        headers: { "X-Organization": "acme", authorization: "Bearer other" },
      },
      { length: 8 },
    );
    expect(query.body).toEqual({
      model: "text-embedding-3-large",
      input: ["who?"],
      dimensions: 8,
      input_type: "search_query",
    });
    expect(document.body).toMatchObject({ input_type: "search_document" });
    expect(query.headers["x-organization"]).toBe("acme");
    expect(query.headers["authorization"]).toBe("Bearer other");
  });

  test("a router behind the openai provider keeps the maker's prefix and the query of its address", async () => {
    const { query } = await requests(wires.openAiWire, {
      provider: "openai",
      model: "openai/text-embedding-3-small",
      baseUrl: "https://router.example.net/api/v1/?version=2",
      apiKey: KEY,
    });
    expect(query.url.href).toBe("https://router.example.net/api/v1/embeddings?version=2");
    expect(query.body).toMatchObject({ model: "openai/text-embedding-3-small" });
  });

  test("voyage", async () => {
    const { query, document } = await requests(wires.openAiWire, key("voyage"));
    expect(query.url.href).toBe("https://api.voyageai.com/v1/embeddings");
    expect(query.body).toEqual({ model: "voyage-4-large", input: ["who?"], input_type: "query" });
    expect(document.body).toEqual({ model: "voyage-4-large", input: ["Marta."], input_type: "document" });
  });

  test("mistral", async () => {
    const { query } = await requests(wires.openAiWire, key("mistral"));
    expect(query.url.href).toBe("https://api.mistral.ai/v1/embeddings");
    expect(query.body).toEqual({ model: "mistral-embed", input: ["who?"] });
  });

  test("deepinfra", async () => {
    const { query } = await requests(wires.openAiWire, key("deepinfra"));
    expect(query.url.href).toBe("https://api.deepinfra.com/v1/openai/embeddings");
    expect(query.body).toEqual({ model: "BAAI/bge-m3", input: ["who?"] });
  });

  test("lmstudio, which needs no key", async () => {
    const { query } = await requests(wires.openAiWire, { provider: "lmstudio", baseUrl: "https://studio.local/v1" });
    expect(query.headers["authorization"]).toBeUndefined();
    expect(query.body).toEqual({ model: "text-embedding-nomic-embed-text-v1.5", input: ["who?"] });
  });

  test("a custom provider keeps its id, its address and its key", async () => {
    const { query, model } = await requests(wires.openAiWire, {
      provider: "my-gpu",
      model: "my-gpu/bge-m3",
      credentials: { "my-gpu": { baseUrl: "https://gpu.example.net/v1", apiKey: KEY, headers: { "X-Gpu": "1" } } },
    });
    expect(query.url.href).toBe("https://gpu.example.net/v1/embeddings");
    expect(query.headers["authorization"]).toBe(`Bearer ${KEY}`);
    expect(query.headers["x-gpu"]).toBe("1");
    expect(model).toBe("bge-m3");
  });
});

describe("github-copilot", () => {
  test("exchanges the token at GitHub, asks for the models, and embeds where the subscription lives", async () => {
    const { query, server, model } = await requests(wires.copilotWire, key("github-copilot"));
    expect(model).toBe("text-embedding-3-small");
    const [exchange, models] = server.all;
    expect(exchange?.url.href).toBe("https://api.github.com/copilot_internal/v2/token");
    expect(exchange?.headers["authorization"]).toBe(`Bearer ${KEY}`);
    expect(models?.url.href).toBe("https://api.business.githubcopilot.com/models");
    expect(query.url.href).toBe("https://api.business.githubcopilot.com/embeddings");
    expect(query.headers["authorization"]).toStartWith("Bearer tid=1;");
    expect(query.headers["copilot-integration-id"]).toBeString();
    expect(
      server.all.filter(({ url }) => url.hostname !== "api.github.com").map((r) => r.headers["authorization"]),
    ).not.toContain(`Bearer ${KEY}`);
    expect(server.all.filter(({ url }) => url.hostname === "api.github.com").length).toBe(1);
  });

  test("exchanges again when the short-lived token is no longer accepted", async () => {
    const server = standIn(wires.copilotWire);
    servers.push(server);
    const provider = await opened(settingsFor(key("github-copilot")), { fetch: server.fetch, clock: fakeClock() });
    server.misbehave.failFirst = { times: 1, status: 401, body: "token expired" };
    expect((await provider.embedQuery("x", never())).length).toBe(8);
    expect(server.all.filter(({ url }) => url.hostname === "api.github.com").length).toBe(2);
  });

  test("a model that the account lacks is named with those it has", async () => {
    const asked = requests(wires.copilotWire, { ...key("github-copilot"), model: "github-copilot/voyage-x" });
    expect((await failure(asked)).message).toBe(
      'GitHub Copilot embedding model "voyage-x" is not available. Available: text-embedding-3-small, text-embedding-ada-002',
    );
  });
});

describe("gemini", () => {
  const google = { provider: "gemini", credentials: { google: { apiKey: KEY } } };

  test("gemini-embedding-001", async () => {
    const { query, document } = await requests(wires.geminiWire, google);
    const base = "https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-001";
    expect(query.url.href).toBe(`${base}:embedContent`);
    expect(query.headers["x-goog-api-key"]).toBe(KEY);
    expect(query.headers["authorization"]).toBeUndefined();
    expect(query.body).toEqual({ content: { parts: [{ text: "who?" }] }, taskType: "RETRIEVAL_QUERY" });
    expect(document.url.href).toBe(`${base}:batchEmbedContents`);
    const content = { parts: [{ text: "Marta." }] };
    const model = "models/gemini-embedding-001";
    expect(document.body).toEqual({ requests: [{ content, taskType: "RETRIEVAL_DOCUMENT", model }] });
  });

  test("the second generation's preview sends its length", async () => {
    const settings = { ...google, model: "google/gemini-embedding-2-preview", outputDimensionality: 768 };
    const { query } = await requests(wires.geminiWire, settings, { length: 768 });
    expect(query.body).toMatchObject({ taskType: "RETRIEVAL_QUERY", outputDimensionality: 768 });
  });

  test("the second generation tells texts apart by words", async () => {
    const { query, document } = await requests(
      wires.geminiWire,
      { ...google, model: "gemini-embedding-2" },
      { length: 3072, input: { text: "Marta.", title: "People" } },
    );
    expect(query.body).toEqual({
      content: { parts: [{ text: "task: search result | query: who?" }] },
      outputDimensionality: 3072,
    });
    expect(JSON.stringify(document.body)).toContain("title: People | text: Marta.");
    expect(JSON.stringify(document.body)).not.toContain("taskType");
  });

  test("pictures and sounds go along with their label", async () => {
    const media = { mimeType: "image/png", data: new Uint8Array([1, 2, 3]) };
    const { document } = await requests(
      wires.geminiWire,
      { ...google, model: "gemini-embedding-2-preview", multimodal: true },
      { length: 3072, input: { text: "Image file: team/plan.png", media } },
    );
    const [request] = (document.body as { requests: { content: object }[] }).requests;
    expect(request?.content).toEqual({
      parts: [{ text: "Image file: team/plan.png" }, { inlineData: { mimeType: "image/png", data: "AQID" } }],
    });
  });

  test("another length than the model makes is an error", async () => {
    const settings = { ...google, model: "gemini-embedding-2-preview", outputDimensionality: 500 };
    expect((await failure(requests(wires.geminiWire, settings))).message).toBe(
      "Invalid outputDimensionality 500 for gemini-embedding-2-preview. Valid values: 768, 1536, 3072",
    );
  });

  test("an OAuth login's JSON becomes a bearer token, and an OpenAI tail of the address is dropped", async () => {
    const { query } = await requests(wires.geminiWire, {
      provider: "gemini",
      apiKey: '{"token":"oauth-token-1","projectId":"p"}',
      baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai/",
    });
    expect(query.headers["authorization"]).toBe("Bearer oauth-token-1");
    expect(query.url.pathname).toBe("/v1beta/models/gemini-embedding-001:embedContent");
  });
});

describe("ollama", () => {
  const box = { provider: "ollama", baseUrl: "https://box.example.net/v1" };

  test("sends batches to /api/embed with the model's query form", async () => {
    const { query, document } = await requests(wires.ollamaWire, box);
    expect(query.url.href).toBe("https://box.example.net/api/embed");
    expect(query.headers["authorization"]).toBeUndefined();
    expect(query.body).toEqual({ model: "nomic-embed-text", input: ["search_query: who?"] });
    expect(document.body).toEqual({ model: "nomic-embed-text", input: ["Marta."] });
  });

  test("turns to /api/embeddings where the other is missing, and stays there", async () => {
    const { server, query } = await requests(wires.oldOllamaWire, { ...box, model: "all-minilm" });
    expect(query.body).toEqual({ model: "all-minilm", prompt: "who?" });
    expect(server.all.map(({ url }) => url.pathname)).toEqual(["/api/embed", "/api/embeddings", "/api/embeddings"]);
  });

  test("a model that is not there says how to get it", async () => {
    const server = standIn(wires.ollamaWire);
    servers.push(server);
    server.misbehave.failFirst = {
      times: 1,
      status: 404,
      body: '{"error":"model \\"x\\" not found, try pulling it first"}',
    };
    const provider = await opened(settingsFor({ ...box, model: "x" }), { fetch: server.fetch });
    const error = await failure(provider.embedQuery("q", never()));
    expect(error.hint).toBe("Get the model with: ollama pull x");
    expect(server.all.length).toBe(1);
  });

  test("a key from the environment is for the cloud alone; a placeholder for nobody", async () => {
    const credentials = { ollama: { apiKey: KEY } };
    const own = await requests(wires.ollamaWire, { ...box, credentials });
    expect(own.query.headers["authorization"]).toBeUndefined();
    const cloud = await requests(wires.ollamaWire, { ...box, baseUrl: "https://ollama.com", credentials });
    expect(cloud.query.headers["authorization"]).toBe(`Bearer ${KEY}`);
    const evil = await requests(wires.ollamaWire, { ...box, baseUrl: "https://ollama.com.example.net", credentials });
    expect(evil.query.headers["authorization"]).toBeUndefined();
    const placeholder = await requests(wires.ollamaWire, { ...box, apiKey: "ollama-local" });
    expect(placeholder.query.headers["authorization"]).toBeUndefined();
  });

  test("shortens and scales when a length is asked for", async () => {
    const server = standIn(wires.ollamaWire);
    servers.push(server);
    const provider = await opened(settingsFor({ ...box, outputDimensionality: 4 }), { fetch: server.fetch });
    const vector = await provider.embedQuery("q", never());
    expect(vector.length).toBe(4);
    expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
  });
});

/** The signature a request should have, by the published steps of AWS Signature Version 4. */
function signatureOf(request: Recorded, secret: string): string {
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();
  const date = request.headers["x-amz-date"] ?? "";
  const [, scope = "", names = ""] =
    /Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+)/.exec(request.headers["authorization"] ?? "") ?? [];
  const value = (name: string) => (name === "host" ? request.url.host : request.headers[name]?.trim());
  const headers = names.split(";").map((name) => `${name}:${value(name)}\n`);
  // Each part of the path is encoded once more than in the request line.
  const path = request.url.pathname.split("/").map(encodeURIComponent).join("/");
  const canonical = [request.method, path, "", headers.join(""), names, sha256(request.text)].join("\n");
  const toSign = ["AWS4-HMAC-SHA256", date, scope, sha256(canonical)].join("\n");
  const key = scope.split("/").reduce<string | Buffer>((from, part) => hmac(from, part), `AWS4${secret}`);
  return hmac(key, toSign).toString("hex");
}

describe("bedrock", () => {
  const env = { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: KEY, AWS_REGION: "eu-west-1" };

  test("Titan 2, signed with the region's scope", async () => {
    const { query } = await requests(wires.titanWire, { provider: "bedrock" }, { env, length: 1024 });
    expect(query.url.href).toBe(
      "https://bedrock-runtime.eu-west-1.amazonaws.com/model/amazon.titan-embed-text-v2%3A0/invoke",
    );
    expect(query.headers["authorization"]).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/bedrock\/aws4_request, SignedHeaders=[a-z;-]+, Signature=[\da-f]{64}$/,
    );
    expect(query.headers["x-amz-date"]).toMatch(/^\d{8}T\d{6}Z$/);
    expect(query.headers["authorization"]).toEndWith(`Signature=${signatureOf(query, KEY)}`);
    expect(query.body).toEqual({ inputText: "who?", dimensions: 1024, normalize: true });
  });

  test("a bearer token is used as it is", async () => {
    const withToken = { ...env, AWS_BEARER_TOKEN_BEDROCK: "token-of-bedrock" };
    const { query } = await requests(wires.titanWire, { provider: "bedrock" }, { env: withToken, length: 1024 });
    expect(query.headers["authorization"]).toBe("Bearer token-of-bedrock");
    expect(query.headers["x-amz-date"]).toBeUndefined();
  });

  test("Cohere tells queries and documents apart", async () => {
    const settings = { provider: "bedrock", model: "eu.cohere.embed-multilingual-v3" };
    const { query, document } = await requests(wires.cohereWire, settings, { env });
    expect(query.body).toEqual({ texts: ["who?"], input_type: "search_query", truncate: "END" });
    expect(document.body).toEqual({ texts: ["Marta."], input_type: "search_document", truncate: "END" });
  });

  test("keys come from the shared file's profile", async () => {
    const folder = temporaryFolder("aws-");
    const file = join(folder, "credentials");
    writeFileSync(
      file,
      "[default]\naws_access_key_id = A0\naws_secret_access_key = s0\n[work]\naws_access_key_id=AKIDWORK\naws_secret_access_key=s1\naws_session_token=session-token-1\n",
    );
    const env = { AWS_SHARED_CREDENTIALS_FILE: file, AWS_PROFILE: "work" };
    const { query } = await requests(wires.titanWire, { provider: "bedrock" }, { env, length: 1024 });
    expect(query.headers["authorization"]).toContain("Credential=AKIDWORK/");
    expect(query.headers["authorization"]).toContain("/us-east-1/bedrock/");
    expect(query.headers["x-amz-security-token"]).toBe("session-token-1");
  });

  test("keys that were replaced in the shared file are read again", async () => {
    const file = join(temporaryFolder("aws-"), "credentials");
    const write = (id: string) => writeFileSync(file, `[default]\naws_access_key_id=${id}\naws_secret_access_key=s\n`);
    write("AKIDOLD");
    const server = standIn(wires.titanWire);
    servers.push(server);
    server.length = 1024;
    const env = { AWS_SHARED_CREDENTIALS_FILE: file, AWS_EC2_METADATA_DISABLED: "true" };
    const provider = await opened(settingsFor({ provider: "bedrock" }), { fetch: server.fetch, env });
    write("AKIDNEW");
    server.misbehave.failFirst = { times: 1, status: 403, body: "ExpiredTokenException" };
    await provider.embedQuery("x", never());
    expect(server.asked.map(({ headers }) => /Credential=(\w+)/.exec(headers["authorization"] ?? "")?.[1])).toEqual([
      "AKIDOLD",
      "AKIDNEW",
    ]);
  });

  test("keys come from the container's endpoint, with its token", async () => {
    const { server } = await (async () => {
      const endpoint = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch: (request) =>
          request.headers.get("authorization") === "container-token"
            ? Response.json({ AccessKeyId: "AKIDBOX", SecretAccessKey: "s2", Token: "t2" })
            : new Response("no", { status: 403 }),
      });
      const env = {
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${endpoint.port}/creds`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN: "container-token",
      };
      const asked = await requests(wires.titanWire, { provider: "bedrock" }, { env, length: 1024 });
      await endpoint.stop(true);
      return asked;
    })();
    expect(server.asked[0]?.headers["authorization"]).toContain("Credential=AKIDBOX/");
  });

  test("without any credentials it says so as every provider does", async () => {
    const error = await failure(requests(wires.titanWire, { provider: "bedrock" }));
    expect(error.message).toStartWith('No API key found for provider "bedrock".');
  });

  test("a length that the model does not make is an error", async () => {
    const error = await failure(requests(wires.titanWire, { provider: "bedrock", outputDimensionality: 300 }, { env }));
    expect(error.message).toBe("Invalid dimensions 300 for amazon.titan-embed-text-v2:0. Valid values: 256, 512, 1024");
  });
});

describe("long texts", () => {
  test("go in pieces, of which the vector is the mean: nothing is lost", async () => {
    const server = standIn(wires.geminiWire);
    servers.push(server);
    const provider = await opened(settingsFor({ provider: "gemini", apiKey: KEY }), { fetch: server.fetch });
    const text = "El café de Zoë – 漢字かな交じり文 🐘 ".repeat(150);
    const [vector, short] = await provider.embedDocuments([{ text }, { text: "short" }], never());
    expect(Math.hypot(...(vector ?? []))).toBeCloseTo(1, 5);
    expect(short?.length).toBe(8);
    const parts = server.embedded.filter((part) => part !== "short");
    expect(parts.join("")).toBe(text);
    for (const part of parts) expect(Buffer.byteLength(part)).toBeLessThanOrEqual(provider.maxInputBytes);
    expect(parts.join("")).not.toContain("\uFFFD");
  });
});

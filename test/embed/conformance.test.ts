import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { EmbeddingProvider } from "../../src/embed/types.ts";
import type { EmbeddingSettings } from "../../src/home/types.ts";
import { failure, fakeClock, KEY, never, opened, settingsFor, shortPatience } from "./harness.ts";
import { standIn, type StandIn, type Wire } from "./servers/stand-in.ts";
import { unit, vectorOf } from "./servers/vectors.ts";
import * as wires from "./servers/wires.ts";

type Case = {
  name: string;
  wire: Wire;
  settings: Partial<EmbeddingSettings>;
  env?: Record<string, string>;
  normalises: boolean;
  /** Whether replies say whose vector is whose. */
  indexed: boolean;
  single?: boolean;
  /** Requests that a wrong key costs: one more where a token was exchanged for it. */
  keyTries?: number;
};

const keyed = (id: string): Partial<EmbeddingSettings> => ({ provider: id, credentials: { [id]: { apiKey: KEY } } });
const aws = { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: KEY };

const CASES: Case[] = [
  { name: "openai", wire: wires.openAiWire, settings: keyed("openai"), normalises: false, indexed: true },
  { name: "openai in base64", wire: wires.base64Wire, settings: keyed("openai"), normalises: false, indexed: true },
  {
    name: "openai-compatible",
    wire: wires.openAiWire,
    settings: { provider: "openai-compatible", baseUrl: "https://models.example.net/v1", model: "e5", apiKey: KEY },
    normalises: false,
    indexed: true,
  },
  {
    name: "custom provider",
    wire: wires.openAiWire,
    settings: {
      provider: "my-gpu",
      model: "bge-m3",
      credentials: { "my-gpu": { baseUrl: "https://gpu.example.net/v1", apiKey: KEY, api: "openai-completions" } },
    },
    normalises: false,
    indexed: true,
  },
  { name: "voyage", wire: wires.openAiWire, settings: keyed("voyage"), normalises: false, indexed: true },
  { name: "mistral", wire: wires.openAiWire, settings: keyed("mistral"), normalises: false, indexed: true },
  { name: "deepinfra", wire: wires.openAiWire, settings: keyed("deepinfra"), normalises: false, indexed: true },
  {
    name: "lmstudio",
    wire: wires.openAiWire,
    settings: { provider: "lmstudio", baseUrl: "https://studio.example.net/v1", apiKey: KEY },
    normalises: false,
    indexed: true,
  },
  {
    name: "github-copilot",
    wire: wires.copilotWire,
    settings: keyed("github-copilot"),
    normalises: true,
    indexed: true,
    keyTries: 2,
  },
  {
    name: "gemini",
    wire: wires.geminiWire,
    settings: { provider: "gemini", credentials: { google: { apiKey: KEY } } },
    normalises: true,
    indexed: false,
  },
  {
    name: "ollama",
    wire: wires.ollamaWire,
    settings: { provider: "ollama", model: "all-minilm", baseUrl: "https://box.example.net", apiKey: KEY },
    normalises: true,
    indexed: false,
  },
  {
    name: "ollama of old",
    wire: wires.oldOllamaWire,
    settings: { provider: "ollama", model: "all-minilm", baseUrl: "https://box.example.net", apiKey: KEY },
    normalises: true,
    indexed: false,
    single: true,
  },
  {
    name: "bedrock titan",
    wire: wires.titanWire,
    settings: { provider: "bedrock", model: "amazon.titan-embed-text-v1" },
    env: aws,
    normalises: true,
    indexed: false,
    single: true,
  },
  {
    name: "bedrock cohere",
    wire: wires.cohereWire,
    settings: { provider: "bedrock", model: "cohere.embed-english-v3" },
    env: aws,
    normalises: true,
    indexed: false,
  },
];

/** Forty texts, small enough to travel together. */
const TEXTS = Array.from({ length: 40 }, (_, i) => `note ${i}: the router in room ${i * 7} was replaced`);
const inputs = (texts: readonly string[]) => texts.map((text) => ({ text }));

for (const { name, wire, settings, env = {}, normalises, indexed, single, keyTries = 1 } of CASES) {
  describe(name, () => {
    let server: StandIn;
    let clock: ReturnType<typeof fakeClock>;
    const open = (changes: Partial<EmbeddingSettings> = {}, attemptMs?: number): Promise<EmbeddingProvider> =>
      opened(settingsFor({ ...settings, ...changes }), {
        fetch: server.fetch,
        clock,
        env: { AWS_EC2_METADATA_DISABLED: "true", ...env },
        patience: shortPatience(attemptMs),
      });
    const expected = (text: string): number[] => {
      const vector = vectorOf(text, server.length);
      return normalises ? unit(vector) : vector.map(Math.fround);
    };
    const expectComplete = (vectors: Float32Array[], texts: readonly string[]): void => {
      expect(vectors.length).toBe(texts.length);
      for (const [i, vector] of vectors.entries()) {
        const right = expected(texts[i] ?? "");
        expect(vector.length).toBe(right.length);
        for (const [j, value] of vector.entries()) expect(value).toBeCloseTo(right[j] ?? 0, 5);
      }
    };

    beforeEach(() => {
      server = standIn(wire);
      clock = fakeClock();
    });
    afterEach(() => server.stop());

    test("embeds a query and documents, in order", async () => {
      const provider = await open();
      expectComplete([await provider.embedQuery("who is Marta?", never())], ["who is Marta?"]);
      expectComplete(await provider.embedDocuments(inputs(TEXTS), never()), TEXTS);
    });

    test("asks for nothing when there is nothing to embed", async () => {
      const provider = await open();
      expect((await provider.embedQuery("  \n", never())).length).toBe(0);
      const [first, blank] = await provider.embedDocuments(inputs(["a", " "]), never());
      expect([first?.length, blank?.length]).toEqual([8, 0]);
      expect(server.embedded).toEqual(["a"]);
      expect(await provider.embedDocuments([], never())).toEqual([]);
    });

    test("sends the same words once", async () => {
      const texts = ["twice", "once", "twice"];
      const saved: number[] = [];
      const onVectors = (indices: number[]) => void saved.push(...indices);
      expectComplete(await (await open()).embedDocuments(inputs(texts), never(), { onVectors }), texts);
      expect(server.embedded.toSorted()).toEqual(["once", "twice"]);
      expect(new Set(saved)).toEqual(new Set([0, 1, 2]));
    });

    test("puts at most 8,000 bytes into one request", async () => {
      const texts = Array.from({ length: 30 }, (_, i) => `${i} ${"ä".repeat(240)}`);
      expectComplete(await (await open()).embedDocuments(inputs(texts), never()), texts);
      for (const request of server.asked) {
        const sum = (wire.texts(request) ?? []).reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
        expect(sum).toBeLessThanOrEqual(8000);
      }
    });

    test("finds a smaller cap of the server, embeds nothing twice, and remembers it", async () => {
      server.misbehave.maxItems = 16;
      const provider = await open();
      expectComplete(await provider.embedDocuments(inputs(TEXTS), never()), TEXTS);
      expect(server.embedded.toSorted()).toEqual(TEXTS.toSorted());
      const before = server.asked.length;
      await provider.embedDocuments(inputs(TEXTS), never());
      expect(server.asked.length - before).toBe(single ? 40 : 4);
    });

    test("waits as long as 429 asks, twice", async () => {
      server.misbehave.failFirst = { times: 2, status: 429, headers: { "Retry-After": "20" }, body: "rate limit" };
      expectComplete(await (await open({ concurrency: 1 })).embedDocuments(inputs(TEXTS), never()), TEXTS);
      expect(server.embedded.toSorted()).toEqual(TEXTS.toSorted());
      expect(clock.pauses.length).toBeGreaterThanOrEqual(single ? 1 : 2);
      for (const pause of clock.pauses) expect(pause).toBeGreaterThanOrEqual(20_000);
    });

    test("gives up on 429 in the end, as unavailable", async () => {
      server.misbehave.failFirst = { times: 99, status: 429, body: "too many requests" };
      const error = await failure((await open()).embedQuery("x", never()));
      expect(error.code).toBe("EMBED_UNAVAILABLE");
      expect(error.message).toContain("429");
      expect(server.asked.length).toBe(3);
    });

    const testIndexed = indexed ? test : () => undefined;
    testIndexed("restores the order by index", async () => {
      server.misbehave.reorder = true;
      expectComplete(await (await open()).embedDocuments(inputs(TEXTS), never()), TEXTS);
    });

    test("does not take too few vectors", async () => {
      server.misbehave.dropOne = true;
      const error = await failure((await open()).embedDocuments(inputs(TEXTS.slice(0, 3)), never()));
      expect(error.code).toBe("EMBED_UNAVAILABLE");
      expect(error.message).toContain("malformed");
    });

    test("names the text whose vector is no vector, and keeps the others", async () => {
      server.misbehave.notANumber = "note 11:";
      const rejected: number[] = [];
      const vectors = await (
        await open()
      ).embedDocuments(inputs(TEXTS), never(), {
        onRejected: (index) => rejected.push(index),
      });
      expect(rejected).toEqual([11]);
      expect(vectors[11]?.length).toBe(0);
      expectComplete(vectors.toSpliced(11, 1), TEXTS.toSpliced(11, 1));
    });

    test("names the text whose vector has another length", async () => {
      server.misbehave.shortFor = "note 23:";
      const rejected: number[] = [];
      const vectors = await (
        await open()
      ).embedDocuments(inputs(TEXTS), never(), {
        onRejected: (index) => rejected.push(index),
      });
      expect(rejected).toEqual([23]);
      expectComplete(vectors.toSpliced(23, 1), TEXTS.toSpliced(23, 1));
    });

    test("halves a refused batch down to the one bad text", async () => {
      server.misbehave.poison = "note 29:";
      const rejected: [number, string][] = [];
      const saved: number[] = [];
      const vectors = await (
        await open()
      ).embedDocuments(inputs(TEXTS), never(), {
        onVectors: (indices) => void saved.push(...indices),
        onRejected: (index, error) => rejected.push([index, (error as { code?: string }).code ?? ""]),
      });
      expect(rejected).toEqual([[29, "EMBED_REJECTED"]]);
      expectComplete(vectors.toSpliced(29, 1), TEXTS.toSpliced(29, 1));
      const others = TEXTS.map((_, i) => i).filter((i) => i !== 29);
      expect(saved.toSorted((a, b) => a - b)).toEqual(others);
      expect(server.embedded.filter((text) => text !== "memory").toSorted()).toEqual(TEXTS.toSpliced(29, 1).toSorted());
    });

    test("without anybody to tell, a bad text is an error after the others are done", async () => {
      server.misbehave.poison = "note 3:";
      const error = await failure((await open()).embedDocuments(inputs(TEXTS), never()));
      expect(error.code).toBe("EMBED_REJECTED");
      expect(server.embedded.filter((text) => text !== "memory").length).toBe(39);
    });

    test("a server that refuses everything is unavailable, and no text is blamed", async () => {
      server.misbehave.poison = "";
      const rejected: number[] = [];
      const error = await failure(
        (await open()).embedDocuments(inputs(TEXTS), never(), { onRejected: (index) => rejected.push(index) }),
      );
      expect(error.code).toBe("EMBED_UNAVAILABLE");
      expect(rejected).toEqual([]);
    });

    test("takes a wrong key for what it is, at once, and never prints it", async () => {
      const secret = env["AWS_SECRET_ACCESS_KEY"] ?? KEY;
      server.misbehave.failFirst = { times: 9, status: 401, body: JSON.stringify({ error: `bad key ${secret}` }) };
      const error = await failure((await open()).embedQuery("x", never()));
      expect(error.code).toBe("EMBED_UNAVAILABLE");
      expect(error.message).toContain("401");
      expect(JSON.stringify([error.message, error.hint, error.stack, String(error.cause)])).not.toContain(secret);
      expect(server.asked.length).toBe(keyTries);
    });

    test("no answer is slowness", async () => {
      server.misbehave.hang = true;
      const error = await failure((await open({}, 40)).embedQuery("x", never()));
      expect(error.code).toBe("EMBED_TIMEOUT");
      expect(error.message).toStartWith("memory embeddings query timed out after");
    });

    test("stops when the caller does", async () => {
      const provider = await open();
      server.misbehave.hang = true;
      const error = await failure(provider.embedDocuments(inputs(TEXTS), AbortSignal.timeout(40)));
      expect(error.code).toBe("EMBED_TIMEOUT");
    });

    test("an error answer stays one when the time runs out", async () => {
      const provider = await open();
      const caller = new AbortController();
      server.misbehave.failFirst = { times: 99, status: 503, body: "overloaded" };
      clock.sleep = async () => {
        caller.abort();
        throw new Error("woken");
      };
      const error = await failure(provider.embedQuery("x", caller.signal));
      expect(error.code).toBe("EMBED_UNAVAILABLE");
      expect(error.message).toContain("503");
    });

    test("tries again when the connection breaks", async () => {
      const provider = await open();
      server.misbehave.closeFirst = 1;
      expectComplete(await provider.embedDocuments(inputs(TEXTS.slice(0, 4)), never()), TEXTS.slice(0, 4));
    });

    test("a connection that always breaks is a failure, not slowness", async () => {
      const provider = await open();
      server.misbehave.closeFirst = 99;
      const error = await failure(provider.embedDocuments(inputs(TEXTS.slice(0, 4)), never()));
      expect(error.code).toBe("EMBED_UNAVAILABLE");
      expect(error.message).toContain("closed the connection");
    });

    test("a page that is not JSON is unavailable", async () => {
      server.misbehave.notJson = true;
      const error = await failure((await open()).embedQuery("x", never()));
      expect(error.code).toBe("EMBED_UNAVAILABLE");
      expect(error.message).toContain("not JSON");
    });

    test("leaves its key behind when it is sent elsewhere", async () => {
      const provider = await open({ headers: { "X-Team": "blue-and-secret" } });
      server.misbehave.redirect = { status: 307, to: "https://198.51.100.7/elsewhere" };
      const before = server.all.length;
      await failure(provider.embedQuery("x", never()));
      const followed = server.all.slice(before).filter(({ url }) => url.hostname === "198.51.100.7");
      expect(followed.length).toBeGreaterThan(0);
      for (const { headers } of followed) {
        expect(JSON.stringify(headers)).not.toContain(KEY);
        expect(headers["authorization"] ?? headers["x-goog-api-key"] ?? headers["x-team"]).toBeUndefined();
      }
    });
  });
}

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { memoryJobStore, type JobStore } from "../../src/embed/batch-jobs/types.ts";
import type { EmbeddingProvider } from "../../src/embed/types.ts";
import type { EmbeddingSettings } from "../../src/home/types.ts";
import { failure, fakeClock, KEY, never, opened, settingsFor, shortPatience } from "./harness.ts";
import { batchServer, withGeminiBatches, withOpenAiBatches, type BatchServer } from "./servers/batch-api.ts";
import { standIn, type StandIn } from "./servers/stand-in.ts";
import { unit, vectorOf } from "./servers/vectors.ts";
import { geminiWire, openAiWire } from "./servers/wires.ts";

const TEXTS = Array.from({ length: 30 }, (_, i) => `note ${i} about something`);
const inputs = (texts: readonly string[]) => texts.map((text) => ({ text }));
const PROVIDERS = [
  { id: "openai", wire: (state: BatchServer) => withOpenAiBatches(openAiWire, state), normalises: false },
  { id: "voyage", wire: (state: BatchServer) => withOpenAiBatches(openAiWire, state), normalises: false },
  { id: "gemini", wire: (state: BatchServer) => withGeminiBatches(geminiWire, state), normalises: true },
];

for (const { id, wire, normalises } of PROVIDERS) {
  describe(`batch jobs of ${id}`, () => {
    let state: BatchServer;
    let server: StandIn;
    let store: JobStore;
    let clock: ReturnType<typeof fakeClock>;
    const open = (batch: Partial<EmbeddingSettings["batch"]> = {}): Promise<EmbeddingProvider> =>
      opened(
        settingsFor({
          provider: id,
          apiKey: KEY,
          batch: { enabled: true, wait: true, concurrency: 2, pollIntervalMs: 2000, timeoutMinutes: 60, ...batch },
        }),
        { fetch: server.fetch, clock, jobStore: store },
      );
    const expectComplete = (vectors: Float32Array[], texts: readonly string[]): void => {
      expect(vectors.length).toBe(texts.length);
      for (const [i, vector] of vectors.entries()) {
        const raw = vectorOf(texts[i] ?? "");
        const right = normalises ? unit(raw) : raw;
        expect(vector.length).toBe(right.length);
        for (const [j, value] of vector.entries()) expect(value).toBeCloseTo(right[j] ?? 0, 5);
      }
    };

    beforeEach(() => {
      state = batchServer();
      server = standIn(wire(state));
      store = memoryJobStore();
      clock = fakeClock();
    });
    afterEach(() => server.stop());

    test("embeds documents in one job, and questions at once", async () => {
      const provider = await open();
      expectComplete(await provider.embedDocuments(inputs(TEXTS), never()), TEXTS);
      expect(state.created.length).toBe(1);
      expect(server.asked.length).toBe(0);
      expect(clock.pauses.length).toBe(2);
      expect(await store.load()).toEqual([]);
      expect((await provider.embedQuery("who?", never())).length).toBe(8);
      expect(server.asked.length).toBe(1);
      expect(provider.batchStatus?.()).toMatchObject({ enabled: true, failures: 0, limit: 2 });
    });

    test("off, nothing of it is used", async () => {
      const provider = await open({ enabled: false });
      expectComplete(await provider.embedDocuments(inputs(TEXTS), never()), TEXTS);
      expect([state.created.length, provider.batchStatus]).toEqual([0, undefined]);
    });

    test("not awaited, it is pending; after a restart its results are fetched and nothing is sent again", async () => {
      const error = await failure((await open({ wait: false })).embedDocuments(inputs(TEXTS), never()));
      expect(error.code).toBe("EMBED_PENDING");
      expect((await store.load()).length).toBe(1);
      state.polls = 0;
      const texts = [...TEXTS, "one more"];
      const later = await open();
      expectComplete(await later.embedDocuments(inputs(texts), never()), texts);
      expect(state.embedded.toSorted()).toEqual(texts.toSorted());
      expect(await store.load()).toEqual([]);
    });

    test("given up while waiting, it is there for the next process", async () => {
      const stop = new AbortController();
      clock.sleep = async () => {
        stop.abort();
        throw new Error("stopped");
      };
      await failure((await open()).embedDocuments(inputs(TEXTS), stop.signal));
      expect((await store.load()).length).toBe(1);
      clock = fakeClock();
      expectComplete(await (await open()).embedDocuments(inputs(TEXTS), never()), TEXTS);
      expect(state.created.length).toBe(1);
    });

    test("a job is kept until all its results are handed out", async () => {
      await failure((await open({ wait: false })).embedDocuments(inputs(TEXTS), never()));
      const provider = await open();
      expectComplete(await provider.embedDocuments(inputs(TEXTS.slice(0, 10)), never()), TEXTS.slice(0, 10));
      expect((await store.load())[0]?.keys.length).toBe(20);
      expectComplete(await provider.embedDocuments(inputs(TEXTS.slice(10)), never()), TEXTS.slice(10));
      expect(await store.load()).toEqual([]);
      expect(state.created.length).toBe(1);
    });

    test("a failed job is replaced by ordinary requests, and the second ends all jobs", async () => {
      state.end = "failed";
      const provider = await open();
      expectComplete(await provider.embedDocuments(inputs(TEXTS), never()), TEXTS);
      expect(provider.batchStatus?.()).toMatchObject({ enabled: true, failures: 1, lastProvider: id });
      expect(provider.batchStatus?.().lastError).toContain("the model is on holiday");
      await provider.embedDocuments(inputs(["second"]), never());
      expect(provider.batchStatus?.()).toMatchObject({ enabled: false, failures: 2 });
      await provider.embedDocuments(inputs(["third"]), never());
      expect(state.created.length).toBe(2);
      expect(server.embedded).toContain("third");
    });

    test("a line without an end is refused, and neither held in memory nor waited for", async () => {
      let poured = 0;
      const chunk = new Uint8Array(64 * 1024).fill(32);
      state.sent = () =>
        new ReadableStream({
          async pull(stream) {
            await new Promise((resolve) => setImmediate(resolve));
            poured += chunk.length;
            stream.enqueue(chunk);
          },
        });
      const provider = await open();
      expectComplete(await provider.embedDocuments(inputs(TEXTS), never()), TEXTS);
      expect(provider.batchStatus?.().lastError).toContain("a line of the file is longer than 512 KB");
      expect(poured).toBeLessThan(64 * 1024 * 1024);
    });

    test("of a result file that breaks off into nonsense, what came before is kept and not embedded twice", async () => {
      const texts = Array.from({ length: 600 }, (_, i) => `note ${i} about something`);
      state.sent = (text) => {
        const lines = text.split("\n");
        return [
          ...lines.slice(0, 400),
          ...lines.slice(400).map((line) => line.replace(/\[-?[\d.e-]+,/, "[null,")),
        ].join("\n");
      };
      const provider = await open();
      expectComplete(await provider.embedDocuments(inputs(texts), never()), texts);
      expect(server.embedded.length).toBe(600 - 256);
    });

    test("a full disk counted as a fault of the service, and took the results of the job with it", async () => {
      const provider = await open();
      const full = Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });
      const onVectors = (): never => {
        throw full;
      };
      expect(await failure(provider.embedDocuments(inputs(TEXTS), never(), { onVectors }))).toBe(full);
      expect(provider.batchStatus?.()).toMatchObject({ failures: 0 });
      expectComplete(await provider.embedDocuments(inputs(TEXTS), never()), TEXTS);
      expect([state.created.length, server.embedded.length]).toEqual([1, 0]);
      expect(await store.load()).toEqual([]);
    });

    test("a file of an error that never ends holds nothing up", async () => {
      if (id === "gemini") return;
      state.end = "failed";
      state.sent = () => new ReadableStream({ pull: () => new Promise(() => {}) });
      const settings = settingsFor({
        provider: id,
        apiKey: KEY,
        batch: { enabled: true, wait: true, concurrency: 2, pollIntervalMs: 1, timeoutMinutes: 1 },
      });
      const provider = await opened(settings, {
        fetch: server.fetch,
        clock,
        jobStore: store,
        patience: shortPatience(200),
      });
      expectComplete(await provider.embedDocuments(inputs(TEXTS), never()), TEXTS);
    });

    test("a success forgives", async () => {
      state.end = "failed";
      const provider = await open();
      await provider.embedDocuments(inputs(["first"]), never());
      state.end = "completed";
      await provider.embedDocuments(inputs(["second"]), never());
      expect(provider.batchStatus?.()).toMatchObject({ enabled: true, failures: 0 });
    });

    test("one that does not end in time is given another chance, then up", async () => {
      state.polls = 100_000;
      const provider = await open({ timeoutMinutes: 1 });
      expectComplete(await provider.embedDocuments(inputs(TEXTS), never()), TEXTS);
      expect(provider.batchStatus?.()).toMatchObject({ enabled: false, failures: 2 });
      expect(provider.batchStatus?.().lastError).toContain("timed out after 60000ms");
      expect(state.created.length).toBe(1);
    });

    test("what a service without batch jobs says does not stop the embedding", async () => {
      state.available = false;
      const provider = await open();
      expectComplete(await provider.embedDocuments(inputs(TEXTS), never()), TEXTS);
      const { lastError, failures } = provider.batchStatus?.() ?? {};
      expect(failures).toBe(id === "gemini" ? 2 : 1);
      if (id === "gemini") expect(lastError).toContain("asyncBatchEmbedContent not available");
    });
  });
}

test("a text in two pieces had one of them for both when the results were read anew before the other came", async () => {
  const state = batchServer();
  const server = standIn(withOpenAiBatches(openAiWire, state));
  const long = Array.from({ length: 2000 }, (_, i) => `word${i}`).join(" ");
  const texts = [long, ...Array.from({ length: 400 }, (_, i) => `note ${i} about something`)];
  let downloads = 0;
  state.sent = (text) => {
    const [first = "", second = "", ...others] = text.split("\n").toReversed();
    const begun = [first, ...others, ""].join("\n");
    if (++downloads > 2) return begun + second;
    return new ReadableStream({
      start: (stream) => stream.enqueue(new TextEncoder().encode(begun)),
      pull: () => new Promise(() => {}),
    });
  };
  const batch = { enabled: true, wait: true, concurrency: 1, pollIntervalMs: 1, timeoutMinutes: 1 };
  const settings = settingsFor({ provider: "openai", apiKey: KEY, batch });
  const options = { fetch: server.fetch, patience: shortPatience(200) };
  const vectors = await (await opened(settings, options)).embedDocuments(inputs(texts), never());
  expect([downloads, server.embedded.length]).toEqual([3, 0]);
  const inline = await opened({ ...settings, batch: { ...batch, enabled: false } }, options);
  expect(vectors[0]).toEqual((await inline.embedDocuments(inputs([long]), never()))[0]);
  await server.stop();
});

describe("the wire", () => {
  test("of OpenAI's jobs; a line that failed is asked for again by itself", async () => {
    const state = batchServer();
    const server = standIn(withOpenAiBatches(openAiWire, state));
    state.badText = "note 3 ";
    const batch = { enabled: true, wait: true, concurrency: 2, pollIntervalMs: 1, timeoutMinutes: 1 };
    const settings = settingsFor({ provider: "openai", apiKey: KEY, batch });
    const provider = await opened(settings, { fetch: server.fetch });
    const vectors = await provider.embedDocuments(inputs(TEXTS), never());
    expect(vectors.every((vector) => vector.length === 8)).toBe(true);
    expect(server.embedded).toEqual(["note 3 about something"]);
    expect(state.lines[0]).toEqual({
      custom_id: expect.stringMatching(/^[\da-f]{32}$/),
      method: "POST",
      url: "/v1/embeddings",
      body: { model: "text-embedding-3-small", input: "note 0 about something" },
    });
    expect(state.created[0]).toEqual({
      input_file_id: "file-1",
      endpoint: "/v1/embeddings",
      completion_window: "24h",
      metadata: { source: "memq" },
    });
    expect(server.all[0]?.headers["authorization"]).toBe(`Bearer ${KEY}`);
    expect(server.all[0]?.text).toContain('name="purpose"\r\n\r\nbatch\r\n');
    await server.stop();
  });

  test("of Voyage's jobs", async () => {
    const state = batchServer();
    const server = standIn(withOpenAiBatches(openAiWire, state));
    const batch = { enabled: true, wait: true, concurrency: 2, pollIntervalMs: 1, timeoutMinutes: 1 };
    const provider = await opened(settingsFor({ provider: "voyage", apiKey: KEY, batch }), { fetch: server.fetch });
    await provider.embedDocuments(inputs(["a"]), never());
    expect(state.lines[0]).toEqual({ custom_id: expect.any(String), body: { input: "a" } });
    expect(state.created[0]).toMatchObject({
      completion_window: "12h",
      request_params: { model: "voyage-4-large", input_type: "document" },
    });
    await server.stop();
  });

  test("of Gemini's jobs; pictures go by ordinary requests", async () => {
    const state = batchServer();
    const server = standIn(withGeminiBatches(geminiWire, state));
    server.length = 768;
    state.length = 768;
    const batch = { enabled: true, wait: true, concurrency: 2, pollIntervalMs: 1, timeoutMinutes: 1 };
    const model = "gemini-embedding-2-preview";
    const settings = settingsFor({ provider: "gemini", model, outputDimensionality: 768, apiKey: KEY, batch });
    const provider = await opened(settings, { fetch: server.fetch });
    const picture = { text: "Image file: a.png", media: { mimeType: "image/png", data: new Uint8Array([1]) } };
    const vectors = await provider.embedDocuments([picture, { text: "a" }], never());
    expect(vectors.map((vector) => vector.length)).toEqual([768, 768]);
    expect(server.embedded).toEqual(["Image file: a.png|AQ=="]);
    expect(state.embedded).toEqual(["a"]);
    expect(state.lines[0]).toEqual({
      key: expect.any(String),
      request: {
        content: { parts: [{ text: "a" }] },
        taskType: "RETRIEVAL_DOCUMENT",
        model: "models/gemini-embedding-2-preview",
        outputDimensionality: 768,
      },
    });
    expect(state.created[0]).toEqual({
      batch: { displayName: "memory-embeddings-memq", inputConfig: { file_name: "files/file-1" } },
    });
    await server.stop();
  });
});

import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { cutToBytes, packed, pieces, pooled, REQUEST_BYTES } from "../../src/embed/batches.ts";
import { cuttingName, fingerprintOf, identityOf, qmdFingerprint } from "../../src/embed/identity.ts";
import { vectorsByIndex } from "../../src/embed/openai-form.ts";
import { ollamaQuery, promptFormOf } from "../../src/embed/prompts.ts";
import { checkedVectors, normalised } from "../../src/embed/vectors.ts";
import type { EmbeddingSettings } from "../../src/home/types.ts";
import { failure, KEY, opened, settingsFor } from "./harness.ts";

const anyText = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 400 }),
  fc.string({ unit: "binary", maxLength: 400 }),
);

describe("texts", () => {
  test("a cut text is a beginning, within the limit, and not one character shorter than it need be", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 4, max: 300 }), (text, max) => {
        const cut = cutToBytes(text, max);
        expect(text.startsWith(cut)).toBe(true);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(max);
        const next = text.codePointAt(cut.length);
        if (next !== undefined) {
          expect(Buffer.byteLength(cut + String.fromCodePoint(next))).toBeGreaterThan(max);
          expect(/[\uD800-\uDBFF]$/.test(cut) && /^[\uDC00-\uDFFF]/.test(text.slice(cut.length))).toBe(false);
        }
      }),
    );
  });

  test("pieces are the whole text, each within the limit", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 4, max: 100 }), (text, max) => {
        const found = pieces(text, max);
        expect(found.join("")).toBe(text);
        for (const piece of found) expect(Buffer.byteLength(piece)).toBeLessThanOrEqual(max);
      }),
    );
  });

  test("packing keeps all items in order within both limits", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 9000 }), { maxLength: 60 });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 20 }), (bytes, maxItems) => {
        const items = bytes.map((size, index) => ({ index, input: { text: "" }, bytes: size, pieces: 1 }));
        const batches = packed(items, maxItems);
        expect(batches.flat()).toEqual(items);
        for (const batch of batches) {
          expect(batch.length).toBeLessThanOrEqual(maxItems);
          const sum = batch.reduce((total, item) => total + item.bytes, 0);
          expect(batch.length === 1 || sum <= REQUEST_BYTES).toBe(true);
        }
      }),
    );
  });
});

test("a pool runs so many at a time, and begins nothing after a failure", async () => {
  let running = 0;
  let most = 0;
  await pooled([1, 2, 3, 4, 5], 2, async () => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
  });
  expect(most).toBe(2);
  const begun: number[] = [];
  const failing = pooled([1, 2, 3, 4], 1, async (task) => {
    begun.push(task);
    if (task === 2) throw new Error("two");
  });
  expect((await failure(failing)).message).toBe("two");
  expect(begun).toEqual([1, 2]);
});

describe("replies", () => {
  test.each([
    [[[1, 2]], 2, undefined, "1 vectors for 2 texts"],
    [[[1, 2], [1]], 2, undefined, "a vector of 1 numbers where 2 were expected"],
    [[[1, 2]], 1, 3, "a vector of 2 numbers where 3 were expected"],
    [[[1, null]], 1, undefined, "a vector holds something that is not a finite number"],
    [[[1, "2"]], 1, undefined, "a vector holds something that is not a finite number"],
    [[[1, 1e39]], 1, undefined, "a vector holds something that is not a finite number"],
    [[[]], 1, undefined, "a vector is empty"],
    [[undefined], 1, undefined, "a vector is missing or not a list of numbers"],
    [["not base64 of floats"], 1, undefined, "a vector is missing or not a list of numbers"],
  ] as [unknown[], number, number | undefined, string][])("%j", (raw, count, length, words) => {
    expect(checkedVectors(raw, count, length)).toBe(words);
  });

  test.each([
    ["no index: the order of the list", [{ embedding: "a" }, { embedding: "b" }], ["a", "b"]],
    [
      "an index each",
      [
        { embedding: "b", index: 1 },
        { embedding: "a", index: 0 },
      ],
      ["a", "b"],
    ],
    [
      "one twice",
      [
        { embedding: "a", index: 0 },
        { embedding: "b", index: 0 },
      ],
      null,
    ],
    ["one without", [{ embedding: "a", index: 0 }, { embedding: "b" }], null],
    [
      "one out of range",
      [
        { embedding: "a", index: 0 },
        { embedding: "b", index: 2 },
      ],
      null,
    ],
    [
      "one that is no number",
      [
        { embedding: "a", index: "0" },
        { embedding: "b", index: "1" },
      ],
      null,
    ],
    ["too many", [{ embedding: "a" }, { embedding: "b" }, { embedding: "c" }], null],
  ] as [string, object[], string[] | null][])("%s", (_what, data, ordered) => {
    const read = () => vectorsByIndex({ data }, 2, "x embeddings failed:", []);
    if (ordered === null) expect(read).toThrow("malformed response");
    else expect(read()).toEqual(ordered);
  });

  test("scaling leaves a zero vector alone", () => {
    expect([...normalised(new Float32Array([3, 4]))]).toEqual([0.6, 0.8].map(Math.fround));
    expect([...normalised(new Float32Array(2))]).toEqual([0, 0]);
  });
});

describe("identity", () => {
  const lines = { kind: "lines", maxWeight: 1600, overlapWeight: 320 } as const;
  const identity = async (changes: Partial<EmbeddingSettings>) =>
    identityOf(await opened(settingsFor({ provider: "openai", apiKey: KEY, ...changes })), lines);

  test("does not depend on keys, headers, batches and limits", async () => {
    const first = await identity({});
    const other = await identity({
      apiKey: "another-key-altogether",
      headers: { Authorization: "Bearer z", "X-A": "b" },
      concurrency: 9,
      batchTimeoutMs: 5,
      batch: { enabled: true, wait: false, concurrency: 7, pollIntervalMs: 1, timeoutMinutes: 1 },
      fallback: "voyage",
    });
    expect(other).toEqual(first);
    expect(JSON.stringify(first)).not.toContain(KEY);
  });

  test.each([
    ["model", { model: "text-embedding-3-large" }],
    ["endpoint", { baseUrl: "https://eu.api.example.net/v1" }],
    ["dimensions", { outputDimensionality: 256 }],
    ["document input type", { documentInputType: "passage" }],
    ["provider", { provider: "mistral", model: "text-embedding-3-small", baseUrl: "https://api.openai.com/v1" }],
  ] as [string, Partial<EmbeddingSettings>][])("depends on the %s", async (_what, changes) => {
    expect((await identity(changes)).fingerprint).not.toBe((await identity({})).fingerprint);
  });

  test("depends on the cutting, and not on the query's input type", async () => {
    const provider = await opened(settingsFor({ provider: "openai", apiKey: KEY }));
    const smaller = { ...lines, overlapWeight: 0 };
    expect(identityOf(provider, smaller).fingerprint).not.toBe(identityOf(provider, lines).fingerprint);
    expect((await identity({ queryInputType: "query" })).fingerprint).toBe((await identity({})).fingerprint);
    expect(cuttingName({ kind: "breakpoints", maxChars: 2700, overlapChars: 405, windowChars: 600 })).toBe(
      "breakpoints:2700/405/600",
    );
  });

  test("qmd's fingerprints are qmd's", () => {
    const gemma = "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf";
    const qwen = "hf:Qwen/Qwen3-Embedding-0.6B-GGUF/Qwen3-Embedding-0.6B-Q8_0.gguf";
    expect(qmdFingerprint(gemma, promptFormOf(gemma, "qmd"))).toBe("c37385");
    expect(qmdFingerprint(qwen, promptFormOf(qwen, "qmd"))).toBe("3f4dfd");
  });

  test("a qmd fingerprint is passed on whatever the cutting's name", () => {
    const space = { id: "local", model: "m", endpoint: "", dimensions: null, documentInputType: null };
    const qmd = { ...space, promptForm: "qmd/gemma", fingerprint: "c37385" };
    expect(identityOf(qmd, lines).fingerprint).toBe("c37385");
    const own = { ...space, promptForm: "gemma", fingerprint: fingerprintOf({ ...space, promptForm: "gemma" }) };
    expect(identityOf(own, lines).fingerprint).not.toBe(own.fingerprint);
  });
});

describe("prompt forms", () => {
  test.each([
    ["hf:ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/x.gguf", "task: search result | query: q", "title: T | text: d"],
    [
      "hf:Qwen/Qwen3-Embedding-0.6B-GGUF/x.gguf",
      "Instruct: Given a user query, retrieve relevant memory notes and documents\nQuery:q",
      "d",
    ],
    ["/m/nomic-embed-text-v1.5.Q8_0.gguf", "search_query: q", "search_document: d"],
    ["/m/multilingual-e5-large-q8.gguf", "query: q", "passage: d"],
    ["/m/bge-small-en-v1.5.gguf", "Represent this sentence for searching relevant passages: q", "d"],
    ["/m/bge-m3.gguf", "q", "d"],
    ["/m/snowflake-arctic-embed-l-v2.0.gguf", "query: q", "d"],
    ["/m/wink20k-q8.gguf", "q", "d"],
  ])("%s", (model, query, document) => {
    const form = promptFormOf(model, "agent");
    expect([form.query("q"), form.document("d", "T")]).toEqual([query, document]);
  });

  test("a document without a title, and qmd's forms for any model", () => {
    expect(promptFormOf("embeddinggemma", "agent").document("d")).toBe("title: none | text: d");
    expect(promptFormOf("/m/bge-m3.gguf", "qmd").query("q")).toBe("task: search result | query: q");
    expect(ollamaQuery("mxbai-embed-large:latest", "q")).toStartWith("Represent this sentence");
    expect(ollamaQuery("all-minilm", "q")).toBe("q");
  });
});

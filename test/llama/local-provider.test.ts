import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { openLocalProvider } from "../../src/embed/local.ts";
import type { EmbeddingProvider } from "../../src/embed/types.ts";
import type { EmbeddingSettings } from "../../src/home/types.ts";
import { temporaryFolder } from "../temporary.ts";
import { cosine, models, testFolder, type TestFolder } from "./models-folder.ts";

setDefaultTimeout(30_000);

let folder: TestFolder;
beforeAll(() => {
  folder = testFolder();
});
afterAll(() => folder.end());

function settings(modelPath: string | undefined): EmbeddingSettings {
  const local = { modelCacheDir: folder.path, ...(modelPath === undefined ? {} : { modelPath }) };
  // Only what is local matters here.
  return {
    provider: "local",
    explicit: true,
    fallback: "none",
    headers: {},
    credentials: {},
    local,
  } as EmbeddingSettings;
}

const never = new AbortController().signal;

describe("the local provider", () => {
  let provider: EmbeddingProvider;
  beforeAll(async () => {
    provider = await openLocalProvider(settings(models.embed), "agent");
  });
  afterAll(() => provider.close());

  test("finds the note that answers a question in other words", async () => {
    const question = await provider.embedQuery("What does our cat eat?", never);
    const notes = ["Dog food is in the kitchen.", "The tax office wants the report by March."];
    const [food, tax] = await provider.embedDocuments(
      notes.map((text) => ({ text })),
      never,
    );
    expect(cosine(question, food)).toBeGreaterThan(cosine(question, tax) + 0.1);
  });

  test("a context too small for any text does not make all texts the same", async () => {
    const base = settings(models.embed);
    const tiny = await openLocalProvider({ ...base, local: { ...base.local, contextSize: 1 } }, "agent");
    const [food, tax] = await tiny.embedDocuments(
      [{ text: "Dog food is here." }, { text: "The tax office wrote." }],
      never,
    );
    expect(cosine(food, tax)).toBeLessThan(0.9);
    await tiny.close();
  });

  test("hands over each batch as it is done, in order, blanks left out", async () => {
    const seen: number[] = [];
    const inputs = Array.from({ length: 40 }, (_, index) => ({ text: index % 10 === 3 ? "  " : `note ${index}` }));
    const vectors = await provider.embedDocuments(inputs, never, {
      onVectors(indices, made) {
        expect(made).toHaveLength(indices.length);
        seen.push(...indices);
      },
    });
    expect(seen).toEqual(inputs.flatMap(({ text }, index) => (text.trim() === "" ? [] : [index])));
    expect(vectors.map(({ length }) => length)).toEqual(inputs.map(({ text }) => (text.trim() === "" ? 0 : 128)));
  });

  test("refuses pictures one by one", async () => {
    const rejected: number[] = [];
    const picture = { text: "photo.png", media: { mimeType: "image/png", data: new Uint8Array(3) } };
    const vectors = await provider.embedDocuments([picture, { text: "a note" }], never, {
      onRejected: (index) => rejected.push(index),
    });
    expect(rejected).toEqual([0]);
    expect(vectors.map(({ length }) => length)).toEqual([0, 128]);
    expect(provider.embedDocuments([picture], never)).rejects.toMatchObject({ code: "EMBED_REJECTED" });
  });

  test("keeps the reason of an aborted call", async () => {
    const reason = new Error("deadline");
    expect(provider.embedQuery("question", AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  test("an empty question needs no model", async () => {
    expect(await provider.embedQuery(" \n", never)).toHaveLength(0);
  });
});

describe("without a usable model", () => {
  const failure = async (work: Promise<unknown>) => work.catch((error: unknown) => error);

  test("a missing file is said when the provider is opened", async () => {
    expect(await failure(openLocalProvider(settings("/nowhere/model.gguf"), "agent"))).toMatchObject({
      code: "EMBED_UNAVAILABLE",
      message: "Local embeddings unavailable. Reason: The model /nowhere/model.gguf is not on this machine.",
    });
  });

  test("a pipe for a model was waited for without end: it is said to be no file", async () => {
    const pipe = join(temporaryFolder("model-"), "model.gguf");
    Bun.spawnSync(["mkfifo", pipe]);
    const provider = await openLocalProvider(settings(pipe), "agent");
    for (const work of [
      () => provider.embedDocuments([{ text: "note" }], never),
      () => provider.embedQuery("question", never),
    ]) {
      expect(await failure(work())).toMatchObject({ message: expect.stringContaining(`${pipe}: it is not a file`) });
    }
    await provider.close();
  });

  test("a question never waits for a download; embedding documents tries one and names what to set", async () => {
    process.env["HF_ENDPOINT"] = "http://127.0.0.1:9";
    try {
      const provider = await openLocalProvider(settings(undefined), "agent");
      expect(provider.model).toContain("embeddinggemma-300m-qat");
      expect(await failure(provider.embedQuery("question", never))).toMatchObject({ code: "EMBED_UNAVAILABLE" });
      expect(await failure(provider.embedDocuments([{ text: "note" }], never))).toMatchObject({
        code: "EMBED_UNAVAILABLE",
        hint: expect.stringContaining("HF_ENDPOINT"),
      });
    } finally {
      delete process.env["HF_ENDPOINT"];
    }
  });

  test("a model of the wrong kind is unavailable, in words", async () => {
    const provider = await openLocalProvider(settings(models.rank), "agent");
    expect(await failure(provider.embedQuery("question", never))).toMatchObject({
      code: "EMBED_UNAVAILABLE",
      message: `Local embeddings unavailable. Reason: ${models.rank} reranks and does not embed.`,
    });
    await provider.close();
  });
});

test("a qmd home's vectors carry qmd's fingerprint and forms", async () => {
  const provider = await openLocalProvider(settings(undefined), "qmd");
  expect(provider).toMatchObject({ fingerprint: "c37385", promptForm: "qmd/gemma", local: true });
});

test("a download that embedding begins is told, with its size", async () => {
  const bytes = await Bun.file(models.embed).bytes();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(bytes, { headers: { ETag: '"1"' } }),
  });
  const own = testFolder();
  const base = settings(`http://127.0.0.1:${server.port}/small.gguf`);
  const provider = await openLocalProvider({ ...base, local: { ...base.local, modelCacheDir: own.path } }, "agent");
  const told: string[] = [];
  try {
    await provider.embedDocuments([{ text: "one" }], never, { onWait: (sentence) => told.push(sentence) });
    expect(told[0]).toMatch(/^Downloading \S*small\.gguf: \d+ of \d+ MB\.$/);
  } finally {
    await provider.close();
    await own.end();
    await server.stop(true);
  }
});

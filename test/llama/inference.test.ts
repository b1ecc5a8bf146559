import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { doctorFacts } from "../../src/llama/doctor.ts";
import { loaderSentence } from "../../src/llama/runtime.ts";
import { sharedPath } from "../shared.ts";
import { cosine, models, testFolder, type TestFolder } from "./models-folder.ts";

setDefaultTimeout(30_000);

let folder: TestFolder;
beforeAll(() => {
  folder = testFolder();
});
afterAll(() => folder.end());

describe("embedding", () => {
  test("texts of one meaning are closer than others", async () => {
    const texts = [
      "The cat sleeps on the sofa.",
      "A dog rests on the couch.",
      "Quarterly revenue grew by nine percent.",
    ];
    const [cat, dog, revenue] = await folder.host.embed(models.embed, texts);
    expect(cosine(cat, dog)).toBeGreaterThan(cosine(cat, revenue) + 0.2);
  });

  test("a text too long for the model is cut and says so, the others are not", async () => {
    const truncated: number[][] = [];
    const words = "meeting about the release plan ".repeat(400);
    const vectors = await folder.host.embed(models.embed, ["short", words, "short"], {
      onTruncated: (indices) => truncated.push(indices),
    });
    expect(truncated).toEqual([[1]]);
    expect(vectors.map(({ length }) => length)).toEqual([128, 128, 128]);
    expect(cosine(vectors[0], vectors[2])).toBeCloseTo(1, 6);
  });

  test("a smaller context is respected, also beside a larger one", async () => {
    const truncated: number[][] = [];
    const texts = ["one two three four ".repeat(20)];
    const onTruncated = (indices: number[]) => truncated.push(indices);
    await folder.host.embed(models.embed, texts, { contextSize: 32, onTruncated });
    expect(truncated).toEqual([[0]]);
    await folder.host.embed(models.embed, texts, { onTruncated });
    expect(truncated).toHaveLength(1);
  });

  const wide = sharedPath("models/tiny-bert-384.gguf");
  test.skipIf(wide === null)("another model beside the first has its own dimensions", async () => {
    const [vector] = await folder.host.embed(wide ?? "", ["hello"]);
    expect(vector?.length).toBe(384);
  });
});

describe("reranking", () => {
  test("one score a document, between 0 and 1, the same for the same text", async () => {
    const documents = ["a cat", "a dog", "a cat", "word ".repeat(3000)];
    const scores = await folder.host.rank(models.rank, "cats", documents);
    expect(scores).toHaveLength(4);
    expect(scores.every((score) => score > 0 && score < 1)).toBe(true);
    expect(scores[0]).toBe(scores[2] as number);
  });

  test("no documents, no model needed", async () => {
    expect(await folder.host.rank("/nowhere.gguf", "cats", [])).toEqual([]);
  });
});

describe("query expansion", () => {
  test("lines that share a word with the query stay", async () => {
    expect(await folder.host.expand(models.expand, "home coffee")).toEqual([
      { type: "vec", text: "how to brew coffee at home" },
      { type: "hyde", text: "Grind the beans and brew the coffee." },
    ]);
  });

  test("all lines stay when none does", async () => {
    const lines = await folder.host.expand(models.expand, "zebra");
    expect(lines.map(({ type }) => type)).toEqual(["lex", "vec", "hyde"]);
  });
});

describe("a bad model is one sentence", () => {
  const failure = async (work: Promise<unknown>) => {
    const error = await work.then(
      () => new Error("no error"),
      (reason: unknown) => reason as Error,
    );
    expect(error.message).not.toContain("\n");
    return [(error as Error & { code?: string }).code, error.message];
  };

  test("a missing file", async () => {
    const path = join(folder.path, "missing.gguf");
    expect(await failure(folder.host.embed(path, ["x"]))).toEqual(["MODEL_MISSING", `There is no model file ${path}.`]);
  });

  test("a file that is no GGUF", async () => {
    const path = join(folder.path, "notes.gguf");
    writeFileSync(path, "# Notes\n\nThis is a note and not a model.\n");
    expect(await failure(folder.host.embed(path, ["x"]))).toEqual(["MODEL_INVALID", `${path} is not a GGUF model.`]);
  });

  test.each([10, 5_000, 1_000_000])("a file cut off after %d bytes", async (size) => {
    const path = join(folder.path, `cut-${size}.gguf`);
    writeFileSync(path, readFileSync(models.embed).subarray(0, size));
    const [code, message] = await failure(folder.host.embed(path, ["x"]));
    expect(code).toBe("MODEL_INVALID");
    expect(message).toContain(path);
  });

  test("a model of another kind", async () => {
    expect((await failure(folder.host.embed(models.rank, ["x"])))[0]).toBe("MODEL_KIND");
    expect((await failure(folder.host.rank(models.embed, "x", ["x"])))[0]).toBe("MODEL_KIND");
    expect((await failure(folder.host.rank(models.expand, "x", ["x"])))[0]).toBe("MODEL_KIND");
    expect((await failure(folder.host.expand(models.embed, "x")))[0]).toBe("MODEL_KIND");
  });

  test("the host goes on after all of them", async () => {
    const [vector] = await folder.host.embed(models.embed, ["still here"]);
    expect(vector?.length).toBe(128);
  });

  test("a model whose file is replaced is read again", async () => {
    const path = join(folder.path, "replaced.gguf");
    writeFileSync(path, readFileSync(models.rank));
    expect((await failure(folder.host.embed(path, ["x"])))[0]).toBe("MODEL_KIND");
    writeFileSync(path, readFileSync(models.embed));
    const [vector] = await folder.host.embed(path, ["x"]);
    expect(vector?.length).toBe(128);
  });
});

test.each([
  [
    "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by /x/libllama.so)",
    "Local models can't run: this system's C libraries are too old (GLIBC_2.34 is missing).",
  ],
  [
    "libstdc++.so.6: cannot open shared object file: No such file or directory",
    "Local models can't run: libstdc++.so.6 is not installed.",
  ],
  ["dlopen failed\nand more", "Local models can't run: dlopen failed"],
])("a loader's complaint is a sentence: %s", (complaint, sentence) => {
  expect(loaderSentence(complaint)).toBe(sentence);
});

test("doctor's facts: where models run and how fast", async () => {
  const facts = await doctorFacts(models.embed, { own: folder.path, others: [] });
  expect(facts).toMatchObject({ model: models.embed, threads: 1, problems: [] });
  expect(["cpu", "metal"]).toContain(facts.backend as string);
  expect(facts.textsPerSecond).toBeGreaterThan(1);
});

// A model that a server exchanges under its name: its vectors have another length than those of the index.
import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { standIn, type StandIn } from "../embed/servers/stand-in.ts";
import { openAiWire } from "../embed/servers/wires.ts";
import { homeOf, tempFolder, writeNotes } from "../sync/helpers.ts";
import { startSync } from "../../src/sync/client.ts";
import { openIndex } from "../../src/store/open.ts";
import { vectorDimensions } from "../../src/store/vector-table.ts";
import { models } from "../llama/models-folder.ts";
import { homesUntilEnd } from "./homes.ts";

const qmdHomeOf = homesUntilEnd();

let server: StandIn;
beforeEach(() => {
  server = standIn(openAiWire);
});
afterEach(() => server.stop());

test("searches say so and answer by keywords, `embed` says what to run, and that makes it good", async () => {
  const env = { QMD_EMBED_MODEL: `${server.origin}/v1#m` };
  const home = await qmdHomeOf({ "notes/a.md": "the violin is in the attic\n", "notes/b.md": "apple pie\n" }, { env });
  expect((await home.run("embed")).exitCode).toBe(0);
  server.length = 12;
  for (const command of ["vsearch", "query"]) {
    const { stdout, stderr } = await home.run(command, "violin attic");
    expect(stdout).toContain("qmd://notes/a.md");
    expect(stderr).toContain("m gives vectors of 12 numbers now, and those of the index have 8");
    expect(stderr).toContain("embed -f");
  }
  home.write({ "notes/c.md": "a train to the sea\n" });
  await home.run("update");
  const refused = await home.run("embed");
  expect(refused).toMatchObject({ exitCode: 1 });
  expect(refused.stderr).toContain("Run 'embed -f'");
  expect((await home.run("embed", "-f")).exitCode).toBe(0);
  const healed = await home.run("vsearch", "a train to the sea", "--min-score", "0");
  expect(healed).toMatchObject({ exitCode: 0, stderr: "" });
  expect(healed.stdout).toContain("qmd://notes/c.md");
});

test("a forced sync of an agent's memory replaces the vectors, whether or not a note is new, and takes none from the cache", async () => {
  const root = tempFolder();
  writeNotes(root, { "a.md": "the violin\n", "b.md": "apple pie\n" });
  const plain = homeOf(root);
  const named = { provider: "openai-compatible", explicit: true, model: "m", baseUrl: `${server.origin}/v1` };
  const home = { ...plain, embedding: { ...plain.embedding, ...named } };
  const lengthOf = (): number | null => {
    const index = openIndex(home.indexPath, { mode: "read" });
    const length = vectorDimensions(index);
    index.close();
    return length;
  };
  expect((await startSync(home)).embedded).toBe(2);
  // Its vector goes to the cache.
  writeNotes(root, { "a.md": "the cello, a new note\n" });
  await startSync(home);
  server.length = 12;
  expect(await startSync(home, { force: true })).toMatchObject({ embedded: 2, embedding: { state: "complete" } });
  expect(lengthOf()).toBe(12);
  writeNotes(root, { "a.md": "the violin\n", "c.md": "a train\n" });
  expect(await startSync(home)).toMatchObject({ embedded: 2, embedding: { state: "complete" } });
  expect(lengthOf()).toBe(12);
  server.length = 8;
  writeNotes(root, { "d.md": "the sea, and more\n" });
  const refused = await startSync(home);
  expect(refused.embedding).toMatchObject({ state: "failed", hint: expect.stringContaining("memory index --force") });
  // The cache still has the violin of this length.
  expect(await startSync(home, { force: true })).toMatchObject({ embedded: 3, embedding: { state: "complete" } });
  expect(lengthOf()).toBe(8);
});

test("vectors of two lengths that wait for a change of models never become one index", async () => {
  const root = tempFolder();
  writeNotes(
    root,
    Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`${i}.md`, `note ${i} ${"word ".repeat(60)}\n`])),
  );
  const plain = homeOf(root);
  const withModel = (model: string) => ({
    ...plain,
    embedding: {
      ...plain.embedding,
      provider: "openai-compatible",
      explicit: true,
      model,
      baseUrl: `${server.origin}/v1`,
    },
  });
  await startSync(withModel("old"));
  server.lengthOf = { new: 10 };
  server.misbehave.maxItems = 8;
  const half = { ...withModel("new"), embedding: { ...withModel("new").embedding, batchTimeoutMs: 300 } };
  void server.reached(60);
  expect((await startSync(half)).embedding.state).toBe("failed");
  const waiting = () => {
    const index = openIndex(plain.indexPath, { mode: "read" });
    const lengths = index.db.query("SELECT DISTINCT length(embedding) / 4 AS n FROM memq_next_vectors").all();
    index.close();
    return lengths;
  };
  expect(waiting()).toEqual([{ n: 10 }]);
  server.misbehave = {};
  server.lengthOf = { new: 14 };
  await startSync(half);
  await startSync(half);
  const index = openIndex(plain.indexPath, { mode: "read" });
  expect(vectorDimensions(index)).toBe(14);
  index.close();
  expect(waiting()).toEqual([]);
});

/** Gives the file other weights, the same length and name. */
function exchangeWeights(file: string): void {
  const bytes = readFileSync(file);
  bytes[bytes.length - 1]! ^= 1;
  writeFileSync(file, bytes);
}

test("a GGUF file replaced by another of its name and length was not noticed, and vectors of two models were mixed", async () => {
  const env = { QMD_EMBED_MODEL: "", MEMQ_MODEL_IDLE_MS: "3000", MEMQ_MODEL_THREADS: "1" };
  const home = await qmdHomeOf({ "notes/a.md": "the violin is in the attic\n", "notes/b.md": "apple pie\n" }, { env });
  const file = join(home.root, "../model.gguf");
  writeFileSync(file, readFileSync(models.embed));
  home.env["QMD_EMBED_MODEL"] = file;
  const search = () => home.run("vsearch", "violin attic", "--files", "--deadline", "20000");
  expect((await home.run("embed")).exitCode).toBe(0);
  expect(await search()).toMatchObject({ stdout: expect.stringContaining("notes/a.md"), stderr: "" });

  exchangeWeights(file);
  const degraded = await search();
  expect(degraded.stdout).toContain("notes/a.md");
  expect(degraded.stderr).toContain("as it was before its file was replaced");
  expect((await home.run("status")).stdout).toContain("Pending:  2 need embedding");
  expect((await home.run("doctor")).stdout).toContain("⚠ embedding fingerprints: of the model as it was before");

  home.write({ "notes/c.md": "a train to the sea\n" });
  await home.run("update");
  expect((await home.run("embed")).stdout).toContain("Embedded 3 chunks");
  expect(await search()).toMatchObject({ stdout: expect.stringContaining("notes/a.md"), stderr: "" });

  // An index of an earlier version says nothing of the file: what it holds stays, and the next vectors say it.
  const index = new Database(home.indexPath);
  index.run("UPDATE memq_meta SET value = json_remove(value, '$.weights') WHERE key = 'vectors.serving'");
  index.close();
  expect((await home.run("embed")).stdout).toContain("already have embeddings");
  home.write({ "notes/d.md": "a boat\n" });
  await home.run("update");
  expect((await home.run("embed")).stdout).toContain("Embedded 1 chunks");
  exchangeWeights(file);
  expect((await search()).stderr).toContain("as it was before its file was replaced");
}, 60_000);

import { Database } from "bun:sqlite";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { collectionsYaml, homesUntilEnd, type QmdTestHome } from "./homes.ts";

setDefaultTimeout(60_000);

const fixtures = resolve(import.meta.dir, "../fixtures");
/** A model that lies in the models folder under the name that qmd's downloader gives it. */
const MODEL = "hf:example/wink-GGUF/wink20k-q8.gguf";
const MODEL_FILE = "hf_example_wink20k-q8.gguf";
const ENV = { MEMQ_MODEL_THREADS: "1", MEMQ_MODEL_IDLE_MS: "3000" };

/** The notes that `embedded.sqlite` was made of, with qmd's `collection add`, `context add` and `embed`. */
const NOTES = {
  "notes/router.md":
    "# Router set-up\n\nThe office router speaks VLAN 20 to the printers and VLAN 30 to guests.\n\n## Passwords\n\nThey are kept in the safe; the guest network changes every month.\n",
  "notes/travel/Lisbon trip.md":
    "# Lisbon trip\n\nWe took tram 28 up the hill and ate grilled sardines by the river.\n\nThe museum of tiles was closed on Monday.\n",
  "notes/kitten.md": "# A new pet\n\nThe kitten sleeps in a basket beside the warm stove.\n",
  "notes/2026_06_16.md": "no heading here\n\n步2 重跑gen-itgc后50条悬空引用清零\n",
};
const YAML = `models:\n  embed: ${MODEL}\nglobal_context: Everything I know\ncollections:\n  notes:\n    path: "$ROOT/notes"\n    context:\n      travel: Journeys\n`;

const newHome = homesUntilEnd();

function homeOf(
  notes: Record<string, string>,
  options: { yaml?: string; env?: Record<string, string>; sync?: false } = {},
): Promise<QmdTestHome> {
  return newHome(notes, { ...options, env: { ...ENV, ...options.env } });
}

/** Puts the model where both programs look for it. */
function withModel(home: QmdTestHome): QmdTestHome {
  const models = join(dirname(home.indexPath), "models");
  mkdirSync(models, { recursive: true });
  copyFileSync(join(fixtures, "models/wink20k-q8.gguf"), join(models, MODEL_FILE));
  return home;
}

function books(home: QmdTestHome): { hash: string; model: string; print: string; at: string }[] {
  const db = new Database(home.indexPath, { readonly: true });
  const rows = db
    .query<{ hash: string; model: string; print: string; at: string }, []>(
      "SELECT hash, model, embed_fingerprint AS print, embedded_at AS at FROM content_vectors ORDER BY hash, seq",
    )
    .all();
  db.close();
  return rows;
}

/** An OpenAI-compatible server that makes vectors out of lengths; `onRequest` runs before it answers. */
function embeddingServer(onRequest: (texts: string[], count: number) => void | Promise<void> = () => {}) {
  let count = 0;
  const texts: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { input } = (await request.json()) as { input: string | string[] };
      const asked = [input].flat();
      texts.push(...asked);
      await onRequest(asked, ++count);
      const data = asked.map((text, index) => ({ index, embedding: [text.length, 1 + (text.length % 7), 3, 4] }));
      return Response.json({ data, model: "m" });
    },
  });
  return { model: `http://127.0.0.1:${server.port}/v1#m`, texts, stop: () => server.stop(true) };
}

describe("an index with vectors that qmd made (named in pain 15: nothing is embedded twice)", () => {
  const broughtAlong = async (): Promise<QmdTestHome> => {
    const home = withModel(await homeOf(NOTES, { yaml: YAML, sync: false }));
    copyFileSync(join(fixtures, "qmd-index/embedded.sqlite"), home.indexPath);
    return home;
  };

  test("its vectors serve, and none is made again", async () => {
    const home = await broughtAlong();
    const before = books(home);
    expect(before).toHaveLength(4);
    expect((await home.run("status")).stdout).toMatch(/Total: {4}4 files indexed\n {2}Vectors: {2}4 embedded\n {2}Up/);
    expect((await home.run("embed")).stdout).toBe("✓ All content hashes already have embeddings.\n");
    expect((await home.run("update")).stdout).toContain("Indexed: 0 new, 0 updated, 4 unchanged, 0 removed");
    expect((await home.run("embed")).stdout).toBe("✓ All content hashes already have embeddings.\n");
    expect(books(home)).toEqual(before);
    const context = (await home.json("search", "sardines", "--json"))[0]?.["context"];
    expect(context).toBe("Everything I know\n\nJourneys");
  });

  test("a changed note alone is embedded, under qmd's own fingerprint", async () => {
    const home = await broughtAlong();
    const before = books(home);
    home.write({ "notes/kitten.md": "# A new pet\n\nThe cat sleeps on the sofa now.\n" });
    await home.run("update");
    expect((await home.run("embed")).stdout).toMatch(/✓ Done! Embedded 1 chunks from 1 documents in \d+s\n$/);
    const after = books(home);
    expect(after).toHaveLength(4);
    expect(new Set(after.map(({ model, print }) => `${model} ${print}`))).toEqual(
      new Set([`${MODEL} ${before[0]?.print}`]),
    );
    const kept = new Set(before.map(({ hash, at }) => `${hash} ${at}`));
    expect(after.filter(({ hash, at }) => kept.has(`${hash} ${at}`))).toHaveLength(3);
  });
});

// Path of qmd 2.8.3, which is too large to install for every run.
const qmd = process.env["TEST_QMD"] ?? "";

test.skipIf(!existsSync(qmd))("vectors that memq made serve in qmd (TEST_QMD)", async () => {
  const home = withModel(await homeOf(NOTES, { yaml: YAML }));
  expect((await home.run("embed")).stdout).toContain("Embedded 4 chunks from 4 documents");
  const before = books(home);
  const child = Bun.spawn([qmd, "embed"], { cwd: home.root, env: { ...process.env, ...home.env }, stderr: "ignore" });
  const [stdout] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  expect(stdout).toContain("✓ All content hashes already have embeddings.");
  expect(books(home)).toEqual(before);
});

describe("embed", () => {
  test("pain 14: killed on the way it keeps what it has, and the next run goes on from there", async () => {
    const notes = Object.fromEntries(
      Array.from({ length: 700 }, (_, n) => [`n/${n}.md`, `note number ${n} ${"x".repeat(n % 50)}\n`]),
    );
    const stuck = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const slow = embeddingServer(async (_, count) => {
      if (count < 4) return;
      reached.resolve();
      await stuck.promise;
    });
    const home = await homeOf(notes, { env: { QMD_EMBED_MODEL: slow.model } });
    const child = Bun.spawn(home.command("embed"), { env: { ...process.env, ...home.env }, cwd: home.root });
    await reached.promise;
    // What the earlier requests brought is stored as it arrives.
    while (books(home).length === 0) await Bun.sleep(20);
    child.kill("SIGKILL");
    await child.exited;
    const kept = books(home).length;
    expect(kept).toBeGreaterThan(0);
    expect(kept).toBeLessThan(700);
    const sent = slow.texts.length;
    stuck.resolve();
    const [first, second] = await Promise.all([home.run("embed"), home.run("embed")]);
    expect([first?.exitCode, second?.exitCode]).toEqual([0, 0]);
    expect(slow.texts.length - sent).toBe(700 - kept);
    expect(books(home)).toHaveLength(700);
    await slow.stop();
  });

  test("pain 15: another model's vectors take over when they are complete, and nothing is thrown away before", async () => {
    const server = embeddingServer();
    const home = withModel(await homeOf(NOTES, { yaml: YAML }));
    await home.run("embed");
    const before = books(home);
    home.configure(YAML.replace(MODEL, "http://127.0.0.1:9/v1#m"));
    const failed = await home.run("embed");
    expect(failed.exitCode).toBe(1);
    expect(books(home)).toEqual(before);
    const forced = await home.run("embed", "-f");
    expect(forced.exitCode).toBe(1);
    expect(books(home)).toEqual(before);
    home.configure(YAML.replace(MODEL, server.model));
    expect((await home.run("embed")).exitCode).toBe(0);
    expect(new Set(books(home).map(({ model }) => model))).toEqual(new Set(["m"]));
    await server.stop();
  });

  test("'everything is embedded' was said of another model's vectors when the new provider could not be set up", async () => {
    const server = embeddingServer();
    const home = await homeOf(NOTES, { yaml: YAML.replace(MODEL, server.model), env: { OPENAI_API_KEY: "" } });
    expect((await home.run("embed")).exitCode).toBe(0);
    expect((await home.run("embed")).stdout).toContain("already have embeddings");
    home.configure(YAML.replace(MODEL, "openai:text-embedding-3-small"));
    const { exitCode, stdout, stderr } = await home.run("embed");
    expect([exitCode, stdout]).toEqual([1, ""]);
    expect(stderr).toContain('No API key found for provider "openai"');
    await server.stop();
  });

  test("doctor promised that the vectors of the model before answer, and said twice to embed", async () => {
    const home = withModel(await homeOf(NOTES, { yaml: YAML }));
    await home.run("embed");
    home.configure(YAML.replace(MODEL, "/no/other.gguf"));
    const steps = (await home.run("doctor")).stdout.split("\n").filter((line) => line.startsWith("  Run 'memq embed'"));
    expect(steps).toEqual(["  Run 'memq embed'; until it is done, words alone are searched."]);
    const { stderr } = await home.run("query", "bread");
    expect(stderr).toContain("Degraded answer, without vector.");
  });

  test("one collection alone, or several: none of those named is passed over", async () => {
    const server = embeddingServer();
    const home = await homeOf(
      { "a/1.md": "one\n", "b/2.md": "two\n", "b/3.md": "three\n" },
      { env: { QMD_EMBED_MODEL: server.model } },
    );
    expect((await home.run("embed", "-c", "b")).stdout).toContain("Embedded 2 chunks from 2 documents");
    expect(server.texts.toSorted()).toEqual(["three\n", "two\n"]);
    expect((await home.run("embed", "-c", "zz")).stderr).toStartWith("Collection not found: zz\n");
    expect((await home.run("status")).stdout).toContain("  Pending:  1 need embedding (run 'memq embed')\n");
    expect((await home.run("embed", "--force", "-c", "b")).stdout).toContain("Embedded 2 chunks");
    expect((await home.run("embed", "--force", "-c", "b", "-c", "zz")).stderr).toStartWith(
      "Collection not found: zz\n",
    );
    expect((await home.run("embed", "--force", "-c", "b", "-c", "a")).stdout).toContain("Embedded 3 chunks");
    await server.stop();
  });

  test("pain 27: without a cap it runs to its end, with one it says that it stopped", async () => {
    const stuck = Promise.withResolvers<void>();
    const server = embeddingServer(() => stuck.promise);
    const home = await homeOf({ "a/1.md": "one\n" }, { env: { QMD_EMBED_MODEL: server.model } });
    const { exitCode, stderr } = await home.run("embed", "--timeout", "0.01");
    expect(exitCode).toBe(0);
    expect(stderr).toBe("Stopped before the end: 1 chunks are left. Run 'memq embed' again to go on.\n");
    stuck.resolve();
    // More minutes than a timer can run.
    expect((await home.run("embed", "--timeout", "99999999")).stdout).toContain("Embedded 1 chunks");
    await server.stop();
  });

  test("pain 29: a line of 40,000 characters is embedded whole", async () => {
    const home = withModel(await homeOf({ "n/a.md": "word ".repeat(8000) }, { yaml: YAML.replace("/notes", "/n") }));
    expect((await home.run("embed")).stdout).toMatch(/Embedded 1\d chunks from 1 documents/);
  });

  test("pain 47: offline without a model it fails at once and names what to set", async () => {
    const home = await homeOf({ "n/a.md": "one\n" }, { env: { HF_ENDPOINT: "http://127.0.0.1:9" } });
    const started = performance.now();
    for (const command of ["embed", "pull"]) {
      const { exitCode, stderr } = await home.run(command);
      expect(exitCode).toBe(1);
      expect(stderr).toContain("HF_ENDPOINT");
      expect(stderr).toContain("QMD_EMBED_MODEL");
      expect(stderr).not.toContain("    at ");
    }
    expect(performance.now() - started).toBeLessThan(15_000);
    expect((await home.json("search", "one", "--json")).length).toBe(1);
  });

  test("a second one waits its time, then exits 75", async () => {
    const stuck = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const server = embeddingServer(() => {
      reached.resolve();
      return stuck.promise;
    });
    const home = await homeOf({ "n/a.md": "one\n" }, { env: { QMD_EMBED_MODEL: server.model } });
    const first = home.run("embed");
    await reached.promise;
    const env = { ...process.env, ...home.env, QMD_SQLITE_BUSY_TIMEOUT: "200" };
    const second = Bun.spawn(home.command("embed"), { env, cwd: home.root, stdout: "ignore", stderr: "ignore" });
    expect(await second.exited).toBe(75);
    // Indexing goes on beside it.
    home.write({ "n/b.md": "two\n" });
    expect((await home.run("update")).stdout).toContain("1 new");
    stuck.resolve();
    expect((await first).exitCode).toBe(0);
    await server.stop();
  });

  test("wrong limits are qmd's sentences", async () => {
    const home = await homeOf({ "n/a.md": "one\n" });
    const fails = async (...args: string[]): Promise<string> => {
      const { exitCode, stderr } = await home.run("embed", ...args);
      expect(exitCode).toBe(1);
      return stderr.trimEnd();
    };
    expect(await fails("--max-docs-per-batch", "0")).toBe("maxDocsPerBatch must be a positive integer");
    expect(await fails("--max-batch-mb", "x")).toBe("maxBatchBytes must be a positive integer");
    expect(await fails("--timeout", "soon")).toBe("--timeout must be a non-negative number of minutes (0 = no limit)");
  });
});

test("pain 13: eight searches, an update and an embed on a cold index all end well", async () => {
  const server = embeddingServer();
  const notes = Object.fromEntries(
    Array.from({ length: 120 }, (_, n) => [`n/${n}.md`, `# Note ${n}\n\ngateway ${n}\n`]),
  );
  const home = await homeOf(notes, {
    yaml: collectionsYaml(["n"]),
    env: { QMD_EMBED_MODEL: server.model },
    sync: false,
  });
  const outcomes = await Promise.all([
    home.run("update"),
    home.run("embed"),
    ...Array.from({ length: 8 }, () => home.run("search", "gateway", "--json")),
  ]);
  for (const { exitCode, stderr } of outcomes) {
    expect(stderr).not.toMatch(/SQLITE|locked|exists|    at /);
    expect(exitCode).toBe(0);
  }
  expect((await home.run("embed")).exitCode).toBe(0);
  expect(await home.json("search", "gateway", "--json", "-n", "200")).toHaveLength(120);
  expect(books(home)).toHaveLength(120);
  await server.stop();
});

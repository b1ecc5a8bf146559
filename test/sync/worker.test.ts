import { describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { startSync, syncsEnded } from "../../src/sync/client.ts";
import type { SyncProgress } from "../../src/sync/report.ts";
import { writerOf } from "../../src/store/lock.ts";
import { syncIndex } from "../../src/sync/sync.ts";
import { contentsOf, homeOf, tempFolder, writeNotes } from "./helpers.ts";

function manyNotes(count: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`${i}.md`, `# Note ${i}\n${"some words ".repeat(50)}\n`]),
  );
}

describe("a sync in the Worker", () => {
  test("does what one in place does, with progress", async () => {
    const root = tempFolder();
    writeNotes(root, manyNotes(500));
    const [inWorker, inPlace] = [homeOf(root), homeOf(root)];
    const progress: SyncProgress[] = [];
    const report = await startSync(inWorker, { onProgress: (step) => progress.push(step) });
    expect(report).toMatchObject({ files: 500, added: 500 });
    expect(new Set(progress.map(({ phase }) => phase))).toEqual(new Set(["scan", "read", "write"]));
    await syncIndex(inPlace);
    expect(contentsOf(inWorker)).toEqual(contentsOf(inPlace));
    expect(writerOf(inWorker.indexPath)).toBeNull();
  });

  test("is joined by a second caller, and waited for by one that wants more", async () => {
    const root = tempFolder();
    writeNotes(root, manyNotes(50));
    const home = homeOf(root);
    const [first, joined, forced] = await Promise.all([
      startSync(home),
      startSync(home),
      startSync(home, { force: true }),
    ]);
    expect(joined).toBe(first);
    expect(forced).toMatchObject({ added: 0, files: 50 });
  });

  test("what was written before the call is indexed, though a sync that may have passed it by was running", async () => {
    const root = tempFolder();
    writeNotes(root, manyNotes(300));
    const home = homeOf(root);
    const begun = Promise.withResolvers<void>();
    const running = startSync(home, { onProgress: () => begun.resolve() });
    await begun.promise;
    writeNotes(root, { "memory/late.md": "# Late\n" });
    const [one, other] = await Promise.all([startSync(home), startSync(home)]);
    expect([one.files, other]).toEqual([301, one]);
    await running;
  });

  test("ends when its last caller leaves, and not before", async () => {
    const root = tempFolder();
    writeNotes(root, manyNotes(2000));
    const home = homeOf(root);
    const leaver = new AbortController();
    const stayer = startSync(home);
    const left = startSync(home, { signal: leaver.signal });
    leaver.abort();
    expect(await left.catch((error: unknown) => error)).toMatchObject({ code: "SYNC_CANCELLED" });
    expect((await stayer).files).toBe(2000);

    const alone = new AbortController();
    const cancelled = startSync(home, {
      force: true,
      signal: alone.signal,
      onProgress: ({ phase }) => phase === "write" && alone.abort(),
    });
    expect(await cancelled.catch((error: unknown) => error)).toMatchObject({ code: "SYNC_CANCELLED" });
    expect((await startSync(home)).files).toBe(2000);
  }, 20_000);

  test("lets go of its lock before whoever waits for its end goes on", async () => {
    const root = tempFolder();
    writeNotes(root, manyNotes(2000));
    const home = homeOf(root);
    await syncsEnded(home.indexPath);
    const leave = new AbortController();
    const locked = Promise.withResolvers<void>();
    const left = startSync(home, { signal: leave.signal, onProgress: () => locked.resolve() });
    await locked.promise;
    expect(writerOf(home.indexPath)).toBe(process.pid);
    leave.abort();
    expect(await left.catch((error: unknown) => error)).toMatchObject({ code: "SYNC_CANCELLED" });
    await syncsEnded(home.indexPath);
    expect(writerOf(home.indexPath)).toBeNull();
  });

  test("fails with the engine's own error", async () => {
    const root = tempFolder();
    const home = homeOf(root, { indexPath: join(root, "index.sqlite") });
    const foreign = new Database(home.indexPath);
    foreign.run("CREATE TABLE chunks (id); CREATE TABLE files (path); CREATE TABLE meta (key)");
    foreign.close();
    expect(await startSync(home).catch((error: unknown) => error)).toMatchObject({
      code: "INDEX_FOREIGN",
      exitCode: 1,
    });
    expect(writerOf(home.indexPath)).toBeNull();
  });

  test("that can't start is an error, and leaves no lock behind", async () => {
    const root = tempFolder();
    // A function can't cross to the Worker.
    const home = { ...homeOf(root), issues: [(() => "") as unknown as string] };
    expect(await startSync(home).catch((error: unknown) => error)).toBeInstanceOf(Error);
    expect(writerOf(home.indexPath)).toBeNull();
  });
});

test("embeds through a server, each text once", async () => {
  let requests = 0;
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      requests += 1;
      const { input } = (await request.json()) as { input: string | string[] };
      const texts = Array.isArray(input) ? input : [input];
      return Response.json({ data: texts.map((text, index) => ({ index, embedding: [1, text.length, 2] })) });
    },
  });
  const root = tempFolder();
  writeNotes(root, { "a.md": "one\n", "b.md": "two and more\n" });
  const plain = homeOf(root);
  const baseUrl = `http://127.0.0.1:${server.port}/v1`;
  const embedding = {
    ...plain.embedding,
    provider: "openai-compatible",
    explicit: true,
    model: "m",
    baseUrl,
    apiKey: "k",
  };
  const home = { ...plain, embedding };
  expect(await startSync(home)).toMatchObject({ embedded: 2, embedding: { state: "complete" } });
  expect(requests).toBeGreaterThan(0);
  requests = 0;
  expect(await startSync(home, { force: true })).toMatchObject({ embedded: 0, embedding: { state: "complete" } });
  // Whether the model is still the one that made the vectors.
  expect(requests).toBe(1);
  await server.stop(true);
});

test("two processes that sync at once write each note once", async () => {
  const root = tempFolder();
  writeNotes(root, manyNotes(300));
  const home = homeOf(root);
  const script = `import { syncIndex } from ${JSON.stringify(join(import.meta.dir, "../../src/sync/sync.ts"))};
    console.log((await syncIndex(JSON.parse(process.argv[1]))).added);`;
  const start = () =>
    Bun.spawn([process.execPath, "-e", script, JSON.stringify(home)], { stdout: "pipe", stderr: "inherit" });
  const added = await Promise.all([start(), start()].map((child) => new Response(child.stdout).text()));
  expect(added.map(Number).toSorted((a, b) => a - b)).toEqual([0, 300]);
}, 20_000);

test("the thread that starts a sync stays free", async () => {
  const root = tempFolder();
  writeNotes(root, manyNotes(1500));
  let longest = 0;
  let last = performance.now();
  const ticker = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  const started = performance.now();
  await startSync(homeOf(root));
  clearInterval(ticker);
  expect(longest).toBeLessThan((performance.now() - started) / 3);
}, 20_000);

import { describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { isSyncing, startSync } from "../../src/sync/client.ts";
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
    writeNotes(root, manyNotes(300));
    const [inWorker, inPlace] = [homeOf(root), homeOf(root)];
    const progress: SyncProgress[] = [];
    const report = await startSync(inWorker, { onProgress: (step) => progress.push(step) });
    expect(report).toMatchObject({ files: 300, added: 300 });
    expect(new Set(progress.map(({ phase }) => phase))).toEqual(new Set(["scan", "read", "write"]));
    await syncIndex(inPlace);
    expect(contentsOf(inWorker)).toEqual(contentsOf(inPlace));
    expect(isSyncing(inWorker.indexPath)).toBe(false);
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
    expect(isSyncing(home.indexPath)).toBe(false);
  });

  test("that can't start is an error, and leaves no lock behind", async () => {
    const root = tempFolder();
    // A function can't cross to the Worker.
    const home = { ...homeOf(root), issues: [(() => "") as unknown as string] };
    expect(await startSync(home).catch((error: unknown) => error)).toBeInstanceOf(Error);
    expect(writerOf(home.indexPath)).toBeNull();
  });
});

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

import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keepFresh, type FreshnessOptions } from "../../src/sync/freshness.ts";
import { type Changes, watchCollections } from "../../src/sync/watch.ts";
import type { SyncReport } from "../../src/sync/report.ts";
import { collectionOf, contentsOf, homeOf, tempFolder, writeNotes } from "./helpers.ts";

/** Changes as they come, one by one. */
function changesOf(collections: Parameters<typeof watchCollections>[0], overrides = {}) {
  const waiting: ((changes: Changes) => void)[] = [];
  const come: Changes[] = [];
  const warnings: string[] = [];
  const watcher = watchCollections(collections, {
    debounceMs: 50,
    onChange: (changes) => {
      const next = waiting.shift();
      if (next === undefined) come.push(changes);
      else next(changes);
    },
    onFailure: (warning) => warnings.push(warning),
    ...overrides,
  });
  const next = (): Promise<Changes> => {
    const ready = come.shift();
    return ready === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(ready);
  };
  return { watcher, next, warnings };
}

function pathsOf(changes: Changes, collection = "memory"): string[] {
  return [...(changes.get(collection) ?? [])].toSorted();
}

describe("watching", () => {
  test("tells of new, edited, renamed and deleted notes, several at once", async () => {
    const root = tempFolder();
    writeNotes(root, { "memory/a.md": "", "memory/deep/b.md": "" });
    const { watcher, next } = changesOf([collectionOf(root, { patterns: ["MEMORY.md", "memory/**/*.md"] })]);
    writeFileSync(join(root, "memory/a.md"), "edited");
    writeFileSync(join(root, "MEMORY.md"), "new");
    renameSync(join(root, "memory/deep/b.md"), join(root, "memory/deep/c.md"));
    expect(pathsOf(await next())).toEqual(["MEMORY.md", "memory/a.md", "memory/deep/b.md", "memory/deep/c.md"]);
    rmSync(join(root, "memory/a.md"));
    expect(pathsOf(await next())).toEqual(["memory/a.md"]);
    watcher.close();
  });

  test("takes in folders that are made, and made again", async () => {
    const root = tempFolder();
    const { watcher, next } = changesOf([collectionOf(root, { patterns: ["memory/**/*.md"] })]);
    mkdirSync(join(root, "memory"));
    expect(pathsOf(await next())).toContain("memory");
    mkdirSync(join(root, "memory/new/deep"), { recursive: true });
    expect(pathsOf(await next())).toContain("memory/new");
    writeFileSync(join(root, "memory/new/deep/a.md"), "");
    expect(pathsOf(await next())).toContain("memory/new/deep/a.md");
    rmSync(join(root, "memory"), { recursive: true });
    await next();
    mkdirSync(join(root, "memory"));
    await next();
    writeFileSync(join(root, "memory/b.md"), "");
    expect(pathsOf(await next())).toContain("memory/b.md");
    watcher.close();
  });

  test("is not disturbed by other files, nor by the folders of tools", async () => {
    const root = tempFolder();
    mkdirSync(join(root, "node_modules/x"), { recursive: true });
    const { watcher, next } = changesOf([collectionOf(root)]);
    writeFileSync(join(root, "data.json"), "");
    writeFileSync(join(root, "node_modules/x/a.md"), "");
    mkdirSync(join(root, ".git"));
    writeFileSync(join(root, "last.md"), "");
    expect(pathsOf(await next())).toEqual(["last.md"]);
    watcher.close();
  });

  test("reports a note that is written to without a pause", async () => {
    const root = tempFolder();
    const { watcher, next } = changesOf([collectionOf(root)], { debounceMs: 100 });
    const writing = setInterval(() => writeFileSync(join(root, "busy.md"), String(performance.now())), 20);
    expect(pathsOf(await next())).toEqual(["busy.md"]);
    clearInterval(writing);
    watcher.close();
  });

  test.each(["ENOSPC", "EMFILE"])("gives up once with one warning on %s", (code) => {
    const root = tempFolder();
    writeNotes(root, { "x/a.md": "", "y/b.md": "" });
    const watchFolder = (): never => {
      throw Object.assign(new Error(code), { code });
    };
    const collections = [collectionOf(root), collectionOf(join(root, "x"), { name: "other" })];
    const { watcher, warnings } = changesOf(collections, { watchFolder });
    watcher.refresh();
    expect(watcher.active).toBe(false);
    expect(warnings.length).toBe(1);
    expect(warnings[0]).toContain("looked for at each search");
  });

  test.skipIf(process.platform !== "linux")("takes few descriptors on a root with 20,000 junk files", () => {
    const root = tempFolder();
    for (let folder = 0; folder < 200; folder++) {
      mkdirSync(join(root, `memory/.venv/lib${folder}`), { recursive: true });
      for (let file = 0; file < 100; file++) writeFileSync(join(root, `memory/.venv/lib${folder}/${file}.py`), "");
    }
    writeNotes(root, { "memory/a.md": "" });
    const before = readdirSync("/proc/self/fd").length;
    const { watcher } = changesOf([collectionOf(root)]);
    expect(watcher.active).toBe(true);
    expect(readdirSync("/proc/self/fd").length - before).toBeLessThan(200);
    watcher.close();
  });
});

describe("keepFresh", () => {
  const settings = { onSessionStart: true, onSearch: true, watch: true, watchDebounceMs: 1500, intervalMinutes: 0 };

  function fresh(home: Parameters<typeof keepFresh>[0], overrides: Partial<FreshnessOptions> = {}) {
    const waiting: ((report: SyncReport) => void)[] = [];
    const keeper = keepFresh(home, {
      settings,
      onReport: (report) => waiting.shift()?.(report),
      onWarning: (warning) => {
        throw new Error(warning);
      },
      ...overrides,
    });
    return { keeper, nextReport: (): Promise<SyncReport> => new Promise((resolve) => waiting.push(resolve)) };
  }

  test("a note that another process writes is found within 3 s", async () => {
    const root = tempFolder();
    writeNotes(root, { "memory/a.md": "# A\n" });
    const home = homeOf(root);
    const { keeper, nextReport } = fresh(home);
    await keeper.sync();
    const started = performance.now();
    const report = nextReport();
    Bun.spawnSync(["sh", "-c", `echo "# From outside" > ${join(root, "memory/b.md")}`]);
    expect(await report).toMatchObject({ added: 1 });
    expect(performance.now() - started).toBeLessThan(3000);
    expect(Object.keys(contentsOf(home))).toContain("memory/memory/b.md");
    keeper.close();
  });

  test("without watching a search looks for changes, at most now and then", async () => {
    const root = tempFolder();
    const home = homeOf(root);
    const { keeper, nextReport } = fresh(home, { settings: { ...settings, watch: false } });
    writeNotes(root, { "a.md": "# A\n" });
    const report = nextReport();
    keeper.searched();
    expect((await report).added).toBe(1);
    writeNotes(root, { "b.md": "# B\n" });
    keeper.searched();
    const next = nextReport();
    keeper.outdated();
    expect((await next).added).toBe(1);
    keeper.close();
  });

  test("a session start syncs, unless switched off", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "" });
    const { keeper, nextReport } = fresh(homeOf(root));
    const report = nextReport();
    keeper.sessionStarted();
    expect((await report).added).toBe(1);
    keeper.close();
    expect(await keeper.sync().catch((error: unknown) => error)).toMatchObject({ code: "SYNC_CANCELLED" });
  });

  test("a transcript is taken when it has grown enough", async () => {
    const root = tempFolder();
    const turn = `${JSON.stringify({ type: "message", message: { role: "user", content: "Tea at four" } })}\n`;
    writeNotes(root, { "s.jsonl": turn });
    const home = homeOf(root, {
      collections: [collectionOf(root, { name: "sessions", source: "sessions", patterns: ["*.jsonl"] })],
    });
    let due = false;
    const asked: string[] = [];
    const { keeper, nextReport } = fresh(home, {
      settings: { ...settings, watch: false },
      transcriptDue: async (path) => {
        asked.push(path);
        return due;
      },
    });
    keeper.transcriptChanged(join(root, "s.jsonl"));
    keeper.transcriptChanged("/elsewhere/s.jsonl");
    await Bun.sleep(0);
    due = true;
    const report = nextReport();
    keeper.transcriptChanged(join(root, "s.jsonl"));
    expect((await report).added).toBe(1);
    expect(asked).toEqual([join(root, "s.jsonl"), join(root, "s.jsonl")]);
    keeper.close();
  });
});

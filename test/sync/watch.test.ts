import { afterEach, describe, expect, jest, test } from "bun:test";
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { keepFresh, type FreshnessOptions } from "../../src/sync/freshness.ts";
import { type Changes, watchCollections } from "../../src/sync/watch.ts";
import type { SyncReport } from "../../src/sync/report.ts";
import { collectionOf, contentsOf, homeOf, tempFolder, writeNotes } from "./helpers.ts";

afterEach(() => void jest.useRealTimers());

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
  /** Waits until all these paths have changed, in one go or several; returns all that changed meanwhile. */
  const until = async (...paths: string[]): Promise<string[]> => {
    const seen = new Set<string>();
    while (!paths.every((path) => seen.has(path)))
      for (const path of (await next()).get("memory") ?? []) seen.add(path);
    return [...seen].toSorted();
  };
  return { watcher, until, warnings };
}

function swapWithOther(folder: string): void {
  const other = join(dirname(folder), "other");
  renameSync(folder, `${folder}-aside`);
  renameSync(other, folder);
  renameSync(`${folder}-aside`, other);
}

describe.each([{ recursive: false }, { recursive: true }])("watching (recursive: $recursive)", (way) => {
  test("tells of new, edited, renamed and deleted notes, several at once", async () => {
    const root = tempFolder();
    writeNotes(root, { "memory/a.md": "", "memory/deep/b.md": "" });
    const { watcher, until } = changesOf([collectionOf(root, { patterns: ["MEMORY.md", "memory/**/*.md"] })], way);
    writeFileSync(join(root, "memory/a.md"), "edited");
    writeFileSync(join(root, "MEMORY.md"), "new");
    renameSync(join(root, "memory/deep/b.md"), join(root, "memory/deep/c.md"));
    const all = ["MEMORY.md", "memory/a.md", "memory/deep/b.md", "memory/deep/c.md"];
    expect(await until(...all)).toEqual(all);
    rmSync(join(root, "memory/a.md"));
    await until("memory/a.md");
    watcher.close();
  });

  test("tells nothing of notes that a mask leaves out", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "", "private/b.md": "", "[c]/d.md": "" });
    const patterns = ["*.md", String.raw`\[c\]/*.md`, "private/*.md", "!private/**"];
    const { watcher, until } = changesOf([collectionOf(root, { patterns })], way);
    for (const path of ["private/b.md", "[c]/d.md", "a.md"]) writeFileSync(join(root, path), "edited");
    expect(await until("[c]/d.md", "a.md")).toEqual(["[c]/d.md", "a.md"]);
    watcher.close();
  });

  // On Linux a recursive watch of the runtime loses folders that come again; it is not used there.
  test.skipIf(way.recursive && process.platform === "linux")(
    "takes in folders that are made, and made again",
    async () => {
      const root = tempFolder();
      const { watcher, until } = changesOf([collectionOf(root, { patterns: ["memory/**/*.md"] })], way);
      // A note that comes before its folder is watched is found by the sync that the folder causes, and not told of.
      const writingUntil = async (path: string): Promise<void> => {
        const writing = setInterval(() => writeFileSync(join(root, path), String(performance.now())), 70);
        await until(path);
        clearInterval(writing);
      };
      mkdirSync(join(root, "memory"));
      await until("memory");
      mkdirSync(join(root, "memory/new/deep"), { recursive: true });
      await until("memory/new");
      await writingUntil("memory/new/deep/a.md");
      rmSync(join(root, "memory"), { recursive: true });
      await until("memory");
      mkdirSync(join(root, "memory"));
      await writingUntil("memory/b.md");
      watcher.close();
    },
  );

  // A folder that a checkout removes and makes again often has the inode of the one before.
  test.skipIf(way.recursive && process.platform === "linux").each([
    ["made again", (folder: string) => [rmSync(folder, { recursive: true }), mkdirSync(folder)]],
    ["moved away for another", (folder: string) => [renameSync(folder, `${folder}-away`), mkdirSync(folder)]],
    ["swapped with another", swapWithOther],
  ])("a folder that was %s before anybody looked was not watched any more", async (_, replace) => {
    const root = tempFolder();
    writeNotes(root, { "notes/a.md": "", "other/b.md": "" });
    const { watcher, until } = changesOf([collectionOf(root)], way);
    replace(join(root, "notes"));
    await until("notes");
    for (const path of ["notes/late.md", "other/late.md"]) {
      writeFileSync(join(root, path), "");
      await until(path);
    }
    watcher.close();
  });

  test("a root that was removed and made again at once was not watched any more", async () => {
    const root = join(tempFolder(), "ws");
    writeNotes(root, { "a.md": "" });
    const { watcher, until } = changesOf([collectionOf(root)], way);
    rmSync(root, { recursive: true });
    mkdirSync(root);
    await until("");
    writeFileSync(join(root, "late.md"), "");
    await until("late.md");
    watcher.close();
  });

  test("a root that is another folder now was told of only after four quiet times", async () => {
    jest.useFakeTimers();
    const root = join(tempFolder(), "ws");
    writeNotes(root, { "a.md": "" });
    writeNotes(`${root}-new`, { "b.md": "" });
    const link = `${root}-link`;
    symlinkSync(root, link);
    const { watcher, until } = changesOf([collectionOf(link)], { ...way, debounceMs: 1500 });
    rmSync(link);
    symlinkSync(`${root}-new`, link);
    // A second till it is looked at, and a quiet time.
    jest.advanceTimersByTime(1000 + 1500);
    await until("");
    watcher.close();
  });

  test("is not disturbed by other files, nor by the folders of tools", async () => {
    const root = tempFolder();
    mkdirSync(join(root, "node_modules/x"), { recursive: true });
    const { watcher, until } = changesOf([collectionOf(root)], way);
    writeFileSync(join(root, "data.json"), "");
    writeFileSync(join(root, "node_modules/x/a.md"), "");
    mkdirSync(join(root, ".git"));
    writeFileSync(join(root, "last.md"), "");
    expect(await until("last.md")).toEqual(["last.md"]);
    watcher.close();
  });

  test("a root that vanished is watched again once it is back, without anybody asking", async () => {
    const root = join(tempFolder(), "ws");
    writeNotes(root, { "a.md": "" });
    const { watcher, until } = changesOf([collectionOf(root)], way);
    renameSync(root, `${root}-away`);
    await until("");
    watcher.refresh();
    renameSync(`${root}-away`, root);
    await until("");
    writeFileSync(join(root, "a.md"), "edited");
    await until("a.md");
    watcher.close();
  });

  test("a root that comes into a folder watched for another collection is told of with what is in it", async () => {
    const root = tempFolder();
    const [file, folder] = [
      collectionOf(root, { name: "file", patterns: ["one.md"] }),
      collectionOf(join(root, "notes")),
    ];
    const { watcher, until } = changesOf([file, folder], way);
    writeNotes(root, { "notes/a.md": "there before anything is watched" });
    await until("");
    writeFileSync(join(root, "notes/a.md"), "edited");
    await until("a.md");
    watcher.close();
  });

  test("reports a note that is written to without a pause", async () => {
    const root = tempFolder();
    const { watcher, until } = changesOf([collectionOf(root)], { ...way, debounceMs: 100 });
    const writing = setInterval(() => writeFileSync(join(root, "busy.md"), String(performance.now())), 20);
    expect(await until("busy.md")).toEqual(["busy.md"]);
    clearInterval(writing);
    watcher.close();
  });
});

describe("watching has its limits", () => {
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

  test.skipIf(process.platform !== "linux")(
    "takes few descriptors on a root with 20,000 junk files",
    () => {
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
    },
    60_000,
  );
});

describe("keepFresh", () => {
  const settings = { onSessionStart: true, onSearch: true, watch: true, watchDebounceMs: 1500, intervalMinutes: 0 };

  function fresh(home: Parameters<typeof keepFresh>[0], overrides: Partial<FreshnessOptions> = {}) {
    const waiting: ((report: SyncReport) => void)[] = [];
    const keeper = keepFresh(home, {
      settings,
      transcriptDue: () => Promise.resolve(true),
      onReport: (report) => waiting.shift()?.(report),
      onFailed: (error) => {
        throw error;
      },
      onWarning: (warning) => {
        throw new Error(warning);
      },
      ...overrides,
    });
    return { keeper, nextReport: (): Promise<SyncReport> => new Promise((resolve) => waiting.push(resolve)) };
  }

  test("a note that another process writes is found", async () => {
    const root = tempFolder();
    writeNotes(root, { "memory/a.md": "# A\n" });
    const home = homeOf(root);
    const { keeper, nextReport } = fresh(home);
    await keeper.sync();
    const report = nextReport();
    Bun.spawnSync(["sh", "-c", `echo "# From outside" > ${join(root, "memory/b.md")}`]);
    expect(await report).toMatchObject({ added: 1 });
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

  test("a transcript that a search found gone leaves the index", async () => {
    const root = tempFolder();
    const sessions = collectionOf(join(root, "sessions"), {
      name: "sessions",
      source: "sessions",
      patterns: ["*.jsonl"],
    });
    mkdirSync(sessions.root);
    const message = { type: "message", message: { role: "user", content: "hello there" } };
    writeFileSync(join(sessions.root, "a.jsonl"), JSON.stringify(message));
    const { keeper, nextReport } = fresh(homeOf(root, { collections: [collectionOf(root), sessions] }), {
      settings: { ...settings, watch: false },
    });
    expect((await keeper.sync()).added).toBe(1);
    rmSync(join(sessions.root, "a.jsonl"));
    const report = nextReport();
    keeper.outdated();
    expect((await report).removed).toBe(1);
    keeper.close();
  });

  test("what could not be synced was not tried again before the next change", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "# A\n" });
    const home = homeOf(root);
    const failures = Promise.withResolvers<unknown>();
    const { keeper, nextReport } = fresh(home, {
      settings: { ...settings, watchDebounceMs: 50 },
      onFailed: failures.resolve,
    });
    await keeper.sync();
    const folder = dirname(home.indexPath);
    renameSync(folder, `${folder}-away`);
    writeFileSync(folder, "a file, where nothing can be made");
    writeNotes(root, { "b.md": "# B\n" });
    await failures.promise;
    rmSync(folder);
    renameSync(`${folder}-away`, folder);
    const report = nextReport();
    // The note is watched, and no search can meet it: it is not in the index.
    const searching = setInterval(() => keeper.searched(), 200);
    expect(await report).toMatchObject({ added: 1 });
    clearInterval(searching);
    keeper.close();
  });

  test("a timer looks for changes", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "" });
    const { keeper, nextReport } = fresh(homeOf(root), {
      settings: { ...settings, watch: false, intervalMinutes: 0.001 },
    });
    expect((await nextReport()).added).toBe(1);
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

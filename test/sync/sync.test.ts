import { Database } from "bun:sqlite";
import { describe, expect, setSystemTime, test } from "bun:test";
import { chmodSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { servingIdentity } from "../../src/store/identity.ts";
import { changeStamp } from "../../src/store/meta.ts";
import { documentsIn } from "../../src/store/documents.ts";
import { openIndex } from "../../src/store/open.ts";
import { missingVectorCounts } from "../../src/store/vectors.ts";
import { writeDocuments } from "../../src/store/write-documents.ts";
import { MAX_NOTE_BYTES } from "../../src/notes/decode.ts";
import { identityOf } from "../../src/embed/identity.ts";
import { readDocument } from "../../src/sync/read-document.ts";
import type { SyncProgress } from "../../src/sync/report.ts";
import { syncIndex } from "../../src/sync/sync.ts";
import { collectionOf, contentsOf, countingProvider, homeOf, qmdHomeOf, tempFolder, writeNotes } from "./helpers.ts";

const isRoot = process.getuid?.() === 0;

function pathsIn(home: Parameters<typeof contentsOf>[0]): string[] {
  return Object.keys(contentsOf(home));
}

describe("what a sync notices", () => {
  test("new, edited and deleted notes; nothing the second time", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "# A\none\n", "b.md": "# B\n", "c.md": "" });
    const home = homeOf(root);
    expect(await syncIndex(home)).toMatchObject({
      files: 3,
      passages: 2,
      added: 3,
      changed: 0,
      removed: 0,
      embedded: 0,
    });
    expect(await syncIndex(home)).toMatchObject({ files: 3, passages: 2, added: 0, changed: 0, removed: 0 });
    writeNotes(root, { "a.md": "# A\none and two\n", "d.md": "# D\n" });
    rmSync(join(root, "b.md"));
    expect(await syncIndex(home)).toMatchObject({ files: 3, passages: 2, added: 1, changed: 1, removed: 1 });
    expect(contentsOf(home)["memory/a.md"]?.passages[0]).toContain("one and two");
  });

  test("a renamed note", async () => {
    const root = tempFolder();
    writeNotes(root, { "old.md": "# Same\n" });
    const home = homeOf(root);
    await syncIndex(home);
    renameSync(join(root, "old.md"), join(root, "new.md"));
    expect(await syncIndex(home)).toMatchObject({ added: 1, removed: 1 });
    expect(pathsIn(home)).toEqual(["memory/new.md"]);
  });

  test("an edit that keeps size and modification time", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "tea at four\n" });
    const home = homeOf(root);
    await syncIndex(home);
    const { atime, mtime } = statSync(join(root, "a.md"));
    writeFileSync(join(root, "a.md"), "tea at five\n");
    utimesSync(join(root, "a.md"), atime, mtime);
    expect(await syncIndex(home)).toMatchObject({ changed: 1 });
    expect(contentsOf(home)["memory/a.md"]?.passages[0]).toContain("five");
  });

  test("a touched note stays current, and is not read again", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "text\n" });
    const home = homeOf(root);
    await syncIndex(home);
    utimesSync(join(root, "a.md"), 1e9, 1e9);
    expect(await syncIndex(home)).toMatchObject({ added: 0, changed: 0, files: 1 });
    const progress: SyncProgress[] = [];
    await syncIndex(home, { onProgress: (step) => progress.push(step) });
    expect(progress.some(({ phase }) => phase === "write")).toBe(false);
  });

  test("nothing: then nothing is written either", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "# A\n", "sub/b.md": "# B\n" });
    const home = homeOf(root);
    setSystemTime(Date.now() + 60_000);
    try {
      await syncIndex(home);
      const watching = openIndex(home.indexPath, { mode: "read" });
      const before = changeStamp(watching);
      await syncIndex(home);
      expect(changeStamp(watching)).toBe(before);
      writeNotes(root, { "a.md": "# A, and more\n" });
      await syncIndex(home);
      expect(changeStamp(watching)).not.toBe(before);
      watching.close();
    } finally {
      setSystemTime();
    }
  });

  test("another way of cutting", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "line of words\n".repeat(100) });
    const home = homeOf(root);
    expect((await syncIndex(home)).passages).toBe(1);
    const finer = { ...home, cutting: { kind: "lines", maxWeight: 400, overlapWeight: 0 } as const };
    expect(await syncIndex(finer)).toMatchObject({ changed: 0, passages: 4 });
  });

  test("a document that another program put into the index", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "# A\n" });
    const home = homeOf(root);
    const index = openIndex(home.indexPath, { mode: "write" });
    writeDocuments(index, [
      {
        collection: "memory",
        path: "ghost.md",
        title: "",
        hash: "0".repeat(64),
        text: "x",
        size: 1,
        mtimeMs: 1,
        birthtimeMs: 1,
        date: null,
        tags: [],
        passages: [],
      },
    ]);
    index.close();
    expect(await syncIndex(home)).toMatchObject({ added: 1, removed: 1 });
  });

  test("a document that qmd wrote since gets its passages", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "# A\n" });
    const home = qmdHomeOf(root);
    await syncIndex(home);
    writeNotes(root, { "b.md": "# B\n" });
    const hash = new Bun.CryptoHasher("sha256").update("# B\n").digest("hex");
    const qmd = new Database(home.indexPath);
    qmd.run("INSERT INTO content(hash, doc, created_at) VALUES (?, '# B\n', '')", [hash]);
    qmd.run(
      "INSERT INTO documents(collection, path, title, hash, created_at, modified_at) VALUES ('notes', 'b.md', 'B', ?, '', '')",
      [hash],
    );
    qmd.close();
    expect(await syncIndex(home)).toMatchObject({ files: 2, added: 0, changed: 0, passages: 2 });
    expect(await syncIndex(home)).toMatchObject({ files: 2, added: 0, changed: 0, passages: 2 });
  });

  test("a collection that an agent's configuration no longer names", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "", "x/b.md": "" });
    const home = homeOf(root, {
      collections: [
        collectionOf(root, { patterns: ["*.md"] }),
        collectionOf(join(root, "x"), { name: "extra", pathPrefix: "x/" }),
      ],
    });
    await syncIndex(home);
    expect(await syncIndex({ ...home, collections: home.collections.slice(0, 1) })).toMatchObject({
      files: 1,
      removed: 1,
    });
  });
});

test.each(["agent", "qmd"] as const)("texts of former versions leave the index of an %s home", async (kind) => {
  const root = tempFolder();
  writeNotes(root, { "a.md": "# First version\n", "b.md": "# Secret\n" });
  const home = kind === "agent" ? homeOf(root) : qmdHomeOf(root);
  await syncIndex(home);
  for (const version of ["second", "third"]) {
    writeNotes(root, { "a.md": `# The ${version} version\n` });
    await syncIndex(home);
  }
  rmSync(join(root, "b.md"));
  await syncIndex(home);
  const db = new Database(home.indexPath, { readonly: true });
  const texts = db.query("SELECT doc FROM content ORDER BY doc").values().flat();
  // A qmd home keeps what is gone until its `cleanup`.
  expect(texts).toEqual(kind === "agent" ? ["# The third version\n"] : ["# Secret\n", "# The third version\n"]);
  expect(db.query("SELECT active FROM documents ORDER BY path").values().flat()).toEqual(
    kind === "agent" ? [1] : [1, 0],
  );
  db.close();
});

describe("what a sync survives", () => {
  test("a note that was deleted after the folder was listed was said to be left out", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "# A\n", "b.md": "# B\n" });
    const report = await syncIndex(homeOf(root), {
      onProgress: ({ phase, done }) => {
        if (phase === "scan" && done > 0) rmSync(join(root, "b.md"), { force: true });
      },
    });
    expect(report).toMatchObject({ files: 1, added: 1, skipped: [] });
  });

  test("a root that vanished keeps its documents, and the report says so", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "# A\n" });
    const home = homeOf(root);
    await syncIndex(home);
    renameSync(root, `${root}-away`);
    const report = await syncIndex(home);
    renameSync(`${root}-away`, root);
    expect(report).toMatchObject({ removed: 0, passages: 1 });
    expect(report.warnings[0]).toContain("it does not exist");
    expect(pathsIn(home)).toEqual(["memory/a.md"]);
  });

  test.skipIf(isRoot)("an unreadable note is skipped, counted and named; what was indexed stays", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "# A\n", "b.md": "# B\n", "sub/c.md": "# C\n" });
    const home = homeOf(root);
    await syncIndex(home);
    writeNotes(root, { "b.md": "# B edited\n" });
    chmodSync(join(root, "b.md"), 0o000);
    chmodSync(join(root, "sub"), 0o000);
    const report = await syncIndex(home);
    chmodSync(join(root, "sub"), 0o755);
    expect(report.skipped.map(({ path }) => path).toSorted()).toEqual([join(root, "b.md"), join(root, "sub")]);
    expect(report.removed).toBe(0);
    expect(pathsIn(home).length).toBe(3);
  });

  test("a binary file and a too large one are left out and named", async () => {
    const root = tempFolder();
    writeNotes(root, {
      "a.md": "text",
      "bin.md": Uint8Array.of(1, 0, 0, 0, 2, 3),
      "huge.md": new Uint8Array(MAX_NOTE_BYTES + 1).fill(97),
    });
    const home = homeOf(root);
    const report = await syncIndex(home);
    expect(report).toMatchObject({ files: 1, added: 1 });
    expect(report.skipped).toEqual([
      { path: join(root, "bin.md"), reason: "it is not a text file" },
      { path: join(root, "huge.md"), reason: "it is larger than 32 MB" },
    ]);
  });

  test("bytes that are no UTF-8 are replaced, and the note is indexed with a warning", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": Uint8Array.of(0x74, 0x65, 0x61, 0x20, 0xf0, 0x9f, 0x62, 0x80) });
    const report = await syncIndex(homeOf(root));
    expect(report).toMatchObject({ files: 1, added: 1, skipped: [] });
    expect(report.warnings[0]).toStartWith(`${join(root, "a.md")}: some of its bytes`);
  });

  test("lines of 5 MB", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": `# ${"word ".repeat(1_000_000)}\nend\n` });
    const home = homeOf(root);
    expect((await syncIndex(home)).passages).toBeGreaterThan(3000);
  }, 20_000);

  test("cancelling keeps what was written, and the next sync completes it", async () => {
    const root = tempFolder();
    writeNotes(root, Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`${i}.md`, `# Note ${i}\n`])));
    const home = homeOf(root);
    const cancel = new AbortController();
    const stopped = syncIndex(home, {
      signal: cancel.signal,
      onProgress: ({ phase }) => phase === "write" && cancel.abort(),
    });
    expect(stopped).rejects.toMatchObject({ code: "SYNC_CANCELLED" });
    await stopped.catch(() => {});
    expect(pathsIn(home).length).toBe(200);
    expect(await syncIndex(home)).toMatchObject({ added: 400, files: 600 });
  });
});

test("a killed sync leaves an index that the next one completes", async () => {
  const root = tempFolder();
  writeNotes(
    root,
    Object.fromEntries(
      Array.from({ length: 2000 }, (_, i) => [`${i}.md`, `# Note ${i}\n${"some words ".repeat(200)}\n`]),
    ),
  );
  const home = homeOf(root);
  const script = `import { syncIndex } from ${JSON.stringify(join(import.meta.dir, "../../src/sync/sync.ts"))};
    await syncIndex(JSON.parse(process.argv[1]), { onProgress: ({ phase, done }) => console.log(phase, done) });`;
  const child = Bun.spawn([process.execPath, "-e", script, JSON.stringify(home)], {
    stdout: "pipe",
    stderr: "inherit",
  });
  for await (const chunk of child.stdout) {
    if (new TextDecoder().decode(chunk).includes("write")) break;
  }
  child.kill("SIGKILL");
  await child.exited;
  const interrupted = pathsIn(home).length;
  expect(interrupted).toBeGreaterThan(0);
  expect(interrupted).toBeLessThan(2000);
  await syncIndex(home);
  const clean = homeOf(root);
  await syncIndex(clean);
  expect(contentsOf(home)).toEqual(contentsOf(clean));
}, 30_000);

describe("a qmd home", () => {
  test("counts per collection; an emptied file leaves the index", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "# A\n", "b.md": "# B\n", "c.md": " \n" });
    const home = qmdHomeOf(root);
    expect((await syncIndex(home)).collections).toEqual([
      { name: "notes", files: 2, added: 2, changed: 0, unchanged: 0, removed: 0, skipped: [], warnings: [] },
    ]);
    writeNotes(root, { "a.md": "", "b.md": "# B2\n" });
    expect((await syncIndex(home)).collections).toEqual([
      { name: "notes", files: 1, added: 0, changed: 1, unchanged: 0, removed: 1, skipped: [], warnings: [] },
    ]);
    expect(pathsIn(home)).toEqual(["notes/b.md"]);
  });

  test("one collection of several, and the others stay", async () => {
    const root = tempFolder();
    writeNotes(root, { "x/a.md": "# A\n", "y/b.md": "# B\n" });
    const one = qmdHomeOf(join(root, "x"));
    const home = {
      ...one,
      collections: [...one.collections, collectionOf(join(root, "y"), { name: "other", source: "notes" })],
    };
    await syncIndex(home);
    rmSync(join(root, "x/a.md"));
    rmSync(join(root, "y/b.md"));
    expect(await syncIndex(home, { collections: ["notes"] })).toMatchObject({ removed: 1 });
    expect(pathsIn(home)).toEqual(["other/b.md"]);
  });
});

test("a sync of some collections leaves a file with the first that reaches it", async () => {
  const root = tempFolder();
  writeNotes(root, { "memory/a.md": "# A\n", "memory/deep/b.md": "# B\n" });
  const home = homeOf(root, {
    collections: [
      collectionOf(root, { patterns: ["memory/**/*.md"] }),
      collectionOf(join(root, "memory/deep"), { name: "extra", pathPrefix: "memory/deep/" }),
    ],
  });
  await syncIndex(home);
  const before = contentsOf(home);
  expect(await syncIndex(home, { collections: ["extra"] })).toMatchObject({ added: 0, removed: 0 });
  expect(contentsOf(home)).toEqual(before);
  expect(Object.keys(before)).toEqual(["memory/memory/a.md", "memory/memory/deep/b.md"]);
});

describe("embedding", () => {
  const note = (text: string): string => `# ${text}\n`;

  test("each new text is sent once; touching sends nothing, and forcing one text of its own", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": note("one"), "b.md": note("two"), "c.md": note("two"), "d.md": "" });
    const home = homeOf(root);
    const provider = countingProvider();
    expect(await syncIndex(home, { provider })).toMatchObject({ embedded: 2, embedding: { state: "complete" } });
    utimesSync(join(root, "a.md"), 1e9, 1e9);
    expect((await syncIndex(home, { provider })).embedded).toBe(0);
    expect((await syncIndex(home, { provider, force: true })).embedded).toBe(0);
    expect(provider.texts.toSorted()).toEqual([note("one"), note("two"), "A first text."].toSorted());
  });

  test("a text that went and came back is taken from the cache", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": note("one") });
    const home = homeOf(root);
    const provider = countingProvider();
    await syncIndex(home, { provider });
    writeNotes(root, { "a.md": note("two, longer") });
    await syncIndex(home, { provider });
    writeNotes(root, { "a.md": note("one") });
    expect((await syncIndex(home, { provider })).embedded).toBe(0);
  });

  test("a provider that fails does not undo the sync, and the next one goes on", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": note("one") });
    const home = homeOf(root);
    const failing = countingProvider({ embedDocuments: async () => Promise.reject(new Error("no answer")) });
    expect(await syncIndex(home, { provider: failing })).toMatchObject({
      added: 1,
      embedding: { state: "failed", reason: "no answer" },
    });
    expect((await syncIndex(home, { provider: countingProvider() })).embedded).toBe(1);
  });

  test("vectors that arrived before a failure stay", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": note("one"), "b.md": note("two") });
    const home = homeOf(root);
    const half = countingProvider({
      async embedDocuments(_inputs, _signal, report) {
        await report?.onVectors?.([0], [Float32Array.of(1, 0, 0)]);
        throw new Error("quota");
      },
    });
    await syncIndex(home, { provider: half });
    const index = openIndex(home.indexPath, { mode: "read" });
    expect(missingVectorCounts(index, identityOf(half, home.cutting)).passages).toBe(1);
    index.close();
  });

  test("a refused text is said once and not sent again", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": note("one"), "b.md": note("bad") });
    const home = homeOf(root);
    let sent = 0;
    const picky = countingProvider({
      async embedDocuments(inputs, _signal, report) {
        sent += inputs.length;
        for (const [i, { text }] of inputs.entries()) {
          if (text.includes("bad")) report?.onRejected?.(i, new Error("too long"));
          else await report?.onVectors?.([i], [Float32Array.of(1, 2, 3)]);
        }
        return inputs.map(() => Float32Array.of(1, 2, 3));
      },
    });
    const report = await syncIndex(home, { provider: picky });
    expect(report.warnings).toEqual(["The provider refused 1 texts; they are found by keyword only."]);
    await syncIndex(home, { provider: picky });
    expect(sent).toBe(2);
  });

  test("a new model's vectors take over when they are complete, without the texts that it refuses", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": note("one"), "b.md": note("two") });
    const home = homeOf(root);
    await syncIndex(home, { provider: countingProvider() });
    const other = countingProvider({ model: "other", fingerprint: "decade" });
    expect((await syncIndex(home, { provider: other })).embedded).toBe(2);
    const index = openIndex(home.indexPath, { mode: "read" });
    expect(missingVectorCounts(index, identityOf(other, home.cutting)).passages).toBe(0);
    index.close();
    expect((await syncIndex(home, { provider: countingProvider() })).embedded).toBe(0);
  });

  test("a refused text that stands in two notes does not keep a new model from taking over", async () => {
    const root = tempFolder();
    writeNotes(root, { "a.md": note("bad"), "b.md": note("bad"), "c.md": note("good") });
    const home = homeOf(root);
    await syncIndex(home, { provider: countingProvider() });
    const picky = countingProvider({
      model: "other",
      fingerprint: "decade",
      async embedDocuments(inputs, _signal, report) {
        const vectors = inputs.map(({ text }) => (text.includes("bad") ? new Float32Array() : Float32Array.of(1, 0)));
        for (const [i, { text }] of inputs.entries())
          if (text.includes("bad")) report?.onRejected?.(i, new Error("too long"));
        const kept = [...inputs.keys()].filter((i) => vectors[i]!.length > 0);
        await report?.onVectors?.(
          kept,
          kept.map((i) => vectors[i]!),
        );
        return vectors;
      },
    });
    await syncIndex(home, { provider: picky });
    const index = openIndex(home.indexPath, { mode: "read" });
    expect(servingIdentity(index)?.model).toBe("other");
    index.close();
  });

  test("a picture is embedded as such by a provider that sees, and skipped by others", async () => {
    const root = tempFolder();
    writeNotes(root, { "p.png": Buffer.from("\x89PNG\r\n\x1a\nrest", "latin1"), "fake.png": "no picture" });
    const media = { extensions: [".png"], maxFileBytes: 1000 };
    const home = homeOf(root, { collections: [collectionOf(root, { media, pathPrefix: "../pics/" })] });
    expect((await syncIndex(home, { provider: countingProvider() })).embedded).toBe(0);
    const seen: string[] = [];
    const seeing = countingProvider({
      media: true,
      async embedDocuments(inputs, _signal, report) {
        seen.push(...inputs.map(({ text, media: picture }) => `${text} ${picture?.mimeType} ${picture?.data.length}`));
        const vectors = inputs.map(() => Float32Array.of(1, 0));
        await report?.onVectors?.([...inputs.keys()], vectors);
        return vectors;
      },
    });
    const report = await syncIndex({ ...home }, { provider: seeing });
    expect(seen).toEqual(["Image file: ../pics/p.png image/png 12"]);
    expect(report.skipped).toEqual([{ path: join(root, "fake.png"), reason: "it is neither an image nor a sound" }]);
  });
});

test("progress counts the files of all collections", async () => {
  const root = tempFolder();
  writeNotes(root, { "x/a.md": "a", "x/b.md": "b", "y/c.md": "c" });
  const collections = ["x", "y"].map((name) => collectionOf(join(root, name), { name, pathPrefix: `${name}/` }));
  const progress: string[] = [];
  await syncIndex(homeOf(root, { collections }), {
    onProgress: ({ phase, done, total }) => progress.push(`${phase} ${done}/${total}`),
  });
  expect(progress).toEqual(["scan 0/2", "scan 2/2", "read 2/3", "write 2/3", "read 3/3", "write 3/3"]);
});

test("a transcript's passages cite its own lines", async () => {
  const root = tempFolder();
  const turn = (role: string, content: string): string =>
    JSON.stringify({ type: "message", message: { role, content, timestamp: 1_790_000_000_000 } });
  writeNotes(root, {
    "s.jsonl": [
      JSON.stringify({ type: "session" }),
      turn("user", "Where is tea?"),
      "{}",
      turn("assistant", "In the tin."),
    ].join("\n"),
  });
  const home = homeOf(root, {
    collections: [collectionOf(root, { name: "sessions", source: "sessions", patterns: ["*.jsonl"] })],
  });
  await syncIndex(home);
  const passage = contentsOf(home)["sessions/s.jsonl"]?.passages[0];
  expect(passage).toStartWith("2-4 User: Where is tea?\nAssistant: In the tin.");
});

test.each([
  ["nanoseconds", 1_790_000_000_000_000_000, "2026-09-21"],
  ["microseconds", 1_790_000_000_000_000, "2026-09-21"],
  ["no unit at all", 1e30, null],
])("a transcript whose times are in %s is indexed like any other", async (_, timestamp, date) => {
  const root = tempFolder();
  const line = (more: object): string =>
    JSON.stringify({ type: "message", message: { role: "user", content: "Where is tea?", ...more } });
  writeNotes(root, { "a.jsonl": line({ timestamp }), "b.jsonl": line({}) });
  const sessions = collectionOf(root, { name: "sessions", source: "sessions", patterns: ["*.jsonl"] });
  const home = homeOf(root, { collections: [sessions] });
  expect(await syncIndex(home)).toMatchObject({ files: 2, added: 2, skipped: [] });
  const index = openIndex(home.indexPath, { mode: "read" });
  expect(documentsIn(index, ["sessions"]).map((document) => document.date)).toEqual([date, null]);
  index.close();
});

test("a file that reading fails on is reported by its reason and ends nothing else", async () => {
  const root = tempFolder();
  writeNotes(root, { "a.md": "# A\n" });
  const home = homeOf(root);
  const unusable = Object.defineProperty({ ...home }, "cutting", {
    get: () => {
      throw new RangeError("Invalid Date");
    },
  });
  const file = { path: "a.md", kind: "text", size: 4, mtimeMs: 0, ctimeMs: 0, birthtimeMs: 0 } as const;
  const read = await readDocument(file, { home: unusable, collection: collectionOf(root), knownHash: null });
  expect(read).toEqual({ kind: "failed", reason: "it could not be taken in: Invalid Date", gone: false });
});

test("the user's files are never written", async () => {
  const root = tempFolder();
  writeNotes(root, { "a.md": "# A\n" });
  chmodSync(join(root, "a.md"), 0o444);
  const before = statSync(join(root, "a.md")).mtimeMs;
  await syncIndex(homeOf(root));
  expect(readFileSync(join(root, "a.md"), "utf8")).toBe("# A\n");
  expect(statSync(join(root, "a.md")).mtimeMs).toBe(before);
});

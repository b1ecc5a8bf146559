import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { contentText, documentsOf, documentsWithoutPassages } from "../../src/store/documents.ts";
import { hasMark } from "../../src/store/damage.ts";
import { foreignCachedVectors, isForeignIndex } from "../../src/store/foreign.ts";
import { servingIdentity } from "../../src/store/identity.ts";
import { keywordCandidates } from "../../src/store/keyword.ts";
import { nearestPassages } from "../../src/store/nearest.ts";
import { openIndex, openReadyIndex } from "../../src/store/open.ts";
import { compactVectors } from "../../src/store/vector-table.ts";
import { missingVectors } from "../../src/store/vectors.ts";
import { writeDocuments } from "../../src/store/write-documents.ts";
import { temporaryFolder } from "../temporary.ts";
import { draftOf, identityOf, randomNumbers, randomVector, sha256 } from "./helpers.ts";
import { makeQmdIndex } from "./qmd-index.ts";

const CHILD = join(import.meta.dir, "child.ts");

function newPath(): string {
  return join(temporaryFolder(), "sub", "index.sqlite");
}

function filledIndex(): string {
  const path = newPath();
  const index = openIndex(path, { mode: "write" });
  writeDocuments(
    index,
    Array.from({ length: 300 }, (_, i) => draftOf("memory", `${i}.md`, `alpha note ${i} ${"text ".repeat(100)}`)),
  );
  index.db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  index.close();
  return path;
}

const ALPHA = { any: [{ tokens: ["alpha"] }] };
const WHERE = { collections: ["memory"], limit: 5 };

describe("a new index", () => {
  test("has qmd's tables with exactly its columns, and leaves user_version to qmd", () => {
    const path = newPath();
    openIndex(path, { mode: "write" }).close();
    const ours = new Database(path, { readonly: true });
    const theirs = join(dirname(path), "qmd.sqlite");
    makeQmdIndex(theirs, []);
    const qmd = new Database(theirs, { readonly: true });
    const columns = (db: Database, table: string): unknown[] => db.query(`PRAGMA table_info(${table})`).values();
    for (const table of [
      "content",
      "documents",
      "llm_cache",
      "content_vectors",
      "store_collections",
      "store_config",
      "documents_fts",
    ]) {
      expect([table, ...columns(ours, table)]).toEqual([table, ...columns(qmd, table)]);
    }
    const indexes = ours.query("SELECT name FROM sqlite_master WHERE name LIKE 'idx_%' ORDER BY name").values().flat();
    expect(indexes).toEqual([
      "idx_content_vectors_model_fingerprint",
      "idx_documents_collection",
      "idx_documents_hash",
      "idx_documents_path",
    ]);
    expect(ours.query("PRAGMA user_version").get()).toEqual({ user_version: 0 });
    expect(ours.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(ours.query("SELECT name FROM sqlite_master WHERE type = 'trigger'").all()).toEqual([]);
  });

  test("is private to its user, its journal and folder too", () => {
    const path = newPath();
    const index = openIndex(path, { mode: "write" });
    writeDocuments(index, [draftOf("memory", "a.md", "alpha")]);
    const mode = (file: string): string => (statSync(file).mode & 0o777).toString(8);
    expect([mode(path), mode(`${path}-wal`), mode(dirname(path))]).toEqual(["600", "600", "700"]);
    index.close();
  });
});

describe("a reader", () => {
  test("of a missing index finds nothing and creates nothing", () => {
    const path = newPath();
    const index = openIndex(path, { mode: "read" });
    expect([index.state, keywordCandidates(index, ALPHA, WHERE), existsSync(dirname(path))]).toEqual([
      "missing",
      [],
      false,
    ]);
    index.close();
  });

  test("changes nothing, even as the last to close a file with a journal", () => {
    const path = newPath();
    const writer = openIndex(path, { mode: "write" });
    writeDocuments(writer, [draftOf("memory", "a.md", "alpha")]);
    // A copy taken while the writer is open is what a crash leaves: a journal and no index of it.
    const crashed = join(temporaryFolder(), "index.sqlite");
    for (const suffix of ["", "-wal"]) copyFileSync(path + suffix, crashed + suffix);
    const before = [readFileSync(crashed), readFileSync(`${crashed}-wal`)];
    const reader = openIndex(crashed, { mode: "read" });
    expect(keywordCandidates(reader, ALPHA, WHERE)).toHaveLength(1);
    expect(() => reader.db.run("DELETE FROM documents")).toThrow();
    reader.close();
    expect([readFileSync(crashed), readFileSync(`${crashed}-wal`)]).toEqual(before);
    writer.close();
  });

  test("opens an index in a folder that it may not write to", () => {
    const path = filledIndex();
    chmodSync(dirname(path), 0o500);
    const index = openIndex(path, { mode: "read" });
    expect(keywordCandidates(index, ALPHA, WHERE)).toHaveLength(5);
    index.close();
    chmodSync(dirname(path), 0o700);
  });

  test("read a file half written that somebody had to himself: it waits for him", async () => {
    const path = filledIndex();
    const child = Bun.spawn([process.execPath, CHILD, "hold", path], { stdout: "pipe", stderr: "inherit" });
    await child.stdout.getReader().read();
    const index = openIndex(path, { mode: "read" });
    expect([index.state, index.frozenAt]).toEqual(["ready", null]);
    expect(documentsOf(index, "memory")).toHaveLength(300);
    index.close();
    expect(await child.exited).toBe(0);
  });

  test("says in the end that somebody has the file to himself", () => {
    const path = filledIndex();
    const other = new Database(path);
    other.run("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
    const patience = process.env["QMD_SQLITE_BUSY_TIMEOUT"];
    process.env["QMD_SQLITE_BUSY_TIMEOUT"] = "1";
    try {
      for (const mode of ["read", "write"] as const) {
        expect(() => openIndex(path, { mode })).toThrow(expect.objectContaining({ code: "INDEX_BUSY" }));
      }
    } finally {
      if (patience === undefined) delete process.env["QMD_SQLITE_BUSY_TIMEOUT"];
      else process.env["QMD_SQLITE_BUSY_TIMEOUT"] = patience;
    }
    other.run("COMMIT");
    other.close();
  });

  const hasLockTable = existsSync("/proc/locks");
  test.skipIf(!hasLockTable)("keeps its lock on the file when others in the process look at the file", () => {
    const path = filledIndex();
    const { ino } = statSync(path);
    const isLocked = (): boolean => readFileSync("/proc/locks", "utf8").includes(`:${ino} `);
    const reader = openIndex(path, { mode: "read" });
    expect(documentsOf(reader, "memory")).toHaveLength(300);
    const looks: (() => unknown)[] = [
      () => openIndex(path, { mode: "read" }).close(),
      () => openIndex(path, { mode: "write" }).close(),
      () => openReadyIndex(path)?.close(),
      () => isForeignIndex(path),
      () => hasMark(path),
    ];
    // Without a lock another program takes the reader for gone, and the journal away.
    expect(
      looks.map((look) => {
        look();
        return isLocked();
      }),
    ).toEqual(looks.map(() => true));
    reader.close();
    expect(isLocked()).toBe(false);
  });

  test("sees one state while a writer writes", () => {
    const path = filledIndex();
    const reader = openIndex(path, { mode: "read" });
    const writer = openIndex(path, { mode: "write" });
    writer.db.run("BEGIN IMMEDIATE");
    writeDocuments(writer, [draftOf("memory", "new.md", "alpha")]);
    expect(documentsOf(reader, "memory")).toHaveLength(300);
    writer.db.run("COMMIT");
    expect(documentsOf(reader, "memory")).toHaveLength(301);
    reader.close();
    writer.close();
  });
});

describe("a damaged index", () => {
  const damages: [string, (path: string) => void][] = [
    ["no database", (path) => writeFileSync(path, "not a database at all, but some text\n".repeat(50))],
    ["a short piece of text", (path) => writeFileSync(path, "x")],
    ["cut short", (path) => truncateSync(path, statSync(path).size / 2)],
    [
      "malformed on its first page",
      (path) => {
        const bytes = readFileSync(path);
        bytes.fill(0xff, 100, 4096);
        writeFileSync(path, bytes);
      },
    ],
  ];
  test.each(damages)("(%s) is nothing to a reader, and set aside and made anew by a writer", (_, damage) => {
    const path = filledIndex();
    damage(path);
    const broken = readFileSync(path);
    const reader = openIndex(path, { mode: "read" });
    expect([reader.state, reader.warnings.length, documentsOf(reader, "memory")]).toEqual(["damaged", 1, []]);
    reader.close();
    expect(readFileSync(path)).toEqual(broken);
    const writer = openIndex(path, { mode: "write" });
    expect([writer.state, writer.warnings.length, documentsOf(writer, "memory")]).toEqual(["ready", 1, []]);
    const aside = readdirSync(dirname(path)).filter((name) => /^index\.sqlite\.damaged-\d{8}T\d{6}Z$/.test(name));
    expect(aside).toHaveLength(1);
    expect(readFileSync(join(dirname(path), aside[0]!))).toEqual(broken);
    expect(writer.warnings[0]).toContain(aside[0]);
    writer.close();
  });

  test("a file that is not called like an index is left alone", () => {
    const path = join(temporaryFolder(), "MEMORY.md");
    writeFileSync(path, "# Long-term memory\n".repeat(20));
    expect(() => openIndex(path, { mode: "write" })).toThrow("is left alone");
    expect(readFileSync(path, "utf8")).toStartWith("# Long-term memory");
  });

  test("with a journal keeps the journal with it", () => {
    const path = newPath();
    mkdirSync(dirname(path));
    writeFileSync(path, "garbage ".repeat(100));
    writeFileSync(`${path}-wal`, "journal");
    const index = openIndex(path, { mode: "write" });
    // Who looks at a file with a journal makes a `-shm`.
    const names = readdirSync(dirname(path)).filter((name) => name.includes("damaged") && !name.endsWith("-shm"));
    expect(names.map((name) => name.replace(/\d{8}T\d{6}Z/, "")).sort()).toEqual(
      ["index.sqlite.damaged-", "index.sqlite.damaged--wal"].sort(),
    );
    index.close();
  });
});

describe("other programs' files", () => {
  test("a file with OpenClaw's session table alone is taken, and the table kept", () => {
    const path = join(temporaryFolder(), "index.sqlite");
    const theirs = new Database(path, { create: true, readwrite: true });
    theirs.run(
      "CREATE TABLE openclaw_qmd_session_artifacts (collection TEXT, artifact_path TEXT); INSERT INTO openclaw_qmd_session_artifacts VALUES ('c', 'p')",
    );
    theirs.close();
    const reader = openIndex(path, { mode: "read" });
    expect([reader.state, documentsOf(reader, "memory"), keywordCandidates(reader, ALPHA, WHERE)]).toEqual([
      "unprepared",
      [],
      [],
    ]);
    reader.close();
    const index = openIndex(path, { mode: "write" });
    writeDocuments(index, [draftOf("memory", "a.md", "alpha")]);
    expect(index.db.query("SELECT * FROM openclaw_qmd_session_artifacts").values()).toEqual([["c", "p"]]);
    index.close();
  });

  test("another database at the place of an index got our tables, unless it looked much like OpenClaw's", () => {
    const path = join(temporaryFolder(), "main.sqlite");
    new Database(path, { create: true, readwrite: true }).close();
    expect(isForeignIndex(path)).toBe(false);
    const theirs = new Database(path, { create: true, readwrite: true });
    theirs.run("CREATE TABLE chunks (id TEXT)");
    theirs.close();
    expect(isForeignIndex(path)).toBe(true);
  });

  test("OpenClaw's own index is told from ours, never written, and its cached vectors read in each encoding", () => {
    const path = join(temporaryFolder(), "main.sqlite");
    const theirs = new Database(path, { create: true, readwrite: true });
    theirs.run(`CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT); CREATE TABLE files (path TEXT); CREATE TABLE chunks (id TEXT);
      CREATE TABLE embedding_cache (provider TEXT, model TEXT, provider_key TEXT, hash TEXT, embedding, dims INTEGER, updated_at INTEGER)`);
    const insert = theirs.query("INSERT INTO embedding_cache VALUES ('openai', 'm', 'k', ?, ?, ?, 1)");
    insert.run("json", "[1, 2.5]", 2);
    insert.run("doubles", new Uint8Array(Float64Array.of(1, 2.5).buffer), 2);
    insert.run("floats", new Uint8Array(Float32Array.of(1, 2.5).buffer), 2);
    insert.run("broken", "[1, ", 2);
    insert.run("short", "[1]", 2);
    theirs.close();
    const before = readFileSync(path);
    expect(isForeignIndex(path)).toBe(true);
    expect(() => openIndex(path, { mode: "write" })).toThrow("OpenClaw's own");
    const found = foreignCachedVectors(path, "openai", "m", ["json", "doubles", "floats", "broken", "short", "absent"]);
    expect([...found.keys()].sort()).toEqual(["doubles", "floats", "json"]);
    expect([...found.values()].map((vector) => Array.from(vector))).toEqual([
      [1, 2.5],
      [1, 2.5],
      [1, 2.5],
    ]);
    expect(foreignCachedVectors(path, "openai", "other", ["json"]).size).toBe(0);
    expect(readFileSync(path)).toEqual(before);
    expect([isForeignIndex(filledIndex()), isForeignIndex(`${path}.none`)]).toEqual([false, false]);
    const again = new Database(path);
    again.run("INSERT INTO embedding_cache VALUES ('openai', 'm', 'another address', 'x', '[1]', 1, 1)");
    again.close();
    expect(foreignCachedVectors(path, "openai", "m", ["json"]).size).toBe(0);
  });

  for (const form of ["vec0", "packed"]) {
    test(`a file that qmd made is used with its documents and vectors (${form})`, () => {
      const random = randomNumbers(7);
      const path = join(temporaryFolder(), "index.sqlite");
      const text = "first part\n\nsecond part\n\nthird part";
      const [a, b, c] = [randomVector(random, 8), randomVector(random, 8), randomVector(random, 8)] as const;
      // qmd cut the second passage in two and left the third without a vector of its own.
      makeQmdIndex(path, [
        {
          collection: "notes",
          path: "a.md",
          text,
          chunks: [
            { pos: 0, vector: a },
            { pos: 12, vector: b },
            { pos: 18, vector: c },
          ],
        },
      ]);
      if (form === "packed") process.env["MEMQ_NO_VEC"] = "1";
      try {
        const reader = openIndex(path, { mode: "read" });
        expect([reader.state, documentsOf(reader, "notes")[0]?.path]).toEqual(["unprepared", "a.md"]);
        reader.close();
        const index = openIndex(path, { mode: "write" });
        expect(index.db.query("SELECT name FROM sqlite_master WHERE type = 'trigger'").all()).toEqual([]);
        expect(index.db.query("PRAGMA user_version").get()).toEqual({ user_version: 0 });
        expect(index.db.query("SELECT key FROM store_config").values()).toEqual([["config_hash"]]);
        const [uncut] = documentsWithoutPassages(index);
        expect([uncut?.path, contentText(index, uncut?.hash ?? "")]).toEqual(["a.md", text]);
        writeDocuments(index, [draftOf("notes", "a.md", text, { keys: "document" })]);
        expect(documentsWithoutPassages(index)).toEqual([]);
        const identity = identityOf("hf:model", { fingerprint: "c37385" });
        expect(servingIdentity(index)).toMatchObject({ model: "hf:model", fingerprint: "c37385" });
        const missing = missingVectors(index, identity).map((row) => [row.seq, row.vectorKey]);
        expect(missing).toEqual([[2, `${sha256(text)}_3`]]);
        const nearest = nearestPassages(index, b, { collections: ["notes"], limit: 5 });
        expect(nearest.map((row) => row.vectorKey)).toEqual([`${sha256(text)}_1`, `${sha256(text)}_0`]);
        expect(nearest[0]?.cosine).toBeCloseTo(1, 6);
        expect([compactVectors(index), compactVectors(index)]).toEqual([form === "vec0", false]);
        expect(nearestPassages(index, b, { collections: ["notes"], limit: 5 })).toEqual(nearest);
        index.close();
      } finally {
        delete process.env["MEMQ_NO_VEC"];
      }
    });
  }

  test("what qmd changed since is cut again, and what it removed is gone", () => {
    const path = filledIndex();
    const qmd = new Database(path, { readwrite: true });
    qmd.run("PRAGMA user_version = 1; CREATE TRIGGER documents_ad AFTER DELETE ON documents BEGIN SELECT 1; END");
    qmd.query("INSERT INTO content VALUES (?, 'beta', '')").run(sha256("beta"));
    qmd.query("UPDATE documents SET hash = ? WHERE path = '7.md'").run(sha256("beta"));
    qmd.run("UPDATE documents SET active = 0 WHERE path = '8.md'; DELETE FROM documents WHERE path = '9.md'");
    qmd.close();
    const index = openIndex(path, { mode: "write" });
    expect(documentsWithoutPassages(index).map((row) => row.path)).toEqual(["7.md"]);
    expect(keywordCandidates(index, ALPHA, { collections: ["memory"], limit: 999 })).toHaveLength(298);
    expect(index.db.query("SELECT count(*) FROM memq_passages").values()).toEqual([[298]]);
    expect(index.db.query("PRAGMA user_version").get()).toEqual({ user_version: 0 });
    index.close();
  });

  test("a file of a later version is refused and left as it is", () => {
    const path = filledIndex();
    const later = new Database(path, { readwrite: true });
    later.run("UPDATE memq_meta SET value = '99' WHERE key = 'schema'");
    later.close();
    for (const mode of ["read", "write"] as const) expect(() => openIndex(path, { mode })).toThrow("newer memq");
  });
});

test("more patience than SQLite can count was none", () => {
  const before = process.env["QMD_SQLITE_BUSY_TIMEOUT"];
  process.env["QMD_SQLITE_BUSY_TIMEOUT"] = "99999999999";
  const index = openIndex(join(temporaryFolder(), "index.sqlite"), { mode: "write" });
  if (before === undefined) delete process.env["QMD_SQLITE_BUSY_TIMEOUT"];
  else process.env["QMD_SQLITE_BUSY_TIMEOUT"] = before;
  expect(index.db.query("PRAGMA busy_timeout").get()).toEqual({ timeout: 2_147_483_647 });
  index.close();
});

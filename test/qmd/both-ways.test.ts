import { Database } from "bun:sqlite";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, renameSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { withWriterLock } from "../../src/store/lock.ts";
import { openIndex } from "../../src/store/open.ts";
import { connectStdio } from "../mcp/clients.ts";
import { qmdHome, type QmdTestHome } from "./homes.ts";

// Starts qmd itself where it is there.
setDefaultTimeout(60_000);

const fixture = resolve(import.meta.dir, "../fixtures/qmd-index/index.sqlite");

/** The notes that the fixture was made of, with `qmd collection add`, `context add` and `update`. */
const NOTES = {
  "notes/a.md": "# Alpha note\n\nfirst line about router\nsecond line\nthird vlan router line\n",
  "notes/sub/b c.md": "no heading here\nrouter of beta & <b>\n",
  "notes/会議メモ.md": "# 会議\n\n次回の会議は四月十日、予算の承認について話す。\n",
};
const YAML =
  'global_context: Everywhere\ncollections:\n  notes:\n    path: "$ROOT/notes"\n    context:\n      sub: Below\n';

/** A home whose index qmd 2.8.3 made. */
async function broughtAlong(): Promise<QmdTestHome> {
  const home = await qmdHome(NOTES, { yaml: YAML, sync: false });
  mkdirSync(dirname(home.indexPath), { recursive: true });
  copyFileSync(fixture, home.indexPath);
  return home;
}

/** Writes to the index until it is released, as qmd does (a transaction) or memq (a lock). */
async function writer(kind: "qmd" | "memq", { indexPath }: QmdTestHome): Promise<() => Promise<void>> {
  if (kind === "qmd") {
    const db = new Database(indexPath, { readwrite: true });
    db.run("BEGIN IMMEDIATE");
    return async () => db.close();
  }
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const lock = withWriterLock(indexPath, () => {
    held.resolve();
    return released.promise;
  });
  await held.promise;
  return async () => {
    released.resolve();
    await lock;
  };
}

test.each(["qmd", "memq"] as const)(
  "a search waited for %s to be done writing to an index that qmd made",
  async (kind) => {
    const home = await broughtAlong();
    const release = await writer(kind, home);
    // The writer is held till `release`: who waited for it would never end.
    const waiting = await home.run("search", "router", "--json");
    expect(waiting).toMatchObject({ exitCode: 0, stdout: "[]\n" });
    expect(waiting.stderr).toMatch(/another process|in use/i);
    expect(waiting.stderr).toContain("until the index could be made ready");
    expect((await home.run("get", "notes/a.md")).stdout).toContain("third vlan router line");

    const client = await connectStdio("legacy", [], { env: home.env, cwd: home.root });
    const ask = () => client.callTool({ name: "query", arguments: { query: "router" } });
    expect((await ask()).structuredContent).toMatchObject({
      results: [],
      warning: expect.stringContaining("not ready"),
    });
    await release();
    let answer = await ask();
    while (answer.structuredContent.results.length === 0) answer = await ask();
    expect(answer.structuredContent.results.map(({ path }: { path: string }) => path)).toContain("a.md");
    await client.close();
    expect(await home.json("search", "router", "--json")).toHaveLength(2);
    home.remove();
  },
);

test("of two searches that come first on an index that qmd made both answer", async () => {
  const home = await broughtAlong();
  const both = await Promise.all([home.json("search", "router", "--json"), home.json("search", "router", "--json")]);
  expect(both.map((rows) => rows.length)).toEqual([2, 2]);
  home.remove();
});

test("an index that qmd made counts as made ready only when its documents have been cut", async () => {
  const home = await broughtAlong();
  // As one is left that was killed between giving the file its tables and cutting the first document.
  openIndex(home.indexPath, { mode: "write" }).close();
  expect(await home.json("search", "router", "--json")).toHaveLength(2);
  expect((await home.run("search", "router", "--json")).stderr).toBe("");
  home.remove();
});

test("an index that qmd made is made ready when its folder is back, and till then that is said", async () => {
  const home = await broughtAlong();
  const [folder, away] = [join(home.root, "notes"), join(home.root, "away")];
  renameSync(folder, away);
  const without = await home.run("search", "router", "--json");
  expect(without).toMatchObject({ exitCode: 0, stdout: "[]\n" });
  expect(without.stderr).toContain(`The folder ${folder} of "notes" was not read`);
  renameSync(away, folder);
  expect(await home.json("search", "router", "--json")).toHaveLength(2);
  home.remove();
});

describe("an index that qmd made", () => {
  test("answers at once, with documents and contexts", async () => {
    const home = await broughtAlong();
    expect((await home.run("ls", "notes")).stdout).toContain("qmd://notes/sub/b c.md\n");
    const rows = await home.json("search", "router", "--json");
    expect(rows.map(({ file, context }) => ({ file, context }))).toEqual([
      { file: "qmd://notes/a.md", context: "Everywhere" },
      { file: "qmd://notes/sub/b c.md", context: "Everywhere\n\nBelow" },
    ]);
    expect(await home.json("search", "会議 予算", "--json")).toMatchObject([{ path: "会議メモ.md" }]);
    home.remove();
  });

  test("keeps its documents' ids, hashes and docids when it is updated", async () => {
    const home = await broughtAlong();
    const documents = (): unknown[] => {
      const db = new Database(home.indexPath, { readonly: true });
      const rows = db.query("SELECT id, collection, path, title, hash, active FROM documents ORDER BY id").all();
      db.close();
      return rows;
    };
    const before = documents();
    expect((await home.run("update")).stdout).toContain("Indexed: 0 new, 0 updated, 3 unchanged, 0 removed");
    expect(documents()).toEqual(before);
    home.remove();
  });
});

test("a document that qmd indexed again since is shown as it is", async () => {
  const home = await qmdHome({ "n/a.md": `${"old line\n".repeat(30)}needle stood here\n` });
  const text = "short\nneedle stands there\n";
  home.write({ "n/a.md": text });
  const hash = new Bun.CryptoHasher("sha256").update(text).digest("hex");
  const db = new Database(home.indexPath);
  db.query("INSERT INTO content VALUES (?, ?, ?)").run(hash, text, new Date().toISOString());
  db.query("UPDATE documents SET hash = ?").run(hash);
  db.close();
  expect(await home.json("search", "needle", "--json")).toMatchObject([
    { docid: `#${hash.slice(0, 6)}`, line: 2, snippet: "@@ -1,3 @@ (0 before, 0 after)\nshort\nneedle stands there\n" },
  ]);
  home.remove();
});

test("notes that qmd added to an index of ours are said to be left out, until an update", async () => {
  const home = await qmdHome({ "n/a.md": "first router\n" });
  const text = "second router\n";
  home.write({ "n/b.md": text, "m/c.md": text });
  const hash = new Bun.CryptoHasher("sha256").update(text).digest("hex");
  const now = new Date().toISOString();
  const db = new Database(home.indexPath);
  // What qmd does whenever it opens a file, and then with a new note.
  db.run("CREATE TRIGGER documents_ai AFTER INSERT ON documents BEGIN SELECT 1; END");
  db.query("INSERT INTO content VALUES (?, ?, ?)").run(hash, text, now);
  for (const [collection, path] of [
    ["n", "b.md"],
    ["m", "c.md"],
  ] as const)
    db.query(
      "INSERT INTO documents(collection, path, title, hash, created_at, modified_at) VALUES (?, ?, ?, ?, ?, ?)",
    ).run(collection, path, "b", hash, now, now);
  db.close();
  const notice = /^Left out: 1 document that another program added or changed/m;
  for (const command of ["search", "query"]) {
    const { stdout, stderr, exitCode } = await home.run(command, "router", "--files");
    expect(stdout).toMatch(/^#\w+,[\d.]+,qmd:\/\/n\/a\.md\n$/);
    expect(stderr).toMatch(notice);
    expect(exitCode).toBe(0);
  }
  const client = await connectStdio("legacy", [], { env: home.env, cwd: home.root });
  const ask = () => client.callTool({ name: "query", arguments: { query: "router" } });
  let answer = await ask();
  expect(answer.structuredContent.warning).toMatch(notice);
  while (answer.structuredContent.results.length < 2) answer = await ask();
  await client.close();
  const after = await home.run("search", "router", "--files");
  expect(after.stdout.split("\n")).toHaveLength(3);
  expect(after.stderr).not.toContain("Left out");
  home.remove();
});

// Path of qmd 2.8.3, which is too large to install for every run.
const qmd = process.env["TEST_QMD"] ?? "";

describe.skipIf(!existsSync(qmd))("an index that memq made, in qmd (TEST_QMD)", () => {
  test("finds the same notes, and memq goes on with what qmd wrote", async () => {
    const home = await qmdHome(NOTES, { yaml: YAML });
    const runQmd = async (...args: string[]): Promise<string> => {
      const child = Bun.spawn([qmd, ...args], { cwd: home.root, env: { ...process.env, ...home.env }, stderr: "pipe" });
      const [stdout] = await Promise.all([new Response(child.stdout).text(), child.exited]);
      return stdout;
    };
    for (const query of ["router", "vlan", "予算"]) {
      const theirs = JSON.parse(await runQmd("search", query, "--json")) as { file: string; docid: string }[];
      const ours = await home.json("search", query, "--json");
      expect(theirs.map(({ file }) => file).toSorted()).toEqual(ours.map(({ file }) => String(file)).toSorted());
    }
    home.write({ "notes/new.md": "# New\n\nwritten while qmd was there\n" });
    await runQmd("update");
    expect(await home.json("search", "router", "--json")).toHaveLength(2);
    await home.run("update");
    expect(await home.json("search", "written while qmd", "--json")).toMatchObject([{ path: "new.md" }]);
    expect((await runQmd("get", join("notes", "new.md"))).split("\n")[0]).toStartWith("qmd://notes/new.md  #");
    home.remove();
  });
});

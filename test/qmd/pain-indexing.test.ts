/*
 * What users of note search have suffered from, named after the list of it: the rows about indexing and looking after an index.
 * Rows that other suites prove, by the names of their tests:
 *
 * | row | where |
 * | --- | --- |
 * | 1   | store/vectors "are in the form that was asked for" (both forms); qmd/pain "pain 1" |
 * | 2, 3, 5, 11, 12, 44 | qmd/pain |
 * | 13, 14, 15, 27, 29, 47 | qmd/embedding; store/crash "eight processes that open a new index at once all write to it" |
 * | 22  | gateway/rpc: end of input ends the server |
 * | 28  | notes/cut and qmd/pain "pain 28"; embed/requests "go in pieces …" |
 * | 32  | qmd/administration |
 * | 33  | gateway: the HTTP server refuses strangers' origins |
 * | 47  | llama/download "nothing: fails within seconds and names what to set", "goes through the proxy …" |
 */
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdirSync, rmSync, statSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { homesUntilEnd, type QmdTestHome } from "./homes.ts";

setDefaultTimeout(60_000);

const homeOf = homesUntilEnd();

/** The paths in the index, in their order. */
function paths(home: QmdTestHome): string[] {
  return counted(home, "SELECT path AS value FROM documents WHERE active = 1 ORDER BY path").map(String);
}

function counted(home: QmdTestHome, sql: string): unknown[] {
  const db = new Database(home.indexPath, { readonly: true });
  const rows = db.query<{ value: unknown }, []>(sql).all();
  db.close();
  return rows.map(({ value }) => value);
}

test("pain 4: names of symbols alone, and of any script, are indexed", async () => {
  const names = ["🐘.md", "{.md", "[.md", "腾讯混元.md", "caf\u00e9.md", "cafe\u0301s.md", "! a & b (c).md"];
  const home = await homeOf({ "n/x.md": "x\n" }, { sync: false });
  home.write(Object.fromEntries(names.map((name) => [`n/${name}`, `# ${name}\n\nelephant\n`])));
  expect((await home.run("update")).stdout).toContain(`Indexed: ${names.length + 1} new`);
  expect(paths(home)).toEqual([...names, "x.md"].toSorted());
  expect(await home.json("search", "elephant", "--json")).toHaveLength(names.length);
});

test("pain 24: what is deleted and edited leaves nothing behind but what cleanup frees", async () => {
  const home = await homeOf({ "n/a.md": "version 0\n", "n/b.md": "stays\n" });
  for (let version = 1; version <= 10; version++) {
    home.write({ "n/a.md": `version ${version} ${"word ".repeat(version)}\n` });
    await home.sync();
  }
  await home.run("update");
  unlinkSync(join(home.root, "n/a.md"));
  await home.run("update");
  expect(await home.json("search", "version", "--json")).toEqual([]);
  expect(counted(home, "SELECT count(*) AS value FROM memq_passages")).toEqual([1]);
  expect(counted(home, "SELECT count(*) AS value FROM memq_fts")).toEqual([1]);
  await home.run("cleanup");
  expect(counted(home, "SELECT count(*) AS value FROM documents")).toEqual([1]);
  expect(counted(home, "SELECT count(*) AS value FROM content")).toEqual([1]);
});

test("pain 25: a wrong folder that was indexed is given back", async () => {
  const home = await homeOf({ "n/a.md": "small\n" });
  await home.run("cleanup");
  const before = statSync(home.indexPath).size;
  home.write(
    Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [`wrong/${n}.md`, `${n} ${"lorem ipsum ".repeat(2000)}\n`]),
    ),
  );
  await home.run("collection", "add", "wrong");
  await home.run("collection", "remove", "wrong");
  await home.run("cleanup");
  expect(statSync(home.indexPath).size).toBeLessThan(before * 1.5);
});

test("pain 26: a file of 60 MB and a line of 5 MB stop nothing", async () => {
  const home = await homeOf({ "n/a.md": "small\n" }, { sync: false });
  home.write({ "n/huge.md": "x".repeat(60_000_000), "n/line.md": "word ".repeat(1_000_000) });
  const { exitCode, stdout, stderr } = await home.run("update");
  expect(exitCode).toBe(0);
  expect(stdout).toContain("Indexed: 2 new");
  expect(stderr).toContain(`⚠ Skipped ${join(home.root, "n/huge.md")}: it is larger than 32 MB\nSkipped 1 file(s)\n`);
});

test("pain 28: two thousand emoji in one line are cut between them", async () => {
  const home = await homeOf({ "n/a.md": "😀".repeat(2000) });
  const [doc] = counted(home, "SELECT doc AS value FROM content");
  const cuts = counted(home, "SELECT pos AS value FROM memq_passages UNION SELECT pos + length FROM memq_passages");
  for (const cut of cuts) expect(String(doc).slice(0, Number(cut)).isWellFormed()).toBe(true);
  expect(cuts.length).toBeGreaterThan(1);
});

test.skipIf(process.getuid?.() === 0)(
  "pain 30: an unreadable file is named and counted, and keeps its place",
  async () => {
    const home = await homeOf({ "n/a.md": "one\n", "n/b.md": "two\n" });
    home.write({ "n/b.md": "two, changed\n" });
    chmodSync(join(home.root, "n/b.md"), 0o000);
    const { exitCode, stderr } = await home.run("update");
    chmodSync(join(home.root, "n/b.md"), 0o600);
    expect(exitCode).toBe(0);
    expect(stderr).toContain("b.md: permission denied (EACCES)\nSkipped 1 file(s)\n");
    expect(paths(home)).toEqual(["a.md", "b.md"]);
  },
);

test("pain 30: a file that is no text, and a dangling link, are named and counted", async () => {
  const home = await homeOf({ "n/a.md": "one\n" });
  home.write({ "n/b.md": new Uint8Array([0, 1, 2, 255, 0, 0]) });
  symlinkSync(join(home.root, "gone.md"), join(home.root, "n/c.md"));
  const { exitCode, stderr } = await home.run("update");
  expect(exitCode).toBe(0);
  expect(stderr).toContain(`Skipped ${join(home.root, "n/b.md")}: it is not a text file\n`);
  expect(stderr).toContain(`Skipped ${join(home.root, "n/c.md")}: it does not exist (ENOENT)\n`);
  expect(stderr).toContain("Skipped 2 file(s)\n");
});

test("pain 31: links are followed inside the collection, end in loops, and never lead out", async () => {
  const home = await homeOf({ "n/a.md": "one\n", "n/real/b.md": "two\n", "secret/s.md": "secret\n" }, { sync: false });
  const link = (target: string, name: string): void => symlinkSync(join(home.root, target), join(home.root, name));
  link("secret/s.md", "n/stolen.md");
  link("secret", "n/folder");
  link("n/real", "n/linked");
  link("n", "n/real/loop");
  home.configure('collections:\n  n:\n    path: "$ROOT/n"\n    pattern: "**/*.md,../secret/*.md"\n');
  const { exitCode, stderr } = await home.run("update");
  expect(exitCode).toBe(0);
  expect(stderr).toContain("stolen.md: it leads outside the collection");
  expect(paths(home).filter((path) => path.includes("s.md") || path.includes("secret"))).toEqual([]);
  expect(paths(home)).toContain("real/b.md");
});

test("pain 34: --glob is --mask, and an unknown option is an error and not left out", async () => {
  const home = await homeOf({ "n/MEMORY.md": "one\n", "n/other.md": "two\n" }, { yaml: "", sync: false });
  const wrong = await home.run("collection", "add", "n", "--name", "m", "--globb", "MEMORY.md");
  expect(wrong.exitCode).toBe(2);
  expect(wrong.stderr).toStartWith("unknown option '--globb'\nDid you mean '--glob'?");
  expect((await home.run("collection", "add", "n", "--name", "m", "--glob", "MEMORY.md")).exitCode).toBe(0);
  expect(paths(home)).toEqual(["MEMORY.md"]);
  const [row] = await home.json("collection", "list", "--json");
  expect(row).toEqual({ name: "m", path: join(home.root, "n"), pattern: "MEMORY.md" });
});

test("pain 35: a mask may be a list, and one that matches nothing says so", async () => {
  const home = await homeOf({ "n/a.md": "one\n", "n/b.txt": "two\n", "n/c.org": "three\n" }, { yaml: "", sync: false });
  const added = await home.run("collection", "add", "n", "--mask", "a.md,*.{txt,org}");
  expect(added.stdout).toContain("Indexed: 3 new");
  const none = await home.run("collection", "add", "n", "--name", "none", "--mask", "*.nothing");
  expect(none.exitCode).toBe(0);
  expect(none.stdout).toContain("No files found matching pattern.\n");
});

test("pain 36: a collection needs a path, and one that exists", async () => {
  const home = await homeOf({ "n/a.md": "one\n" }, { yaml: "", sync: false });
  const missing = await home.run("collection", "add");
  expect(missing.exitCode).toBe(1);
  expect(missing.stderr).toStartWith("Usage: memq collection add <path>");
  expect((await home.run("collection", "add", "zz")).stderr).toStartWith("Collection path does not exist.\n");
  expect((await home.run("collection", "list")).stdout).toStartWith("No collections found.");
});

test("pain 43: one-letter folders at the top are folders, and a tilde is the home folder", async () => {
  const home = await homeOf({ "n/a.md": "one\n" }, { yaml: "", sync: false });
  const top = join(home.env["HOME"] ?? "", "c/work");
  mkdirSync(top, { recursive: true });
  writeFileSync(join(top, "a.md"), "drive letters\n");
  expect((await home.run("collection", "add", "~/c/work")).stdout).toContain(`Collection: ${top} (**/*.md)\n`);
  home.configure("collections:\n  t:\n    path: ~/c/work\n  letter:\n    path: /c/no-such-folder\n");
  const { stdout, stderr } = await home.run("update");
  expect(stdout).toContain("Indexed: 1 new");
  expect(stderr).toContain("/c/no-such-folder");
  expect(stderr + stdout).not.toContain("C:");
});

test("an emptied file leaves the index", async () => {
  const home = await homeOf({ "n/a.md": "findable words\n" });
  home.write({ "n/a.md": "  \n" });
  expect((await home.run("update")).stdout).toContain("Indexed: 0 new, 0 updated, 0 unchanged, 1 removed");
  expect(await home.json("search", "findable", "--json")).toEqual([]);
});

test("a folder that vanished keeps its documents, with a warning", async () => {
  const home = await homeOf({ "n/a.md": "findable words\n" });
  rmSync(join(home.root, "n"), { recursive: true });
  const { exitCode, stderr } = await home.run("update");
  expect(exitCode).toBe(0);
  expect(stderr).toContain(`⚠ The folder ${join(home.root, "n")} of "n" was not read`);
  expect(paths(home)).toEqual(["a.md"]);
});

test("one NUL byte kept a whole note from being found", async () => {
  const home = await homeOf({ "n/a.md": "# Trees\n\nA walnut\0 stands here.\n", "n/b.md": "\x7fELF\0\0\0\x01walnut" });
  const [hit, ...others] = await home.json("search", "walnut", "--json");
  expect([hit?.["file"], others]).toEqual(["qmd://n/a.md", []]);
  expect((await home.run("get", "n/a.md", "--no-line-numbers")).stdout).toContain("A walnut  stands here.");
  expect((await home.run("update")).stderr).toContain("b.md: it is not a text file");
});

test("a file that had become something else, or could not be looked at, was said to be gone", async () => {
  const names = ["binary", "folder", "below"];
  const home = await homeOf(Object.fromEntries(names.map((name) => [`n/${name}/${name}.md`, `walnut ${name}\n`])));
  const at = (name: string): string => join(home.root, "n", name, `${name}.md`);
  writeFileSync(at("binary"), "\x7fELF\0\0\0\x01 walnut binary, and more");
  unlinkSync(at("folder"));
  mkdirSync(at("folder"));
  // Like a folder without permission, and so for everybody.
  rmSync(join(home.root, "n/below"), { recursive: true });
  symlinkSync("below", join(home.root, "n/below"));
  const { stdout, stderr } = await home.run("search", "walnut", "--json");
  expect(JSON.parse(stdout)).toMatchObject([{ file: "qmd://n/below/below.md" }]);
  expect(stderr).toContain("Shown as indexed: 1 file (qmd/n/below/below.md), which can't be read.");
  expect(stderr).toMatch(
    /Left out: 2 files \(qmd\/n\/\w+\/\w+\.md and 1 more\), no text file of the collection any more\./,
  );
  expect(stderr).not.toContain("gone");
  for (const args of [
    ["get", "n/below/below.md"],
    ["multi-get", "n/b*/b*.md"],
  ]) {
    const got = await home.run(...args);
    expect(got.stdout).toContain("walnut b");
    expect(got.stderr).toMatch(
      /^warning: (?:the file|2 of 2 files) can't be read as a note; showing the indexed text\./,
    );
  }
});

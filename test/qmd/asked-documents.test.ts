import { expect, setDefaultTimeout, spyOn, test } from "bun:test";
import { readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { resolveQmdHome } from "../../src/home/qmd-home.ts";
import type { OpenQmd } from "../../src/qmd/open.ts";
import { wantedDocuments } from "../../src/qmd/several.ts";
import { openIndex } from "../../src/store/open.ts";
import { connectStdio } from "../mcp/clients.ts";
import { homesUntilEnd } from "./homes.ts";
import { memqWork } from "../cli/program.ts";

setDefaultTimeout(60_000);
const qmdHome = homesUntilEnd();

const NOTES = { "n/a.md": "one\ntwo\nthree\nfour\n", "n/b.md": "bee\n", "n/c:2.md": "colon\n" };

test("the lines that several names ask for are printed, as for a single one", async () => {
  const { run, json, env, root } = await qmdHome(NOTES);
  const bodies = async (pattern: string, ...more: string[]): Promise<unknown[]> =>
    (await json("multi-get", pattern, "--json", ...more)).map(({ body }) => body);
  expect(await bodies("n/a.md:2:2,n/b.md")).toEqual(["2: two\n3: three", "1: bee\n2: "]);
  expect(await bodies("n/a.md:3")).toEqual(["3: three\n4: four\n5: "]);
  expect(await bodies("n/a.md:2:2,n/c:2.md", "--no-line-numbers")).toEqual(["two\nthree", "colon\n"]);
  expect(await bodies("n/a.md:2", "-l", "1")).toEqual(["2: two\n3: \n4: [... truncated 3 more lines]"]);
  // A long document is no reason to leave out a few lines of it.
  expect(await bodies("n/a.md:2:1,n/b.md", "--max-bytes", "5")).toEqual(["2: two", "1: bee\n2: "]);
  const beyond = await run("multi-get", "n/a.md:9,n/b.md", "--files");
  expect(beyond.stderr).toContain("qmd://n/a.md: The document has 5 lines.");

  const client = await connectStdio("legacy", [], { env, cwd: root });
  const found = await client.callTool({ name: "multi_get", arguments: { pattern: "n/a.md:2:1, n/b.md:7" } });
  expect(found.content).toMatchObject([
    { type: "text", text: "Errors:\nqmd://n/b.md: The document has 2 lines." },
    { resource: { text: "2: two" } },
    { resource: { text: "" } },
  ]);
  await client.close();
});

test("a note that a link out of its collection has replaced is not called by the other file's path", async () => {
  const { run, root } = await qmdHome(NOTES);
  writeFileSync(join(root, "secret.md"), "secret\n");
  rmSync(join(root, "n/a.md"));
  symlinkSync("../secret.md", join(root, "n/a.md"));
  for (const args of [
    ["get", "n/a.md"],
    ["multi-get", "n/a.md,n/b.md"],
    ["search", "three"],
  ]) {
    const { stdout, stderr } = await run(...args, "--full-path");
    expect(stdout).not.toContain("secret");
    expect(stderr).toMatch(/warning|Left out/);
    if (args[0] !== "search") expect(stdout).toContain("qmd://n/a.md  #");
  }
});

test("a long list of names costs as much as its names, not their square, and lets a server answer others", async () => {
  const { env, root } = await qmdHome({ ...NOTES, "n/x,y,z,1,2,3,4.md": "commas\n" });
  const missing = Array.from({ length: 3000 }, (_, nth) => `missing-${nth}.md`);
  const list = ["n/a.md", ...missing, "n/x,y,z,1,2,3,4.md"].join(",");
  const { stdout, stderr, workMs } = await memqWork(["multi-get", list, "--files"], { env, cwd: root });
  expect(workMs).toBeLessThan(15_000);
  expect(stdout.match(/qmd:\/\/\S+\.md/g)).toEqual(["qmd://n/a.md", "qmd://n/x,y,z,1,2,3,4.md"]);
  expect(stderr.match(/File not found: missing-\d+\.md/g)).toHaveLength(missing.length);

  const client = await connectStdio("legacy", [], { env, cwd: root });
  const order: string[] = [];
  await Promise.all([
    client.callTool({ name: "multi_get", arguments: { pattern: list } }).then(() => order.push("list")),
    client.callTool({ name: "get", arguments: { file: "n/b.md" } }).then(() => order.push("other")),
  ]);
  expect(order).toEqual(["other", "list"]);
  await client.close();
});

test("each wrong name in a list cost a look at every path of the index", async () => {
  const { env, root, indexPath } = await qmdHome({
    ...NOTES,
    "n/deep/er/note.md": "deep\n",
    "n/shallow/note.md": "flat\n",
  });
  const index = openIndex(indexPath, { mode: "read" });
  const qmd = await resolveQmdHome({ env, cwd: root });
  const open: OpenQmd = { qmd, index, named: undefined, program: "memq", notice: () => {} };
  const scans = async (names: number): Promise<number> => {
    // The first ones are also compared with every path, for names that are like them.
    const list = Array.from({ length: names }, (_, nth) => `wrong/${nth}.md,er/note.md`).join(",");
    const asked = spyOn(index.db, "query");
    await wantedDocuments(open, list, () => {});
    const statements = asked.mock.calls.map(([sql]) => sql);
    asked.mockRestore();
    const isScan = (sql: string): boolean =>
      index.db
        .prepare<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .some(({ detail }) => /^SCAN (?:d|documents)\b/.test(detail));
    return statements.filter(isScan).length;
  };
  const few = await scans(30);
  expect(few).toBeGreaterThan(0);
  expect(await scans(90)).toBe(few);
  index.close();
});

test("a name in a list means what it means by itself, however it is spelt", async () => {
  const { run, json } = await qmdHome({
    "n/Émile/plan.md": "plan\n",
    "n/a/twice.md": "one\n",
    "n/b/twice.md": "two\n",
    "m/a/once.md": "once\n",
    "m/MIXED.md": "mixed\n",
  });
  const names = ["plan.md", "e\u0301MILE/Plan.md", "a/once.md", "once.md", "mixed.MD", "M/mixed.md", "m/A/ONCE.md"];
  const single = async (name: string): Promise<string> => (await run("get", name)).stdout.split("  #")[0]!;
  const rows = (await json("multi-get", names.join(","), "--json")).map(({ file }) => file);
  expect(rows).toEqual(await Promise.all(names.map(single)));
  expect(rows).toHaveLength(names.length);
  const { stderr } = await run("multi-get", "twice.md,nowhere/twice.md,plan.md/");
  expect(stderr).toContain("Ambiguous path twice.md: qmd://n/a/twice.md, qmd://n/b/twice.md");
  expect(stderr).toContain("File not found: nowhere/twice.md");
  expect(stderr).toContain("File not found: plan.md/");
});

test.skipIf(process.platform !== "linux")(
  "a server keeps no index open that names it was asked for led to in vain",
  async () => {
    const { run, env, root } = await qmdHome(NOTES);
    expect((await run("collection", "add", ".", "--name", "w", "--index", "work")).exitCode).toBe(0);
    const client = await connectStdio("legacy", [], { env, cwd: root });
    const multiGet = (names: string[]) =>
      client.callTool({ name: "multi_get", arguments: { pattern: names.join(",") } });
    const openFiles = (): number => readdirSync(`/proc/${client.pid}/fd`).length;
    await multiGet(["n/a.md", "n/b.md"]);
    const before = openFiles();
    const missing = Array.from({ length: 40 }, (_, nth) => `qmd://w/missing-${nth}.md?index=work`);
    const { content } = await multiGet([...missing, "qmd://w/n/a.md?index=work"]);
    expect(JSON.stringify(content)).toContain("two");
    await multiGet(missing.slice(0, 1));
    expect(openFiles()).toBe(before);
    await client.close();
  },
);

test("--line-numbers of a search counts as qmd's scripts know it: from one with the header, in CSV and on terminals from the line", async () => {
  const lines = Array.from({ length: 40 }, (_, at) => `line ${at + 1} of ${at === 29 ? "walnut" : "wood"}`);
  const { run } = await qmdHome({ "n/a.md": `${lines.join("\n")}\n` });
  const firstNumbered = async (format: string, ...more: string[]) => {
    const { stdout } = await run("search", "walnut", "--line-numbers", "--format", format, ...more);
    return /\d+: (?:@@ -\d+|line \d+)/.exec(stdout)?.[0];
  };
  for (const format of ["json", "md", "xml"])
    expect([format, await firstNumbered(format)]).toEqual([format, "1: @@ -29"]);
  for (const format of ["csv", "cli"]) expect([format, await firstNumbered(format)]).toEqual([format, "30: @@ -29"]);
  for (const format of ["json", "md", "xml", "csv", "cli"])
    expect([format, await firstNumbered(format, "--full")]).toEqual([format, "1: line 1"]);
});

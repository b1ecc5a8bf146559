import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectStdio } from "../mcp/clients.ts";
import { collectionsYaml, homesUntilEnd, type QmdTestHome } from "./homes.ts";

const homeOf = homesUntilEnd();
const NOTES = { "a/one.md": "# One\n\nwalnut\n", "a/two.md": "# Two\n\nwalnut\n" };
const source = (path: string): string => JSON.stringify(join(import.meta.dir, "../../src", path));

async function files(home: QmdTestHome): Promise<string[]> {
  return (await home.json("search", "walnut", "--json")).map(({ file }) => String(file)).toSorted();
}

async function total(home: QmdTestHome): Promise<string | undefined> {
  return /Total: +(\d+)/.exec((await home.run("status")).stdout)?.[1];
}

/** Runs `work` while another program is in a transaction on the index. */
async function whileBusy<T>(home: QmdTestHome, work: () => Promise<T>): Promise<T> {
  const other = new Database(home.indexPath);
  other.run("BEGIN IMMEDIATE");
  try {
    return await work();
  } finally {
    other.run("ROLLBACK");
    other.close();
  }
}

describe("a collection whose index another program held was half changed", () => {
  const env = { QMD_SQLITE_BUSY_TIMEOUT: "100" };

  test("by rename", async () => {
    const home = await homeOf(NOTES, { env });
    const refused = await whileBusy(home, () => home.run("collection", "rename", "a", "b"));
    expect(refused).toMatchObject({ exitCode: 75, stdout: "" });
    expect(refused.stderr).not.toContain("database is locked");
    expect(await files(home)).toEqual(["qmd://a/one.md", "qmd://a/two.md"]);
    expect((await home.run("collection", "rename", "a", "b")).exitCode).toBe(0);
    expect(await files(home)).toEqual(["qmd://b/one.md", "qmd://b/two.md"]);
    expect((await home.run("update")).stdout).toContain("Indexed: 0 new, 0 updated, 2 unchanged, 0 removed");
    expect(await total(home)).toBe("2");
  });

  test("by remove", async () => {
    const home = await homeOf(NOTES, { env });
    expect((await whileBusy(home, () => home.run("collection", "remove", "a"))).exitCode).toBe(75);
    expect((await home.run("collection", "list")).stdout).toContain("Collections (1):");
    expect(await files(home)).toHaveLength(2);
    expect((await home.run("collection", "remove", "a")).stdout).toContain("  Deleted 2 documents\n");
    expect(await total(home)).toBe("0");
  });

  test("by add", async () => {
    const home = await homeOf({ ...NOTES, "b/one.md": "walnut\n" }, { env, yaml: collectionsYaml(["a"]) });
    const config = join(home.root, "../config/qmd/index.yml");
    const before = readFileSync(config, "utf8");
    expect((await whileBusy(home, () => home.run("collection", "add", "b", "--name", "b"))).exitCode).toBe(75);
    expect(readFileSync(config, "utf8")).toBe(before);
    expect((await home.run("collection", "add", "b", "--name", "c")).exitCode).toBe(0);
    expect(await total(home)).toBe("3");
  });
});

describe("a rename that was killed counted every document twice", () => {
  const moments = { "before the configuration had it": false, "when the configuration had it": true };
  for (const [moment, isWritten] of Object.entries(moments)) {
    test(moment, async () => {
      const home = await homeOf(NOTES);
      const script = `
        import { renameCollection } from ${source("home/index-yml-edit.ts")};
        import { openIndex } from ${source("store/open.ts")};
        import { withWriterLock } from ${source("store/lock.ts")};
        import { renameInIndex } from ${source("sync/rename-collection.ts")};
        const [config, path] = ${JSON.stringify([join(home.root, "../config/qmd/index.yml"), home.indexPath])};
        await withWriterLock(path, async () => {
          const index = openIndex(path, { mode: "write" });
          await renameCollection(config, "a", "b", () => {
            renameInIndex(index, "a", "b");
            if (${!isWritten}) process.kill(process.pid, "SIGKILL");
          });
          process.kill(process.pid, "SIGKILL");
        });`;
      const child = Bun.spawn([process.execPath, "-e", script], { stderr: "inherit" });
      await child.exited;
      const said = "The renaming of 'a' to 'b' was interrupted: nothing of 'a' is found until 'memq update' has run.";
      const { stderr } = await home.run("search", "walnut");
      if (isWritten) expect(stderr).toBe("");
      else expect(stderr).toContain(said);
      const name = isWritten ? "b" : "a";
      expect((await home.run("update")).stdout).toContain("Indexed: 0 new, 0 updated, 2 unchanged, 0 removed");
      expect(await total(home)).toBe("2");
      expect(await files(home)).toEqual([`qmd://${name}/one.md`, `qmd://${name}/two.md`]);
      expect((await home.run("collection", "rename", name, "c")).exitCode).toBe(0);
      expect(await files(home)).toEqual(["qmd://c/one.md", "qmd://c/two.md"]);
      expect(readdirSync(join(home.root, "../config/qmd"))).toEqual(["index.yml"]);
      expect((await home.run("search", "walnut")).stderr).toBe("");
    });
  }
});

test("a name that a collection had before could not be given to another", async () => {
  const home = await homeOf({ ...NOTES, "b/one.md": "pecan\n" });
  home.configure(collectionsYaml(["a"]));
  const renamed = await home.run("collection", "rename", "a", "b");
  expect(renamed).toMatchObject({ exitCode: 0, stderr: "" });
  expect(await files(home)).toEqual(["qmd://b/one.md", "qmd://b/two.md"]);
  expect(await total(home)).toBe("2");
});

describe("an update brought documents back under a name that was gone by then", () => {
  for (const [change, left] of [
    [["rename", "a", "b"], "2"],
    [["remove", "a"], "0"],
  ] as const) {
    test(`after ${change[0]}`, async () => {
      const home = await homeOf(NOTES);
      const [begun, goOn] = [join(home.root, "begun"), join(home.root, "go-on")];
      await home.run("collection", "update-cmd", "a", `touch ${begun}; until [ -e ${goOn} ]; do sleep 0.02; done`);
      const update = home.run("update");
      while (!existsSync(begun)) await Bun.sleep(10);
      expect((await home.run("collection", ...change)).exitCode).toBe(0);
      writeFileSync(goOn, "");
      const updated = await update;
      expect(updated).toMatchObject({ exitCode: 0 });
      expect(updated.stderr).toContain("'a' was renamed or removed meanwhile");
      expect(await total(home)).toBe(left);
    });
  }
});

test("a writer that waits for another says so once, and then gives up", async () => {
  const home = await homeOf(NOTES, { env: { QMD_SQLITE_BUSY_TIMEOUT: "1600" } });
  writeFileSync(`${home.indexPath}.lock`, JSON.stringify({ pid: process.pid, started: "" }));
  const { stderr, exitCode } = await home.run("update");
  expect(exitCode).toBe(75);
  expect(stderr).toStartWith(
    `Waiting for process ${process.pid}, which is writing to ${home.indexPath}.\nAnother process (${process.pid}) is writing to the index.\n`,
  );
  expect(await files(home)).toHaveLength(2);
});

test("a collection that nobody had indexed yet was searched without a word", async () => {
  const home = await homeOf({ "n/a.md": "unicorn\n" });
  home.write({ "m/b.md": "unicorn\n" });
  home.configure("collections:\n  n: { path: $ROOT/n }\n  m: { path: $ROOT/m }\n");
  const said = "Nothing of 'm' is indexed yet. Run 'memq update'.\n";
  expect((await home.run("search", "unicorn", "--files")).stderr).toBe(said);
  expect(await home.run("search", "unicorn", "-c", "m", "--json")).toMatchObject({ stdout: "[]\n", stderr: said });
  expect((await home.run("search", "unicorn", "-c", "n", "--json")).stderr).toBe("");
  await home.run("update");
  expect((await home.run("search", "unicorn", "--files")).stderr).toBe("");
});

test("an MCP server answered nothing from a new collection for a minute, without a word", async () => {
  const home = await homeOf({ "n/a.md": "unicorn\n" });
  const client = await connectStdio("legacy", [], { env: home.env, cwd: home.root });
  const ask = async () =>
    (await client.callTool({ name: "query", arguments: { query: "griffin", rerank: false } })).structuredContent;
  expect(await ask()).toEqual({ results: [] });
  home.write({ "m/b.md": "griffin\n" });
  home.configure("collections:\n  n: { path: $ROOT/n }\n  m: { path: $ROOT/m }\n");
  expect((await ask()).warning).toContain("Nothing of 'm' is indexed yet.");
  let found = await ask();
  while (found.results.length === 0) found = await ask();
  expect(found.results).toMatchObject([{ file: "m/b.md" }]);
  await client.close();
});

test("a note from the future was listed as of this year", async () => {
  const home = await homeOf({ "n/a.md": "unicorn\n" }, { sync: false });
  utimesSync(join(home.root, "n/a.md"), 4102444800, 4102444800);
  await home.run("update");
  expect((await home.run("ls", "n")).stdout).toMatch(/ (?:2099|2100) {2}qmd:/);
});

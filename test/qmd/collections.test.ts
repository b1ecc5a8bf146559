import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { qmdHome, type QmdTestHome } from "./homes.ts";

let home: QmdTestHome;

beforeAll(async () => {
  home = await qmdHome({ "notes/a.md": "# Alpha\n\nhello\n", "notes/b.txt": "beta\n" }, { yaml: "", sync: false });
});
afterAll(() => home.remove());

describe("collection add", () => {
  test("records the folder, indexes it and says so in qmd's words", async () => {
    const added = await home.run("collection", "add", "notes", "--name", "one");
    expect(added).toMatchObject({ exitCode: 0, stderr: "" });
    expect(added.stdout).toBe(
      `Creating collection 'one'...\nCollection: ${join(home.root, "notes")} (**/*.md)\n\n` +
        "Indexed: 1 new, 0 updated, 0 unchanged, 0 removed\n\n" +
        "Run 'memq embed' to update embeddings (1 unique hashes need vectors)\n" +
        "✓ Collection 'one' created successfully\n",
    );
    expect(await home.json("search", "hello", "--json")).toMatchObject([{ file: "qmd://one/a.md" }]);
    expect((await home.run("collection", "list")).stdout).toMatch(
      /^Collections \(1\):\n\none \(qmd:\/\/one\/\)\n {2}Pattern: {2}\*\*\/\*\.md\n {2}Files: {4}1\n {2}Updated: {2}\d+s ago\n\n$/,
    );
  });

  test("the same collection again is done already; the name with another path or pattern is taken", async () => {
    expect((await home.run("collection", "add", "notes", "--name", "one")).exitCode).toBe(0);
    const other = await home.run("collection", "add", "notes", "--name", "one", "--mask", "*.txt");
    expect(other).toMatchObject({
      exitCode: 1,
      stdout: "",
      stderr: "Collection 'one' already exists.\nUse a different name with --name <name>\n",
    });
  });

  test("the current folder is recorded as the shell names it", async () => {
    const link = join(home.root, "linked");
    mkdirSync(join(home.root, "real"));
    symlinkSync(join(home.root, "real"), link);
    const child = Bun.spawn(home.command("collection", "add", "."), {
      cwd: link,
      env: { ...process.env, ...home.env, PWD: link },
      stdout: "ignore",
    });
    expect(await child.exited).toBe(0);
    const rows = await home.json("collection", "list", "--json");
    expect(rows).toContainEqual({ name: "linked", path: link, pattern: "**/*.md" });
  });

  test("a comment in index.yml survives", async () => {
    const path = join(home.root, "../config/qmd/index.yml");
    writeFileSync(path, `# mine\n${readFileSync(path, "utf8")}`);
    expect((await home.run("collection", "add", "notes", "--name", "two", "--glob", "*.txt")).exitCode).toBe(0);
    expect(readFileSync(path, "utf8")).toStartWith("# mine\n");
  });
});

test("a folder whose name ends with a blank was looked for without it", async () => {
  const own = await qmdHome({ "my notes /a.md": "# Alpha\n\nkumquat\n" }, { yaml: "", sync: false });
  try {
    const added = await own.run("collection", "add", "my notes ", "--mask", " *.md ");
    expect(added).toMatchObject({ exitCode: 0, stderr: "" });
    expect(added.stdout).toContain("Indexed: 1 new,");
    const [row] = await own.json("search", "kumquat", "--json");
    expect(row).toMatchObject({ file: "qmd://my notes /a.md", collection: "my notes " });
    expect((await own.run("get", "qmd://my notes /a.md")).stdout).toContain("3: kumquat");
    expect(await own.json("collection", "list", "--json")).toEqual([
      { name: "my notes ", path: join(own.root, "my notes "), pattern: " *.md " },
    ]);
  } finally {
    own.remove();
  }
});

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { homesUntilEnd } from "./homes.ts";

const qmdHome = homesUntilEnd();

test("what a mask leaves out is neither listed nor found, and a class with ! means the same everywhere", async () => {
  const { run } = await qmdHome(
    { "n/a.md": "heron\n", "n/b.md": "heron\n", "n/private/c.md": "heron\n", "n/[br]/d.md": "heron\n" },
    { sync: false },
  );
  expect((await run("collection", "add", "n", "--name", "masked", "--mask", "**/[!b]*.md,!private/**")).exitCode).toBe(
    0,
  );
  expect((await run("search", "heron", "-c", "masked", "--files")).stdout.match(/qmd:\S+/g)?.toSorted()).toEqual([
    "qmd://masked/[br]/d.md",
    "qmd://masked/a.md",
  ]);
  const globbed = await run("multi-get", "masked/[!a]*/*.md", "--files");
  expect(globbed.stdout).toContain("d.md");
  expect(globbed.stdout).not.toContain("a.md");
});

test("a collection whose rule means nothing stays as it was, which is said; the others are brought up to date", async () => {
  const { run, configure, write } = await qmdHome({ "n/a.md": "heron\n", "m/b.md": "wombat\n" });
  const rule = "{a,b}".repeat(12);
  configure(
    `collections:\n  n:\n    path: $ROOT/n\n    ignore: ["", "${rule}"]\n  m:\n    path: $ROOT/m\n    ignore: ''\n`,
  );
  write({ "n/new.md": "heron\n", "m/new.md": "wombat\n" });
  const { stderr } = await run("update");
  expect(stderr).toContain(`of "n" was not read: its pattern "${rule}" stands for more than 1,000 patterns.`);
  expect((await run("search", "heron", "--files")).stdout.trim().split("\n").length).toBe(1);
  expect((await run("search", "wombat", "--files")).stdout.trim().split("\n").length).toBe(2);
});

test("a mask that can't be compiled is refused, and nothing recorded", async () => {
  const { run, root } = await qmdHome({ "n/a.md": "heron\n" }, { sync: false });
  const config = (): string => readFileSync(join(root, "../config/qmd/index.yml"), "utf8");
  const before = config();
  const { exitCode, stderr } = await run("collection", "add", "n", "--name", "long", "--mask", "a".repeat(70_000));
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^The pattern "a{60}…" is longer than 65,536 characters\.\nWrite a shorter pattern/);
  expect(config()).toBe(before);
});

test.each([
  ["n/drafts/a.md", "drafts"],
  ["n/old/b.md", "old/"],
  ["n/[!x]/c.md", String.raw`\\[\\!x\\]/**`],
])("get names the rule that leaves out %s", async (name, rule) => {
  const notes = { "n/drafts/a.md": "heron\n", "n/old/b.md": "heron\n", "n/[!x]/c.md": "heron\n", "n/d.md": "heron\n" };
  const yaml = `collections:\n  n:\n    path: $ROOT/n\n    ignore: ["${rule}"]\n`;
  const { run } = await qmdHome(notes, { yaml });
  const { exitCode, stderr } = await run("get", name);
  expect(exitCode).toBe(1);
  expect(stderr).toContain(`Ignore rule: ${rule.replaceAll("\\\\", "\\")}\n`);
});

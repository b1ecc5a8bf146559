import { describe, expect, test } from "bun:test";
import { array, assert, constantFrom, oneof, property, string } from "fast-check";
import type { MaskRow } from "../../scripts/record-masks.ts";
import { patternList } from "../../src/home/mask.ts";
import { qmdCollection } from "../../src/home/qmd-home.ts";
import { writtenOut } from "../../src/sync/globs.ts";
import { entersAround, pathRules } from "../../src/sync/patterns.ts";
import { type CollectionScan, scanCollection } from "../../src/sync/scan.ts";
import table from "../fixtures/masks.json";
import { tempFolder, writeNotes } from "./helpers.ts";
import { workMeter } from "../work.ts";

const rows: MaskRow[] = table.rows;
const all = rows[0]?.takes ?? [];

function scanOf(root: string, { mask, ignore = [] }: { mask: string; ignore?: string[] }): CollectionScan {
  const config = { name: "notes", path: root, pattern: mask, ignore, context: {}, includeByDefault: true };
  return scanCollection(qmdCollection(config, root));
}

function pathsOf({ files }: CollectionScan): string[] {
  return files.map(({ path }) => path).toSorted();
}

function treeOf(paths: readonly string[]): string {
  const root = tempFolder();
  writeNotes(root, Object.fromEntries(paths.map((path) => [path, ""])));
  return root;
}

test("a mask with an ignore list takes up the files that qmd takes up", () => {
  const root = treeOf(table.files);
  for (const row of rows) {
    const theirs =
      row.takesAllBut === undefined ? (row.takes ?? []) : all.filter((file) => !row.takesAllBut?.includes(file));
    const expected = [...theirs, ...(row.more ?? [])].filter((file) => row.less?.includes(file) !== true).toSorted();
    const { mask, ignore } = row;
    expect({ mask, ignore, takes: pathsOf(scanOf(root, row)) }).toEqual({ mask, ignore, takes: expected });
  }
});

test("each answer that differs from qmd's has its reason", () => {
  for (const { mask, takes, differs, more = [], less = [] } of rows) {
    expect({ mask, isExplained: differs !== undefined }).toEqual({
      mask,
      isExplained: takes === null || more.length + less.length > 0,
    });
  }
});

describe("a list of patterns", () => {
  test("is split at its commas, those of braces and brackets kept", () => {
    expect(patternList("**/*.md")).toEqual(["**/*.md"]);
    expect(patternList(" a.md , docs/**/*.{md,{x,y}} ,, b},[,].md ")).toEqual([
      "a.md",
      "docs/**/*.{md,{x,y}}",
      "b}",
      "[,].md",
    ]);
    expect(patternList(" , ")).toEqual([" , "]);
  });

  test("names what stays out in any order", () => {
    const root = treeOf(["a.md", "private/b.md", "c/private/d.md"]);
    for (const mask of ["**/*.md,!private/**", "!private/**,**/*.md", "{**/*.md,!private/**}"]) {
      expect(pathsOf(scanOf(root, { mask }))).toEqual(["a.md", "c/private/d.md"]);
    }
  });
});

test("braces are written out: lists, ranges, padded ones and those of letters", () => {
  expect(writtenOut("./a{b,{c,d}}//{x}.md")).toEqual(["ab/{x}.md", "ac/{x}.md", "ad/{x}.md"]);
  expect(writtenOut("{1..3}{08..10..2}")).toEqual(["108", "110", "208", "210", "308", "310"]);
  expect(writtenOut("{1..-1}{a..c}")).toEqual(["1a", "1b", "1c", "0a", "0b", "0c", "-1a", "-1b", "-1c"]);
  for (const kept of ["{a..}", "[{a,b}]", "\\{a,b\\}", "{a,b", "a,b}", "{}"]) expect(writtenOut(kept)).toEqual([kept]);
});

test("a pattern that names a place below the root by its whole path is meant from the root on", () => {
  const root = treeOf(["a.md", "sub/b.md", "private/c.md"]);
  expect(pathsOf(scanOf(root, { mask: `${root}/sub/*.md` }))).toEqual(["sub/b.md"]);
  expect(pathsOf(scanOf(root, { mask: "**/*.md", ignore: [`${root}/private/**`] }))).toEqual(["a.md", "sub/b.md"]);
});

test("names with a line break match as others do", () => {
  const root = treeOf(["a\nb.md", "c\nd/e.md"]);
  for (const mask of ["**/*.md", "**/?*.md", "**"]) {
    expect(pathsOf(scanOf(root, { mask }))).toEqual(["a\nb.md", "c\nd/e.md"]);
  }
});

describe("a pattern that can't be compiled", () => {
  const long = "a".repeat(70_000);
  test.each([
    [long, "is longer than 65,536 characters"],
    ["a".repeat(5000), "is longer than 4,096 characters"],
    ["x{1..100000000}.md", "stands for more than 1,000 patterns"],
    ["{a,b}".repeat(12_000), "stands for more than 1,000 patterns"],
    ["+(a*)+(a*)b", "has groups that can match in too many ways"],
    [`${"{".repeat(30_000)}${"}".repeat(30_000)}`, ""],
    [`${"(".repeat(2000)}${")".repeat(2000)}`, undefined],
    ["!(".repeat(2000), undefined],
    ["[".repeat(4000), undefined],
    ["{".repeat(60_000), ""],
  ])("leaves the collection unread, which is said: %#", (pattern, said) => {
    const root = treeOf(["a.md"]);
    for (const row of [{ mask: pattern }, { mask: "**/*.md", ignore: ["", pattern] }]) {
      const spent = workMeter();
      const scan = scanOf(root, row);
      expect(spent()).toBeLessThan(1000);
      if (said === undefined) continue;
      const { files, unreadable, rootProblem = "" } = scan;
      expect([files, unreadable]).toEqual([[], [""]]);
      expect(rootProblem).toMatch(new RegExp(`^its pattern ".*${said}`, "s"));
      expect(rootProblem.length).toBeLessThan(150);
    }
  });

  test("is one of odd signs or none (property)", () => {
    const signs = "*?[]{}()!+@|^\\/.,-:$#~'\"`ab \n\0\u00e9\ud83d\ud800".split("");
    const piece = oneof(
      constantFrom(...signs, "**", "{1..9}", "[[:", ":]]", "!(", "../", "**/"),
      string({ maxLength: 2 }),
    );
    const pattern = array(piece, { maxLength: 14 }).map((parts) => parts.join(""));
    assert(
      property(pattern, array(pattern, { maxLength: 2 }), (mask, ignore) => {
        const config = { name: "n", path: "/n", pattern: mask, ignore, context: {}, includeByDefault: true };
        const rules = pathRules(qmdCollection(config, "/n"));
        expect(rules.problem ?? "its pattern").toStartWith("its pattern");
        for (const path of ["a.md", "a/b.md", ".a/b", "!", "[a]/(b).md"]) {
          const kind = entersAround(rules, path) ? rules.fileKind(path, path.slice(path.lastIndexOf("/") + 1)) : null;
          if (rules.problem !== undefined) expect(kind).toBeNull();
        }
      }),
      { numRuns: 2000 },
    );
  });
});

import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scanCollection, scanCollections } from "../../src/sync/scan.ts";
import { collectionOf, tempFolder, writeNotes } from "./helpers.ts";
import { workMeter } from "../work.ts";

const isRoot = process.getuid?.() === 0;

function pathsOf(root: string, overrides = {}): string[] {
  return scanCollection(collectionOf(root, overrides))
    .files.map(({ path }) => path)
    .toSorted();
}

test.skipIf(process.platform !== "linux")("a name that is no UTF-8 is skipped and named as that", () => {
  const root = tempFolder();
  writeNotes(root, { "a.md": "" });
  writeFileSync(Buffer.concat([Buffer.from(`${root}/bad`), Buffer.from([0xff]), Buffer.from(".md")]), "x");
  const { files, skipped } = scanCollection(collectionOf(root));
  expect(files.map(({ path }) => path)).toEqual(["a.md"]);
  expect(skipped.map(({ reason }) => reason)).toEqual(["its name is not UTF-8"]);
});

describe("which files belong", () => {
  test("patterns, ignore list and the folders of tools", () => {
    const root = tempFolder();
    writeNotes(root, {
      "a.md": "",
      "b.txt": "",
      "drafts/c.md": "",
      "sub/deep/d.md": "",
      "sub/E.MD": "",
      "node_modules/x/readme.md": "",
      "memory/.git/e.md": "",
    });
    expect(pathsOf(root)).toEqual(["a.md", "drafts/c.md", "sub/deep/d.md"]);
    expect(pathsOf(root, { ignore: ["drafts/**"], patterns: ["**/*.{md,txt}"] })).toEqual([
      "a.md",
      "b.txt",
      "sub/deep/d.md",
    ]);
    expect(pathsOf(root, { patterns: ["a.md", "sub/**/*.md"] })).toEqual(["a.md", "sub/deep/d.md"]);
  });

  test("hidden files and folders only where the collection says so", () => {
    const root = tempFolder();
    writeNotes(root, { ".dreams/a.md": "", ".b.md": "", "c.md": "" });
    expect(pathsOf(root, { hidden: true })).toEqual([".b.md", ".dreams/a.md", "c.md"]);
    expect(pathsOf(root, { hidden: false })).toEqual(["c.md"]);
  });

  test("names in either form of Unicode, and names that look like patterns", () => {
    const root = tempFolder();
    writeNotes(root, { ["Ünïcode.md".normalize("NFD")]: "", ["Ünïcode2.md".normalize("NFC")]: "", "notes [1].md": "" });
    expect(pathsOf(root).length).toBe(3);
    expect(pathsOf(root, { patterns: ["Ün*.md".normalize("NFC")] }).length).toBe(2);
    expect(pathsOf(root, { patterns: ["notes [1].md"] })).toEqual(["notes [1].md"]);
  });

  test("pictures and sounds up to a size", () => {
    const root = tempFolder();
    writeNotes(root, { "a.PNG": "12345", "b.jpg": "1", "c.md": "" });
    const scan = scanCollection(collectionOf(root, { media: { extensions: [".png", ".jpg"], maxFileBytes: 4 } }));
    expect(scan.files.map(({ path, kind }) => `${path} ${kind}`)).toEqual(["b.jpg media", "c.md text"]);
    expect(scan.skipped).toEqual([{ path: join(root, "a.PNG"), reason: "it is larger than 4 bytes" }]);
    expect(pathsOf(root, { patterns: ["c.md"], media: { extensions: [".jpg"], maxFileBytes: 4 } })).toEqual(["c.md"]);
  });

  test("only transcripts in a sessions folder", () => {
    const root = tempFolder();
    writeNotes(root, { "a.jsonl": "", "a.trajectory.jsonl": "", "a.jsonl.lock": "" });
    expect(pathsOf(root, { source: "sessions", patterns: ["*.jsonl*"] })).toEqual(["a.jsonl"]);
  });
});

describe("links", () => {
  function linkedRoot(): string {
    const root = tempFolder();
    const outside = tempFolder();
    writeNotes(outside, { "secret.md": "" });
    writeNotes(root, { "a.md": "", "sub/b.md": "" });
    symlinkSync(join(root, "a.md"), join(root, "link.md"));
    symlinkSync(join(outside, "secret.md"), join(root, "leak.md"));
    symlinkSync(outside, join(root, "out"));
    symlinkSync(root, join(root, "sub/loop"));
    symlinkSync(join(root, "sub"), join(root, "again"));
    symlinkSync(join(root, "nowhere.md"), join(root, "dangling.md"));
    return root;
  }

  test("are left out of an agent's memory", () => {
    expect(pathsOf(linkedRoot())).toEqual(["a.md", "sub/b.md"]);
  });

  test("are followed inside the root, end in loops, and never lead out", () => {
    const root = linkedRoot();
    const scan = scanCollection(collectionOf(root, { followLinks: true }));
    expect(scan.files.map(({ path }) => path).toSorted()).toEqual(["a.md", "again/b.md", "link.md", "sub/b.md"]);
    const reasons = new Map(scan.skipped.map(({ path, reason }) => [path.slice(root.length + 1), reason]));
    expect(reasons.get("leak.md")).toBe("it leads outside the collection");
    expect(reasons.get("out")).toBe("it leads outside the collection");
    expect(reasons.get("dangling.md")).toContain("ENOENT");
  });

  test("a root that is a link is scanned, but not as an agent's extra path", () => {
    const folder = tempFolder();
    const root = join(folder, "link");
    writeNotes(folder, { "real/a.md": "" });
    symlinkSync(join(folder, "real"), root);
    expect(pathsOf(root)).toEqual(["a.md"]);
    expect(scanCollection(collectionOf(root, { pathPrefix: "../link/" })).rootProblem).toBe("it is a symbolic link");
  });
});

test("a file that two collections reach is in the first of an agent's home, in both of a qmd home", () => {
  const root = tempFolder();
  writeNotes(root, { "memory/a.md": "", "b.md": "" });
  const collections = [collectionOf(root, { patterns: ["memory/**/*.md"] }), collectionOf(root, { name: "extra" })];
  const pathsIn = (shareFiles: boolean): string[][] =>
    scanCollections(collections, { shareFiles }).map(({ files }) => files.map(({ path }) => path));
  expect(pathsIn(false)).toEqual([["memory/a.md"], ["b.md"]]);
  expect(pathsIn(true)).toEqual([["memory/a.md"], ["b.md", "memory/a.md"]]);
});

test("a missing root is said", () => {
  const scan = scanCollection(collectionOf(join(tempFolder(), "gone")));
  expect(scan).toMatchObject({ files: [], unreadable: [""], rootProblem: "it does not exist (ENOENT)" });
});

test.skipIf(isRoot)("an unreadable folder is named, and the rest is scanned", () => {
  const root = tempFolder();
  writeNotes(root, { "a.md": "", "locked/b.md": "" });
  chmodSync(join(root, "locked"), 0o000);
  const scan = scanCollection(collectionOf(root));
  chmodSync(join(root, "locked"), 0o755);
  expect(scan.files.map(({ path }) => path).toSorted()).toEqual(["a.md"]);
  expect(scan.skipped).toEqual([{ path: join(root, "locked"), reason: "permission denied (EACCES)" }]);
  expect(scan.unreadable).toEqual(["locked"]);
});

test("10,000 files are listed in a moment", () => {
  const root = tempFolder();
  for (let folder = 0; folder < 100; folder++) {
    mkdirSync(join(root, `${folder}`));
    for (let note = 0; note < 100; note++) writeFileSync(join(root, `${folder}/${note}.md`), "");
  }
  const spent = workMeter();
  expect(pathsOf(root).length).toBe(10_000);
  expect(spent()).toBeLessThan(3000);
});

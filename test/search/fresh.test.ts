import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Collection } from "../../src/home/types.ts";
import { cutPassages } from "../../src/notes/cut.ts";
import type { DocumentRow } from "../../src/store/types.ts";
import { fileState, passageNow, textNow } from "../../src/search/fresh.ts";
import { parseQuery } from "../../src/search/query.ts";
import { termFinder } from "../../src/search/terms.ts";

const cutting = { kind: "lines", maxWeight: 1600, overlapWeight: 320 } as const;
let root = "";
beforeAll(() => (root = mkdtempSync(join(tmpdir(), "memq-fresh-"))));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function collectionOf(over: Partial<Collection> = {}): Collection {
  return {
    name: "memory",
    root,
    patterns: ["**/*.md"],
    ignore: [],
    source: "memory",
    followLinks: false,
    hidden: false,
    includeByDefault: true,
    pathPrefix: "",
    ...over,
  };
}

function indexed(path: string, text: string): DocumentRow {
  writeFileSync(join(root, path), text);
  const { mtimeMs, size } = statSync(join(root, path));
  const hash = new Bun.CryptoHasher("sha256").update(text).digest("hex");
  return { id: 1, collection: "memory", path, title: "", hash, mtimeMs, size, date: null, tags: [] };
}

describe("the file behind a hit", () => {
  test("current, touched, changed, emptied, gone", () => {
    const document = indexed("note.md", "# Router\nOmada\n");
    const state = (): string => fileState(document, collectionOf(), cutting).state;
    expect(state()).toBe("current");
    utimesSync(join(root, "note.md"), 1, 1);
    expect(state()).toBe("current");
    writeFileSync(join(root, "note.md"), "# Router\nUnifi now\n");
    expect(fileState(document, collectionOf(), cutting)).toMatchObject({
      state: "changed",
      passages: [{ text: "# Router\nUnifi now\n", startLine: 1, endLine: 3 }],
    });
    writeFileSync(join(root, "note.md"), "");
    expect(fileState(document, collectionOf(), cutting)).toMatchObject({ state: "changed", text: "", passages: [] });
    unlinkSync(join(root, "note.md"));
    expect(state()).toBe("gone");
  });

  test("a link or a folder in its place is not it", () => {
    const outside = mkdtempSync(join(tmpdir(), "memq-outside-"));
    writeFileSync(join(outside, "secret.md"), "secret");
    const document = indexed("link.md", "plain");
    unlinkSync(join(root, "link.md"));
    symlinkSync(join(outside, "secret.md"), join(root, "link.md"));
    expect(fileState(document, collectionOf(), cutting).state).toBe("gone");
    expect(fileState(document, collectionOf({ followLinks: true }), cutting).state).toBe("gone");
    rmSync(outside, { recursive: true });
    expect(fileState(document, collectionOf({ followLinks: true }), cutting).state).toBe("gone");
  });

  test("transcripts and pictures only have to be there", () => {
    const document = indexed("talk.jsonl", "{}");
    writeFileSync(join(root, "talk.jsonl"), "{}\n{}");
    expect(fileState(document, collectionOf({ source: "sessions" }), cutting).state).toBe("current");
    const picture = { ...indexed("cat.png", "x"), size: 0 };
    const media = { extensions: [".png"], maxFileBytes: 10 };
    expect(fileState(picture, collectionOf({ media }), cutting).state).toBe("current");
  });
});

describe("a hit in a changed file", () => {
  const termsIn = termFinder(parseQuery("omada router", "plain"));
  const hit = {
    text: "Omada router, VLAN 10 for the IoT devices",
    fromKeyword: true,
    fromVector: false,
    byName: false,
  };
  const now = (text: string, over: object = {}) => passageNow({ ...hit, ...over }, cutPassages(text, cutting), termsIn);

  test("moves with its text", () => {
    const moved = passageNow(hit, [{ ...cutPassages(hit.text, cutting)[0]!, startLine: 9 }], termsIn);
    expect(moved).toMatchObject({ startLine: 9, text: hit.text });
  });

  test("is matched again by the query's words", () => {
    expect(now("The router is an Omada ER605 now")?.text).toContain("ER605");
    expect(now("Nothing of that kind")).toBeNull();
    expect(now("")).toBeNull();
  });

  test("found by meaning it has to be much alike, found by name it is the file's beginning", () => {
    const byMeaning = { fromKeyword: false, fromVector: true };
    expect(now("VLAN 10 for the IoT devices and phones", byMeaning)?.text).toContain("phones");
    expect(now("Something else entirely", byMeaning)).toBeNull();
    expect(now("Something else entirely", { byName: true })?.startLine).toBe(1);
  });
});

test("a collection may be the whole disk", () => {
  const path = join(root, "here.md");
  writeFileSync(path, "text\n");
  expect(textNow({ path: path.slice(1) }, collectionOf({ root: "/" }))).toBe("text\n");
});

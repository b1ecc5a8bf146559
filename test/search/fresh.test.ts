import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync, statSync, symlinkSync, truncateSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Collection } from "../../src/home/types.ts";
import { cutPassages } from "../../src/notes/cut.ts";
import { MAX_NOTE_BYTES } from "../../src/notes/decode.ts";
import type { DocumentRow } from "../../src/store/types.ts";
import { type FileState, fileState, lookBudget, passageNow, passageWords, textNow } from "../../src/search/fresh.ts";
import { parseQuery } from "../../src/search/query.ts";
import { termFinder } from "../../src/search/terms.ts";
import { collectionOf } from "../sync/helpers.ts";
import { temporaryFolder } from "../temporary.ts";
import { testHome } from "./homes.ts";

const cutting = { kind: "lines", maxWeight: 1600, overlapWeight: 320 } as const;
let root = "";
beforeAll(() => (root = temporaryFolder("fresh-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const memory = (overrides: Partial<Collection> = {}): Collection => collectionOf(root, overrides);

function indexed(path: string, text: string): DocumentRow {
  writeFileSync(join(root, path), text);
  const { mtimeMs, size } = statSync(join(root, path));
  const hash = new Bun.CryptoHasher("sha256").update(text).digest("hex");
  return { id: 1, collection: "memory", path, title: "", hash, mtimeMs, size, date: null, tags: [] };
}

const look = (document: DocumentRow, collection = memory(), budget = lookBudget()): FileState =>
  fileState(document, collection, cutting, budget);

describe("the file behind a hit", () => {
  test("current, touched, changed, emptied, gone", () => {
    const document = indexed("note.md", "# Router\nOmada\n");
    const state = (): string => look(document).state;
    expect(state()).toBe("current");
    utimesSync(join(root, "note.md"), 1, 1);
    expect(state()).toBe("current");
    writeFileSync(join(root, "note.md"), "# Router\nUnifi now\n");
    expect(look(document)).toMatchObject({
      state: "changed",
      passages: [{ text: "# Router\nUnifi now\n", startLine: 1, endLine: 3 }],
    });
    writeFileSync(join(root, "note.md"), "");
    expect(look(document)).toMatchObject({ state: "changed", text: "", passages: [] });
    unlinkSync(join(root, "note.md"));
    expect(state()).toBe("gone");
  });

  test("too large to be read, or together with others", () => {
    const document = indexed("grown.md", "tea");
    writeFileSync(join(root, "grown.md"), "tea at four");
    const budget = { bytes: 20, characters: 0 };
    expect(look(document, memory(), budget).state).toBe("changed");
    expect(look(document, memory(), budget).state).toBe("unread");
    truncateSync(join(root, "grown.md"), MAX_NOTE_BYTES + 1);
    expect(textNow(document, memory())).toBeNull();
  });

  test("a link or a folder in its place is not it", () => {
    const outside = temporaryFolder("outside-");
    writeFileSync(join(outside, "secret.md"), "secret");
    const document = indexed("link.md", "plain");
    unlinkSync(join(root, "link.md"));
    symlinkSync(join(outside, "secret.md"), join(root, "link.md"));
    expect(look(document).state).toBe("unsuitable");
    expect(look(document, memory({ followLinks: true })).state).toBe("unsuitable");
    rmSync(outside, { recursive: true });
    expect(look(document, memory({ followLinks: true })).state).toBe("gone");
  });

  test("transcripts and pictures only have to be there", () => {
    const document = indexed("talk.jsonl", "{}");
    writeFileSync(join(root, "talk.jsonl"), "{}\n{}");
    expect(look(document, memory({ source: "sessions" })).state).toBe("current");
    const picture = { ...indexed("cat.png", "x"), size: 0 };
    const media = { extensions: [".png"], maxFileBytes: 10 };
    expect(look(picture, memory({ media })).state).toBe("current");
  });
});

describe("a hit in a changed file", () => {
  const words = passageWords(termFinder(parseQuery("omada router", "plain")));
  const hit = {
    text: "Omada router, VLAN 10 for the IoT devices",
    fromKeyword: true,
    fromVector: false,
    byName: false,
  };
  const passagesOf = (text: string) =>
    cutPassages(text, cutting).map((passage) => Object.assign(passage, { headings: [], isBare: false }));
  const now = (text: string, over: object = {}) => passageNow({ ...hit, ...over }, passagesOf(text), words);

  test("moves with its text", () => {
    const moved = passageNow(hit, [{ ...passagesOf(hit.text)[0]!, startLine: 9 }], words);
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
  expect(textNow({ path: path.slice(1) }, memory({ root: "/" }))).toBe("text\n");
});

describe("notes that changed since the last sync", () => {
  const lines = (count: number, word: string): string =>
    Array.from({ length: count }, (_, at) => `The ${word} was seen on the ${at}th day at the ford.\n`).join("");

  test("a note that grew by megabytes is not searched anew while an answer waits", async () => {
    const home = await testHome({ "memory/log.md": "# Log\nThe wombat sleeps.\n" });
    home.write({ "memory/log.md": lines(400_000, "heron") });
    const { hits, notices, stale } = await home.ask("wombat");
    expect(hits.map(({ text }) => text)).toEqual(["# Log\nThe wombat sleeps.\n"]);
    expect(notices).toEqual([
      "Shown as indexed: 1 file (memory/log.md), changed since the last sync and too long to be searched anew.",
    ]);
    expect(stale).toBe(true);
    home.close();
  });

  test("a passage that a long note still holds is shown from it, one that is gone from it as indexed", async () => {
    const kept = `The quoll hunts.\n${lines(200, "heron")}`;
    const home = await testHome({ "memory/log.md": `${kept}The wombat sleeps.\n` });
    home.write({ "memory/log.md": `${kept}${lines(4000, "egret")}` });
    const [wombat, quoll] = [await home.ask("wombat"), await home.ask("quoll")];
    expect(wombat.hits.map(({ text }) => text)).toEqual([expect.stringContaining("The wombat sleeps.")]);
    expect(wombat.notices).toEqual([expect.stringContaining("Shown as indexed: 1 file")]);
    expect(quoll.hits.map(({ startLine, body }) => [startLine, body.includes("egret")])).toEqual([[1, true]]);
    expect(quoll).toMatchObject({ notices: [], stale: true });
    home.close();
  });

  test("of many together only some are searched anew", async () => {
    const names = Array.from({ length: 8 }, (_, at) => `memory/${at}.md`);
    const notes = (text: string): Record<string, string> =>
      Object.fromEntries(names.map((name, at) => [name, `${text} ${at}\n${lines(800, "heron")}`]));
    const home = await testHome(notes("The wombat sleeps in burrow"));
    home.write(notes("The wombat was moved to box"));
    const { hits, notices } = await home.ask("wombat", { limit: 8 });
    expect(hits).toHaveLength(8);
    const moved = hits.filter(({ text }) => text.includes("moved to box")).length;
    expect(moved).toBeWithin(1, 8);
    expect(notices).toEqual([expect.stringContaining(`Shown as indexed: ${8 - moved} files`)]);
    home.close();
  });
});

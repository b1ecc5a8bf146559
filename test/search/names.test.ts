import { afterAll, expect, test } from "bun:test";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { nameLeg } from "../../src/search/names.ts";
import { documentsById } from "../../src/store/documents.ts";
import { openIndex } from "../../src/store/open.ts";
import { temporaryFolder } from "../temporary.ts";
import { testHome } from "./homes.ts";
import { processorMs } from "../work.ts";

const home = await testHome({
  "memory/network.md": "routers",
  "memory/old/network.md": "routers of old",
  "memory/network-notes.md": "more",
  "memory/2026_06_16.md": "underscores",
  "memory/2026-06-16.md": "dashes",
  "memory/Café.md": "coffee",
  "memory/🐘.md": "elephant",
  "memory/my note.md": "blank",
  "memory/\u212aelvin.md": "a sign that is a letter",
  "memory/back\\slash.md": "a name that holds a backslash",
});
afterAll(() => home.close());
const collections = home.home.collections.map((collection) => collection.name);

function ask(query: string, index = home.index): [string, number][] {
  const hits = nameLeg(index, query, { collections });
  const documents = documentsById(
    home.index,
    hits.map((hit) => hit.documentId),
  );
  return hits.map((hit): [string, number] => [documents.get(hit.documentId)?.path ?? "", hit.tier]);
}

test.each([
  ["memory/network.md", [["memory/network.md", 3]]],
  [" ./Memory\\Network.md ", [["memory/network.md", 3]]],
  [
    "network.md",
    [
      ["memory/network.md", 2],
      ["memory/old/network.md", 2],
    ],
  ],
  [
    "NETWORK",
    [
      ["memory/network.md", 1],
      ["memory/old/network.md", 1],
    ],
  ],
  ["old/network.md", []],
  ["2026_06_16.md", [["memory/2026_06_16.md", 2]]],
  ["cafe\u0301", [["memory/Café.md", 1]]],
  ["🐘", [["memory/🐘.md", 1]]],
  ["my note", [["memory/my note.md", 1]]],
  ["kelvin", [["memory/\u212aelvin.md", 1]]],
  ["memory/back/slash.md", [["memory/back\\slash.md", 3]]],
  ["what is in the network note?", []],
  ["", []],
] as [string, [string, number][]][])("%s", (query, expected) => {
  expect(ask(query)).toEqual(expected);
  // A process that asks once looks them up another way.
  const index = openIndex(home.home.indexPath, { mode: "read" });
  expect(ask(query, index)).toEqual(expected);
  index.close();
});

test("scope holds", () => {
  expect(nameLeg(home.index, "network", { collections: [] })).toEqual([]);
  const [first] = nameLeg(home.index, "network", { collections });
  expect(nameLeg(home.index, "network", { collections, documentIds: [first!.documentId] })).toEqual([first!]);
});

test("a note that came since is known", async () => {
  home.write({ "memory/fresh.md": "new" });
  await home.sync();
  expect(ask("fresh")).toEqual([["memory/fresh.md", 1]]);
});

test("many notes of one name are gathered in time that grows with their number alone", () => {
  const index = openIndex(join(temporaryFolder("names-"), "index.sqlite"), { mode: "write" });
  index.db.run("INSERT INTO content(hash, doc, created_at) VALUES ('h', '', '')");
  const insert = index.db.query(
    "INSERT INTO documents(collection, path, title, hash, created_at, modified_at) VALUES ('notes', ?, '', 'h', '', '')",
  );
  let written = 0;
  const write = (upTo: number): void =>
    index.db.transaction(() => {
      for (; written < upTo; written++) insert.run(`folder-${written}/README.md`);
    })();
  /** The quickest of a few first questions after a write. */
  const gathering = (): number =>
    Math.min(
      ...[1, 2, 3].map(() => {
        write(written + 1);
        const spent = processorMs();
        expect(nameLeg(index, "readme", { collections: ["notes"] })).toHaveLength(written);
        return spent();
      }),
    );
  nameLeg(index, "readme", { collections: ["notes"] });
  write(5000);
  const few = gathering();
  write(40_000);
  expect(gathering() / few).toBeLessThan(25);
  index.close();
}, 60_000);

test("names are right after each change, however often they are asked for", async () => {
  const came = (): void => {
    for (let question = 0; question < 5; question++) {
      expect(ask("moved")).toEqual([["memory/moved.md", 1]]);
      expect(ask("stays")).toEqual([["memory/stays.md", 1]]);
      expect(ask("leaves")).toEqual([]);
    }
  };
  home.write({ "memory/leaves.md": "a", "memory/stays.md": "b" });
  await home.sync();
  for (let question = 0; question < 5; question++) expect(ask("leaves")).toEqual([["memory/leaves.md", 1]]);
  renameSync(join(home.workspace, "memory/leaves.md"), join(home.workspace, "memory/moved.md"));
  await home.sync();
  came();
  home.write({ "memory/stays.md": "another text" });
  await home.sync();
  came();
});

import { expect, test } from "bun:test";
import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { openIndex } from "../../src/store/open.ts";
import { scanCollection } from "../../src/sync/scan.ts";
import { syncCollection } from "../../src/sync/sync-collection.ts";
import { syncIndex } from "../../src/sync/sync.ts";
import { homeOf, tempFolder, writeNotes } from "./helpers.ts";

/** A list that counts how often one of its elements is read. */
function counted<T>(list: readonly T[]): { list: T[]; reads: () => number } {
  let reads = 0;
  const proxy = new Proxy([...list], {
    get(target, key, receiver) {
      if (typeof key === "string" && /^\d+$/.test(key)) reads++;
      return Reflect.get(target, key, receiver) as unknown;
    },
  });
  return { list: proxy, reads: () => reads };
}

test("each of a folder's notes was compared with each that could not be read: minutes for many", async () => {
  const root = tempFolder();
  const paths = Array.from({ length: 300 }, (_, n) => `locked/${n}.md`);
  const gone = ["locked-not/a.md", "locked/deep.md/b.md", "c.md"];
  writeNotes(root, Object.fromEntries([...paths, ...gone].map((path) => [path, `# Note of ${path}\n`])));
  const home = homeOf(root);
  await syncIndex(home);

  const { list, reads } = counted([...paths.slice(0, 299), "locked/deep"]);
  const scan = { ...scanCollection(home.collections[0]!), files: [], unreadable: list };
  const index = openIndex(home.indexPath, { mode: "write" });
  const { signal } = new AbortController();
  const run = { home, index, signal, onProgress: () => {}, force: false, skipped: [], warnings: [] };
  const report = await syncCollection(scan, run);
  index.close();
  expect(report.removed).toBe(gone.length + 1);
  expect(reads()).toBeLessThan(10 * list.length);
});

test.each([
  ["to itself", "link.md"],
  ["through a file", "kept.md/note.md"],
  ["of a name that no file can have", "x".repeat(300)],
])("a note whose link leads nowhere (%s) is gone, though its link is there", async (_, target) => {
  const root = tempFolder();
  writeNotes(root, { "kept.md": "# Kept\n", "link.md": "# Link\n" });
  const home = homeOf(root);
  home.collections[0]!.followLinks = true;
  await syncIndex(home);

  rmSync(join(root, "link.md"));
  symlinkSync(target, join(root, "link.md"));
  expect(await syncIndex(home)).toMatchObject({ files: 1, removed: 1 });
});

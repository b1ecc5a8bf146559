import { expect, test } from "bun:test";
import { existsSync, mkdirSync, rmdirSync } from "node:fs";
import { indexReader } from "../../src/memory/index-reader.ts";
import { documentsOf } from "../../src/store/documents.ts";
import { openIndex } from "../../src/store/open.ts";
import type { Index } from "../../src/store/types.ts";
import { syncIndex } from "../../src/sync/sync.ts";
import { homeOf, tempFolder, writeNotes } from "../sync/helpers.ts";

test("where nothing may be written, a reader kept answering from the file as it was when it opened it", async () => {
  const root = tempFolder();
  const home = homeOf(root);
  const { indexPath } = home;
  // Like a read-only folder: what readers share with writers can't be made, for whichever user.
  const inReadOnlyFolder = (isReadOnly: boolean): void =>
    isReadOnly ? mkdirSync(`${indexPath}-wal`) : rmdirSync(`${indexPath}-wal`);
  const syncedElsewhere = async (): Promise<void> => {
    if (existsSync(`${indexPath}-wal`)) inReadOnlyFolder(false);
    await syncIndex(home);
    inReadOnlyFolder(true);
  };
  const names = (index: Index): string[] => documentsOf(index, "memory").map(({ path }) => path);

  writeNotes(root, { "a.md": "# A\n" });
  await syncedElsewhere();
  const frozen = openIndex(indexPath, { mode: "read" });
  expect(frozen.frozenAt).not.toBeNull();
  frozen.close();
  const reader = indexReader({ path: indexPath }, true);
  expect(reader.now(names)).toEqual(["a.md"]);
  writeNotes(root, { "b.md": "# B\n" });
  await syncedElsewhere();
  expect(reader.now(names).toSorted()).toEqual(["a.md", "b.md"]);
  reader.close();
  inReadOnlyFolder(false);
});

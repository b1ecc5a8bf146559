import { expect, test } from "bun:test";
import { cpSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { documentsIn } from "../../src/store/documents.ts";
import { openIndex } from "../../src/store/open.ts";
import { passagesOf } from "../../src/store/passages.ts";
import { syncIndex } from "../../src/sync/sync.ts";
import { sharedPath } from "../shared.ts";
import { collectionOf, homeOf, tempFolder } from "./helpers.ts";

type Chunk = { path: string; start_line: number; end_line: number; hash: string };

const golden = sharedPath("golden");

test.skipIf(golden === null)("the recorded workspace is indexed with the recorded lines and hashes", async () => {
  const root = tempFolder();
  cpSync(join(golden ?? "", "ws"), join(root, "ws"), { recursive: true });
  cpSync(join(golden ?? "", "team-docs"), join(root, "team-docs"), { recursive: true });
  // The recording may be read-only, and its modes are copied along.
  Bun.spawnSync(["chmod", "-R", "u+w", root]);
  symlinkSync("../../team-docs/onboarding.md", join(root, "ws/memory/symlinked.md"));
  const patterns = ["MEMORY.md", "memory.md", "USER.md", "memory/**/*.md"];
  const collections = [
    collectionOf(join(root, "ws"), { patterns }),
    collectionOf(join(root, "team-docs"), { name: "team-docs", pathPrefix: "../team-docs/" }),
  ];
  const home = homeOf(root, { collections });
  const chunks: Chunk[] = JSON.parse(readFileSync(join(golden ?? "", "openclaw-2026.9.6-keyword/chunks.json"), "utf8"));

  expect(await syncIndex(home)).toMatchObject({ files: 23, passages: chunks.length, skipped: [], warnings: [] });

  const index = openIndex(home.indexPath, { mode: "read" });
  const prefixes = new Map(collections.map(({ name, pathPrefix }) => [name, pathPrefix]));
  const ours = documentsIn(index, [...prefixes.keys()]).flatMap(({ id, collection, path }) =>
    passagesOf(index, id).map(
      (row) => `${prefixes.get(collection)}${path}:${row.startLine}-${row.endLine} ${row.textHash}`,
    ),
  );
  index.close();
  const theirs = chunks.map((chunk) => `${chunk.path}:${chunk.start_line}-${chunk.end_line} ${chunk.hash}`);
  expect(ours.toSorted()).toEqual(theirs.toSorted());
});

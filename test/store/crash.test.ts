import { expect, test } from "bun:test";
import { join } from "node:path";
import {
  beginMergingAllTokens,
  checkpoint,
  cleanup,
  cleanupCounts,
  indexSizes,
  mergeTokens,
} from "../../src/store/maintenance.ts";
import { contentText, documentsOf } from "../../src/store/documents.ts";
import { keywordCandidates } from "../../src/store/keyword.ts";
import { openIndex } from "../../src/store/open.ts";
import { passagesOf } from "../../src/store/passages.ts";
import { loadVec } from "../../src/store/vec-extension.ts";
import { vectorDimensions } from "../../src/store/vector-table.ts";
import { writeDocuments } from "../../src/store/write-documents.ts";
import { temporaryFolder } from "../temporary.ts";
import { draftOf } from "./helpers.ts";

const CHILD = join(import.meta.dir, "child.ts");

test("a writer killed at any moment leaves an index in which nothing is half there", async () => {
  const path = join(temporaryFolder(), "index.sqlite");
  for (let attempt = 0; attempt < 4; attempt++) {
    const child = Bun.spawn([process.execPath, CHILD, "write", path], { stdout: "pipe", stderr: "inherit" });
    const output = child.stdout.getReader();
    await output.read();
    await Bun.sleep(attempt * 13);
    child.kill("SIGKILL");
    await child.exited;
    const index = openIndex(path, { mode: "write" });
    loadVec(index);
    expect(index.warnings).toEqual([]);
    expect(index.db.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    index.db.run("INSERT INTO memq_fts(memq_fts, rank) VALUES ('integrity-check', 1)");
    const documents = documentsOf(index, "memory");
    const rounds = new Set(documents.map((row) => /round(\d+)/.exec(contentText(index, row.hash) ?? "")?.[1]));
    expect([documents.length, rounds.size]).toEqual([40, 1]);
    for (const row of documents) expect(passagesOf(index, row.id)).toHaveLength(2);
    const round = { any: [{ tokens: [`round${[...rounds][0]}`] }] };
    expect(keywordCandidates(index, round, { collections: ["memory"], limit: 100 })).toHaveLength(40);
    // Each vector has its books and each book its vector.
    const loose = index.db.query(
      `SELECT (SELECT count(*) FROM content_vectors) AS books, (SELECT count(*) FROM vectors_vec_rowids) AS vectors,
        (SELECT count(*) FROM content_vectors c JOIN vectors_vec_rowids v ON v.id = c.hash || '_' || c.seq) AS both`,
    );
    const counts = loose.get() as { books: number; vectors: number; both: number };
    expect([counts.vectors, counts.both]).toEqual([counts.books, counts.books]);
    expect(vectorDimensions(index)).toBe(16);
    index.close();
  }
});

test("eight processes that open a new index at once all write to it", async () => {
  const path = join(temporaryFolder(), "deep", "index.sqlite");
  const children = Array.from({ length: 8 }, (_, i) =>
    Bun.spawn([process.execPath, CHILD, "open", path, `${i}`], { stderr: "inherit" }),
  );
  expect(await Promise.all(children.map((child) => child.exited))).toEqual(children.map(() => 0));
  const index = openIndex(path, { mode: "read" });
  expect(documentsOf(index, "memory")).toHaveLength(8);
  expect(index.db.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  index.close();
});

test("cleanup removes what no note needs, and nothing else", () => {
  const index = openIndex(join(temporaryFolder(), "index.sqlite"), { mode: "write" });
  const { ids } = writeDocuments(index, [draftOf("memory", "a.md", "alpha"), draftOf("memory", "b.md", "beta")]);
  index.db.query("UPDATE documents SET active = 0 WHERE id = ?").run(ids[1] ?? 0);
  index.db.run(
    "INSERT INTO content_vectors VALUES ('lost', 0, 0, 'm', 'f', 1, ''); INSERT INTO llm_cache VALUES ('h', 'r', '')",
  );
  const counts = { cachedAnswers: 1, orphanedVectors: 1, inactiveDocuments: 1, orphanedContents: 1 };
  expect(cleanupCounts(index)).toEqual(counts);
  expect(cleanup(index)).toEqual({ removed: counts, notCompacted: null });
  expect(cleanupCounts(index)).toEqual({
    cachedAnswers: 0,
    orphanedVectors: 0,
    inactiveDocuments: 0,
    orphanedContents: 0,
  });
  expect(documentsOf(index, "memory").map((row) => contentText(index, row.hash))).toEqual(["alpha"]);
  index.close();
});

test.each([
  ["what is of a size", mergeTokens],
  ["all of it", beginMergingAllTokens],
])("merging the full-text index, %s, comes to an end and changes no answer", (_, begin) => {
  const index = openIndex(join(temporaryFolder(), "index.sqlite"), { mode: "write" });
  for (let batch = 0; batch < 12; batch++) {
    writeDocuments(
      index,
      Array.from({ length: 20 }, (_, i) =>
        draftOf("memory", `${batch}-${i}.md`, `alpha ${batch} ${"word ".repeat(i)}`),
      ),
    );
  }
  const search = (): unknown =>
    keywordCandidates(
      index,
      { any: [{ tokens: ["alpha"] }, { tokens: ["3"] }] },
      { collections: ["memory"], limit: 300 },
    );
  const before = search();
  expect(begin(index)).toBe(true);
  let rounds = 1;
  while (mergeTokens(index) && rounds < 50) rounds++;
  expect(rounds).toBeWithin(1, 50);
  const segments = index.db.query<{ n: number }, []>("SELECT count(DISTINCT segid) AS n FROM memq_fts_idx").get()?.n;
  if (begin === beginMergingAllTokens) expect(segments).toBe(1);
  expect(search()).toEqual(before);
  expect([checkpoint(index), indexSizes(index.path).wal]).toEqual([true, 0]);
  index.close();
});

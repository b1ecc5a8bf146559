import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  contentText,
  documentCounts,
  documentsByHashPrefix,
  documentsBySuffix,
  documentsOf,
  findDocument,
} from "../../src/store/documents.ts";
import { corpusStats } from "../../src/store/corpus-stats.ts";
import { documentFrequencies, keywordCandidates, tokensOf } from "../../src/store/keyword.ts";
import { openIndex } from "../../src/store/open.ts";
import { passagesOf } from "../../src/store/passages.ts";
import type { Index } from "../../src/store/types.ts";
import { removeDocuments, touchDocument, writeDocuments } from "../../src/store/write-documents.ts";
import { temporaryFolder } from "../temporary.ts";
import { draftOf, sha256 } from "./helpers.ts";

function freshIndex(): Index {
  return openIndex(join(temporaryFolder(), "index.sqlite"), { mode: "write" });
}

function search(index: Index, word: string, collections = ["memory"]): number[] {
  return keywordCandidates(index, { any: [{ tokens: [word] }] }, { collections, limit: 50 }).map(
    (hit) => hit.documentId,
  );
}

describe("documents", () => {
  test("are found by path, by docid and by the end of their path", () => {
    const index = freshIndex();
    writeDocuments(index, [
      draftOf("memory", "a/pi.md", "circle\n\ndiameter"),
      draftOf("memory", "a/api.md", "interface"),
    ]);
    expect(findDocument(index, "memory", "a/pi.md")?.mtimeMs).toBe(1_700_000_000_000.5);
    expect(documentsByHashPrefix(index, sha256("interface").slice(0, 6)).map((d) => d.path)).toEqual(["a/api.md"]);
    expect(documentsByHashPrefix(index, "%")).toEqual([]);
    expect(documentsBySuffix(index, "pi.md").map((d) => d.path)).toEqual(["a/pi.md"]);
    expect(documentsBySuffix(index, "memory/a/pi.md")).toHaveLength(1);
    expect(documentsOf(index, "memory").map((d) => d.path)).toEqual(["a/api.md", "a/pi.md"]);
    index.close();
  });

  test("are replaced as a whole, and come back under their old id after removal", () => {
    const index = freshIndex();
    const [id = 0] = writeDocuments(index, [draftOf("memory", "a.md", "alpha\n\nbeta")]).ids;
    expect(writeDocuments(index, [draftOf("memory", "a.md", "alpha\n\ngamma")])).toEqual({ ids: [id], added: 0 });
    expect([search(index, "alpha"), search(index, "beta"), search(index, "gamma")]).toEqual([[id], [], [id]]);
    removeDocuments(index, [id]);
    expect(search(index, "alpha")).toEqual([]);
    expect([findDocument(index, "memory", "a.md"), passagesOf(index, id)]).toEqual([null, []]);
    expect(contentText(index, sha256("alpha\n\ngamma"))).toBe("alpha\n\ngamma");
    expect(writeDocuments(index, [draftOf("memory", "a.md", "alpha\n\ngamma")])).toEqual({ ids: [id], added: 1 });
    index.close();
  });

  test("share content, and losing one leaves the other", () => {
    const index = freshIndex();
    const { ids } = writeDocuments(index, [draftOf("memory", "a.md", "same"), draftOf("other", "b.md", "same")]);
    removeDocuments(index, ids.slice(0, 1));
    expect(search(index, "same", ["memory", "other"])).toEqual(ids.slice(1));
    expect(documentCounts(index).map((row) => [row.collection, row.count])).toEqual([["other", 1]]);
    index.close();
  });

  test("touched without a change keep everything but size and time", () => {
    const index = freshIndex();
    const [id = 0] = writeDocuments(index, [draftOf("memory", "a.md", "alpha", { tags: ["x"] })]).ids;
    touchDocument(index, id, { mtimeMs: 5.25, size: 9 });
    expect(findDocument(index, "memory", "a.md")).toMatchObject({ mtimeMs: 5.25, size: 9, tags: ["x"] });
    index.close();
  });
});

describe("keyword candidates", () => {
  test("are chosen within the collections and documents asked for", () => {
    const index = freshIndex();
    const { ids } = writeDocuments(
      index,
      Array.from({ length: 30 }, (_, i) => draftOf(i % 10 === 9 ? "rare" : "memory", `${i}.md`, `word number${i}`)),
    );
    const rare = keywordCandidates(index, { any: [{ tokens: ["word"] }] }, { collections: ["rare"], limit: 2 });
    expect(rare.map((hit) => hit.documentId).every((id) => (id - 1) % 10 === 9)).toBe(true);
    expect(rare).toHaveLength(2);
    const chosen = { collections: ["memory"], documentIds: ids.slice(3, 4), limit: 5 };
    expect(keywordCandidates(index, { any: [{ tokens: ["word"] }] }, chosen)).toMatchObject([{ documentId: 4 }]);
    expect(keywordCandidates(index, { any: [{ tokens: ["word"] }] }, { collections: [], limit: 5 })).toEqual([]);
    index.close();
  });

  test("come with counts of words and lengths", () => {
    const index = freshIndex();
    writeDocuments(index, [draftOf("memory", "a.md", "one two three\n\ntwo"), draftOf("memory", "b.md", "two four")]);
    expect(corpusStats(index)).toEqual({ passages: 3, meanBody: 2 });
    expect([...documentFrequencies(index, ["two", "one", "absent"]).values()]).toEqual([3, 1, 0]);
    expect(tokensOf(index, [2]).get(2)).toEqual({ body: "two", name: "a md", length: 1 });
    index.close();
    const missing = openIndex(`${index.path}.none`, { mode: "read" });
    expect(corpusStats(missing)).toEqual({ passages: 0, meanBody: 0 });
    missing.close();
  });
});

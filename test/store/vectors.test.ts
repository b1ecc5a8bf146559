import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { readCachedVectors } from "../../src/store/cache.ts";
import { documentsIn } from "../../src/store/documents.ts";
import { cacheSpace, servingIdentity } from "../../src/store/identity.ts";
import { cosinesOf, nearestPassages } from "../../src/store/nearest.ts";
import { cosine } from "../../src/store/ranking.ts";
import { openIndex } from "../../src/store/open.ts";
import type { Index, VectorIdentity } from "../../src/store/types.ts";
import { loadVec } from "../../src/store/vec-extension.ts";
import { getVectors } from "../../src/store/vector-table.ts";
import { missingVectorCounts, missingVectors, putVectors, swapVectors } from "../../src/store/vectors.ts";
import { removeDocuments, writeDocuments } from "../../src/store/write-documents.ts";
import { temporaryFolder } from "../temporary.ts";
import { draftOf, identityOf, randomNumbers, randomVector, sha256 } from "./helpers.ts";

const DIMENSIONS = 32;

function vectorFor(text: string, dimensions = DIMENSIONS): Float32Array {
  return randomVector(randomNumbers(Number.parseInt(sha256(text).slice(0, 8), 16)), dimensions);
}

/** Embeds what is missing, each text by its hash. */
function embedAll(index: Index, identity: VectorIdentity, dimensions = DIMENSIONS): void {
  const vectors = missingVectors(index, identity).map(({ vectorKey, textHash }) => ({
    vectorKey,
    textHash,
    vector: vectorFor(identity.model + textHash, dimensions),
  }));
  putVectors(index, identity, vectors);
}

for (const form of ["vec0", "packed"] as const) {
  describe(`vectors as ${form}`, () => {
    beforeAll(() => {
      if (form === "packed") process.env["MEMQ_NO_VEC"] = "1";
    });
    afterAll(() => {
      delete process.env["MEMQ_NO_VEC"];
    });

    function filled(documents: number): Index {
      const index = openIndex(join(temporaryFolder(), "index.sqlite"), { mode: "write" });
      const drafts = Array.from({ length: documents }, (_, i) =>
        draftOf(i % 50 === 0 ? "rare" : "memory", `${i}.md`, `note ${i}\n\nmore ${i % 40}`),
      );
      writeDocuments(index, drafts);
      embedAll(index, identityOf("one"));
      return index;
    }

    test("are in the form that was asked for", () => {
      const index = filled(1);
      expect(loadVec(index)).toBe(form);
      index.close();
    });

    test("nearest passages are exactly the nearest, in any scope", () => {
      const index = filled(1500);
      const query = vectorFor("query");
      for (const scope of [
        { collections: ["memory", "rare"] },
        { collections: ["memory"] },
        { collections: ["rare"] },
        { collections: ["memory"], documentIds: [2, 3, 4, 500] },
      ]) {
        const all = index.db
          .query<{ id: number; hash: string; collection: string; document: number }, []>(
            `SELECT p.id, p.text_hash AS hash, d.collection, d.id AS document FROM memq_passages p
             JOIN documents d ON d.id = p.document_id`,
          )
          .all()
          .filter((row) => scope.collections.includes(row.collection))
          .filter((row) => scope.documentIds === undefined || scope.documentIds.includes(row.document))
          .map((row) => ({ id: row.id, cosine: cosine(query, vectorFor(`one${row.hash}`)) }))
          .sort((a, b) => b.cosine - a.cosine || a.id - b.id)
          .slice(0, 25);
        const found = nearestPassages(index, query, { ...scope, limit: 25 });
        expect(found.map((row) => row.passageId)).toEqual(all.map((row) => row.id));
        expect(found[0]?.cosine).toBeCloseTo(all[0]?.cosine ?? 9, 6);
      }
      index.close();
    });

    test("are found in a scope that lies far from the query", () => {
      const index = openIndex(join(temporaryFolder(), "index.sqlite"), { mode: "write" });
      const random = randomNumbers(5);
      const drafts = Array.from({ length: 330 }, (_, i) =>
        draftOf(
          i % 3 === 0 ? "far" : "near",
          `${i}.md`,
          Array.from({ length: 20 }, (_, j) => `${i} ${j}`).join("\n\n"),
        ),
      );
      writeDocuments(index, drafts);
      const far = new Set(
        drafts.filter((draft) => draft.collection === "far").flatMap((d) => d.passages.map((p) => p.vectorKey)),
      );
      const vectors = missingVectors(index, identityOf("one")).map(({ vectorKey, textHash }) => {
        const vector = randomVector(random, 8);
        vector[0] = far.has(vectorKey) ? -9 : 9;
        return { vectorKey, textHash, vector };
      });
      putVectors(index, identityOf("one"), vectors);
      const query = Float32Array.of(1, 0, 0, 0, 0, 0, 0, 0);
      const exact = vectors.filter((row) => far.has(row.vectorKey)).map((row) => cosine(query, row.vector));
      const found = nearestPassages(index, query, { collections: ["far"], limit: 5 });
      expect(found.map((row) => row.cosine)).toEqual(exact.sort((a, b) => b - a).slice(0, 5));
      index.close();
    });

    test("of replaced passages leave the search and wait in the cache", () => {
      const index = filled(3);
      const old = sha256("note 1");
      writeDocuments(index, [draftOf("memory", "1.md", "changed\n\nmore 1")]);
      expect(getVectors(index, [`${old}_0`]).size).toBe(0);
      expect([...readCachedVectors(index, cacheSpace(identityOf("one")), [old]).keys()]).toEqual([old]);
      expect(missingVectors(index, identityOf("one")).map((row) => row.textHash)).toEqual([sha256("changed")]);
      index.close();
    });

    test("of a new model never served when qmd had put a document away meanwhile", () => {
      const index = filled(5);
      const two = identityOf("two");
      const [first] = missingVectors(index, two);
      // As qmd does it, which knows of no passages.
      index.db.query("UPDATE documents SET active = 0 WHERE id = ?").run(first!.documentId);
      embedAll(index, two);
      expect(missingVectorCounts(index, two)).toEqual({ passages: 0, documents: 0 });
      expect(swapVectors(index, two)).toBe(true);
      index.close();
    });

    test("of another model serve only when complete, and the old ones till then", () => {
      const index = filled(5);
      const two = identityOf("two");
      const query = vectorFor("query");
      const before = nearestPassages(index, query, { collections: ["memory"], limit: 5 });
      const [first] = missingVectors(index, two);
      putVectors(index, two, [{ vectorKey: first!.vectorKey, textHash: first!.textHash, vector: vectorFor("x", 16) }]);
      expect(swapVectors(index, two)).toBe(false);
      expect(nearestPassages(index, query, { collections: ["memory"], limit: 5 })).toEqual(before);
      embedAll(index, two, 16);
      expect(swapVectors(index, two)).toBe(true);
      expect(servingIdentity(index)).toEqual(two);
      expect(nearestPassages(index, query, { collections: ["memory"], limit: 5 })).toEqual([]);
      expect(nearestPassages(index, vectorFor("q", 16), { collections: ["memory"], limit: 5 })).toHaveLength(5);
      expect(missingVectors(index, two)).toEqual([]);
      expect(readCachedVectors(index, cacheSpace(identityOf("one")), [sha256("note 1")]).size).toBe(1);
      index.close();
    });

    test("of another model that stand among those that serve are never compared", () => {
      const index = filled(5);
      const [theirs] = index.db.query<{ hash: string }, []>("SELECT hash FROM content_vectors ORDER BY hash").all();
      index.db.run("UPDATE content_vectors SET model = 'a', embed_fingerprint = '' WHERE hash = ?", [theirs!.hash]);
      const query = vectorFor("query");
      const found = nearestPassages(index, query, { collections: ["memory", "rare"], limit: 50 });
      expect(found).toHaveLength(9);
      expect(found.map(({ vectorKey }) => vectorKey)).not.toContain(`${theirs!.hash}_0`);
      const ids = index.db.query<{ id: number }, []>("SELECT id FROM memq_passages").all();
      expect(
        cosinesOf(
          index,
          query,
          ids.map(({ id }) => id),
        ).size,
      ).toBe(9);
      removeDocuments(
        index,
        documentsIn(index, ["memory", "rare"]).map(({ id }) => id),
      );
      const hashes = found.map(({ vectorKey }) => vectorKey.slice(0, -2));
      const space = cacheSpace(identityOf("one"));
      expect(readCachedVectors(index, space, [...hashes, theirs!.hash]).size).toBe(new Set(hashes).size);
      index.close();
    });

    test("of a wrong length are refused", () => {
      const index = filled(2);
      const draft = draftOf("memory", "new.md", "new");
      writeDocuments(index, [draft]);
      const [passage] = draft.passages;
      const wrong = { vectorKey: passage!.vectorKey, textHash: passage!.textHash, vector: new Float32Array(5) };
      expect(() => putVectors(index, identityOf("one"), [wrong])).toThrow("existing vectors are 32d");
      index.close();
    });
  });
}

test("vectors stored without the extension move into vectors_vec with the next that is stored", () => {
  const path = join(temporaryFolder(), "index.sqlite");
  const identity = identityOf("one");
  process.env["MEMQ_NO_VEC"] = "1";
  const packed = openIndex(path, { mode: "write" });
  writeDocuments(packed, [draftOf("memory", "a.md", "a\n\nb")]);
  embedAll(packed, identity);
  packed.close();
  delete process.env["MEMQ_NO_VEC"];
  const index = openIndex(path, { mode: "write" });
  const query = vectorFor("query");
  const before = nearestPassages(index, query, { collections: ["memory"], limit: 5 });
  expect(before).toHaveLength(2);
  writeDocuments(index, [draftOf("memory", "b.md", "c")]);
  embedAll(index, identity);
  expect(index.db.query("SELECT count(*) FROM memq_vectors").values()).toEqual([[0]]);
  const after = nearestPassages(index, query, { collections: ["memory"], limit: 5 });
  expect(after).toHaveLength(3);
  for (const row of before) expect(after).toContainEqual(row);
  index.close();
});

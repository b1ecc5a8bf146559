import { expect, test } from "bun:test";
import { join } from "node:path";
import { renameDocumentsCollection } from "../../src/store/collections.ts";
import { nearestPassages } from "../../src/store/nearest.ts";
import { openIndex } from "../../src/store/open.ts";
import type { Index, VectorIdentity } from "../../src/store/types.ts";
import { keepVectorCodes } from "../../src/store/vector-codes.ts";
import { clearVectors, missingVectors, putVectors, swapVectors } from "../../src/store/vectors.ts";
import { removeDocuments, writeDocuments } from "../../src/store/write-documents.ts";
import { temporaryFolder } from "../temporary.ts";
import { draftOf, identityOf, randomNumbers, randomVector } from "./helpers.ts";

const DIMENSIONS = 200;
const random = randomNumbers(11);
const topics = Array.from({ length: 12 }, () => randomVector(random, DIMENSIONS));
const tilt = randomVector(random, DIMENSIONS);

/** Near one of a few topics, all tilted the same way, as sentence embeddings are. */
function embedding(): Float32Array {
  const topic = topics[Math.floor(random() * topics.length)]!;
  const own = randomVector(random, DIMENSIONS);
  return topic.map((x, i) => x + 2 * tilt[i]! + 0.7 * own[i]!);
}

function embed(index: Index, identity: VectorIdentity): void {
  const seen = new Map<string, Float32Array>();
  const vectors = missingVectors(index, identity).map(({ vectorKey, textHash }) => {
    const vector = seen.get(vectorKey) ?? embedding();
    seen.set(vectorKey, vector);
    return { vectorKey, textHash, vector };
  });
  putVectors(index, identity, vectors);
}

const NOTES = Array.from({ length: 1500 }, (_, i) => draftOf(i % 3 === 0 ? "other" : "memory", `${i}.md`, `note ${i}`));

/** Compares what a living reader finds by codes with what a fresh one finds exactly. */
function expectSame(living: Index, collections = ["memory", "other"]): void {
  const fresh = openIndex(living.path, { mode: "read" });
  let same = 0;
  for (let round = 0; round < 10; round++) {
    const query = embedding();
    const exact = nearestPassages(fresh, query, { collections, limit: 10 });
    const found = nearestPassages(living, query, { collections, limit: 10 });
    same += exact.filter((row) =>
      found.some((other) => other.passageId === row.passageId && other.cosine === row.cosine),
    ).length;
    expect(found).toHaveLength(exact.length);
  }
  expect(same).toBeGreaterThanOrEqual(99);
  fresh.close();
}

for (const form of ["vec0", "packed"]) {
  test(`codes find what an exact search finds, whatever is written meanwhile (${form})`, async () => {
    if (form === "packed") process.env["MEMQ_NO_VEC"] = "1";
    try {
      const path = join(temporaryFolder(), "index.sqlite");
      const writer = openIndex(path, { mode: "write" });
      const { ids } = writeDocuments(writer, NOTES);
      embed(writer, identityOf("one"));
      const living = openIndex(path, { mode: "read" });
      await keepVectorCodes(living).warm();
      expectSame(living);
      expectSame(living, ["other"]);
      writeDocuments(
        writer,
        Array.from({ length: 300 }, (_, i) => draftOf("memory", `new${i}.md`, `new ${i}\n\nnote ${i}`)),
      );
      expectSame(living);
      embed(writer, identityOf("one"));
      expectSame(living);
      removeDocuments(writer, ids.slice(0, 900));
      expectSame(living);
      renameDocumentsCollection(writer, "other", "renamed");
      expectSame(living, ["renamed"]);
      clearVectors(writer);
      embed(writer, identityOf("one"));
      expectSame(living, ["renamed"]);
      writeDocuments(writer, NOTES);
      embed(writer, identityOf("two"));
      expect(swapVectors(writer, identityOf("two"))).toBe(true);
      expectSame(living);
      living.close();
      writer.close();
    } finally {
      delete process.env["MEMQ_NO_VEC"];
    }
  });
}

test("what is written while codes are built in slices is found once", async () => {
  const path = join(temporaryFolder(), "index.sqlite");
  const writer = openIndex(path, { mode: "write" });
  writeDocuments(writer, NOTES);
  embed(writer, identityOf("one"));
  const living = openIndex(path, { mode: "read" });
  const codes = keepVectorCodes(living);
  const first = codes.warm();
  writeDocuments(
    writer,
    Array.from({ length: 400 }, (_, i) => draftOf("memory", `late${i}.md`, `late ${i}\n\nnote ${i}`)),
  );
  embed(writer, identityOf("one"));
  await Promise.all([first, codes.warm()]);
  const scope = { collections: ["memory", "other"] };
  for (let round = 0; round < 5; round++) {
    const ids = codes.closest(embedding(), scope, 400).map(({ passageId }) => passageId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThanOrEqual(400);
  }
  expectSame(living);
  living.close();
  writer.close();
});

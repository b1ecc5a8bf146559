import { expect, test } from "bun:test";
import { join } from "node:path";
import {
  cachedVectorCount,
  llmCacheKey,
  pruneVectorCache,
  readCachedVectors,
  readLlmCache,
  writeCachedVectors,
  writeLlmCache,
} from "../../src/store/cache.ts";
import { cacheSpace, sameIdentity } from "../../src/store/identity.ts";
import { readFlush, writeFlush } from "../../src/store/meta.ts";
import { openIndex } from "../../src/store/open.ts";
import type { Index } from "../../src/store/types.ts";
import { temporaryFolder } from "../temporary.ts";
import { identityOf } from "./helpers.ts";

function freshIndex(): Index {
  return openIndex(join(temporaryFolder(), "index.sqlite"), { mode: "write" });
}

test("keys of models' answers are qmd's", () => {
  expect(llmCacheKey("expandQuery", { query: "hello", model: "m" })).toBe(
    "3bb704d14298809a61f038b78bd65d176d9bcd88cd1b2c6af5ca29cfe59f6737",
  );
  expect(llmCacheKey("rerank", { query: "hello", model: "m", chunk: "c" })).toBe(
    "e39c7b1805cee26107fcf1d558a35d866585b1f9174f77a04f3e7d8aab9aa12a",
  );
});

test("models' answers are kept up to a thousand, the newest", () => {
  const index = freshIndex();
  writeLlmCache(index, new Map([["first", "0"]]));
  writeLlmCache(index, new Map(Array.from({ length: 1000 }, (_, i) => [`k${i}`, `${i}`])));
  expect([readLlmCache(index, "first"), readLlmCache(index, "k0"), readLlmCache(index, "k999")]).toEqual([
    null,
    "0",
    "999",
  ]);
  index.close();
});

test("cached vectors belong to one space, and the oldest go first", () => {
  const index = freshIndex();
  const one = Float32Array.of(1, 2);
  writeCachedVectors(index, "a", new Map([["old", one]]));
  writeCachedVectors(
    index,
    "a",
    new Map([
      ["new", one],
      ["newer", one],
    ]),
  );
  expect([...readCachedVectors(index, "a", ["old", "none"])]).toEqual([["old", one]]);
  expect(readCachedVectors(index, "b", ["old"]).size).toBe(0);
  expect(pruneVectorCache(index, 2)).toBe(1);
  expect([...readCachedVectors(index, "a", ["old", "new", "newer"]).keys()]).toEqual(["new", "newer"]);
  expect(cachedVectorCount(index)).toBe(2);
  index.close();
});

test("any difference in what makes a vector makes another space, how passages are cut does not", () => {
  const base = identityOf("m");
  const changes = [
    { model: "n" },
    { provider: "voyage" },
    { endpoint: "http://localhost" },
    { dimensions: 256 },
    { documentInputType: "document" },
    { promptForm: "query: " },
  ];
  const spaces = [base, ...changes.map((change) => ({ ...base, ...change }))].map(cacheSpace);
  expect(new Set(spaces).size).toBe(changes.length + 1);
  expect(cacheSpace({ ...base, cutting: "entries" })).toBe(cacheSpace(base));
  for (const change of [...changes, { cutting: "entries" }])
    expect(sameIdentity(base, { ...base, ...change })).toBe(false);
});

test("flushes are remembered per session", () => {
  const index = freshIndex();
  writeFlush(index, "main", 3, 1000);
  writeFlush(index, "main", 4, 2000);
  expect([readFlush(index, "main"), readFlush(index, "other")]).toEqual([{ compactionCount: 4, at: 2000 }, null]);
  index.close();
});

import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { areCommonTermsDue, buildCommonTerms } from "../../src/store/common-building.ts";
import { commonCounts, commonState, commonTerms } from "../../src/store/common-terms.ts";
import { documentFrequencies, keywordCandidates } from "../../src/store/keyword.ts";
import { checkpoint, cleanup, mergeTokens } from "../../src/store/maintenance.ts";
import { openIndex } from "../../src/store/open.ts";
import { TermCounter } from "../../src/store/term-counter.ts";
import type { DocumentDraft, Index } from "../../src/store/types.ts";
import { removeDocuments, writeDocuments } from "../../src/store/write-documents.ts";
import { expectExactCounts } from "./common-counts.ts";
import { draftOf, randomNumbers, temporaryFolder } from "./helpers.ts";

function newIndex(): Index {
  return openIndex(join(temporaryFolder(), "index.sqlite"), { mode: "write" });
}

function build(index: Index, fewest = 1): void {
  for (const _ of buildCommonTerms(index, fewest));
}

/** A note of several passages; word `n` of its vocabulary stands in about one of `n + 1`. */
function noteOf(random: () => number, path: string): DocumentDraft {
  const words = ["the", "note", "a", "größe", "名前", "c++", "meet", "plan", "meeting", "md", "x", "plans"];
  const passage = (): string =>
    words
      .flatMap((word, n) =>
        random() * (n + 1) < 0.8 ? Array<string>(1 + Math.floor(random() ** 4 * 30)).fill(word) : [],
      )
      .concat(`rare${Math.floor(random() * 500)}`)
      .sort(() => random() - 0.5)
      .join(" ");
  return draftOf("memory", path, Array.from({ length: 1 + Math.floor(random() * 4) }, passage).join("\n\n"));
}

test("whatever is written and removed, counts of common terms are those of the passages", () => {
  const step = fc.record({
    kind: fc.constantFrom("write", "write", "write", "remove", "build", "merge"),
    from: fc.nat(30),
    count: fc.integer({ min: 1, max: 6 }),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 3, maxLength: 12 }), fc.nat(), (steps, seed) => {
      const random = randomNumbers(seed);
      const index = newIndex();
      const written = writeDocuments(
        index,
        Array.from({ length: 30 }, (_, n) => noteOf(random, `${n}.md`)),
      );
      build(index);
      expect(commonState(index)?.removed).toBe(0);
      for (const { kind, from, count } of steps) {
        const numbers = Array.from({ length: count }, (_, nth) => (from + nth) % 30);
        if (kind === "build") build(index);
        else if (kind === "merge") mergeTokens(index);
        else if (kind === "remove")
          removeDocuments(
            index,
            numbers.map((n) => written.ids[n]!),
          );
        else
          writeDocuments(
            index,
            numbers.map((n) => noteOf(random, `${n}.md`)),
          );
        if (kind === "build") expect(commonState(index)).not.toBeNull();
        expectExactCounts(index);
      }
      index.close();
    }),
    { numRuns: 25 },
  );
});

test("both forms of counting count the same", () => {
  const tokens = fc.array(
    fc.constantFrom("a", "ab", "abc", "abxbc", "abyyc", "名前", "名", "\u{1f600}", "x".repeat(70), ""),
    {
      maxLength: 60,
    },
  );
  const terms = ["a", "abc", "abxbc", "名前", "\u{1f600}"];
  const [compiled, native] = [new TermCounter(terms, true), new TermCounter(terms, false)];
  fc.assert(
    fc.property(tokens, (list) => {
      const seen = [compiled, native].map((counter) => {
        counter.reset();
        return [counter.count(list.join(" ")), [...counter.counts], [...counter.found.subarray(0, counter.held)]];
      });
      expect(seen[0]).toEqual(seen[1]);
      expect(seen[0]![0]).toBe(list.filter((token) => token !== "").length);
      expect(seen[0]![1]).toEqual(terms.map((term) => Math.min(15, list.filter((token) => token === term).length)));
    }),
  );
});

/** An index of as many passages as get counts on a sync. */
function largeIndex(): Index {
  const index = newIndex();
  const random = randomNumbers(7);
  writeDocuments(
    index,
    Array.from({ length: 900 }, (_, n) => noteOf(random, `${n}.md`)),
  );
  return index;
}

describe("counts of common terms", () => {
  const index = largeIndex();
  const asked = ["the", "note", "c++", "名前", "rare7", "nowhere"];
  const counted = (one: Index): [string, number][] => [...documentFrequencies(one, asked)];
  const before = counted(index);

  test("are due in a large index, and once", () => {
    expect(areCommonTermsDue(index)).toBe(true);
    build(index, 2000);
    expect(areCommonTermsDue(index)).toBe(false);
    expectExactCounts(index);
    expect([...commonTerms(index, asked).keys()].sort()).toEqual(["c++", "note", "the", "名前"]);
    expect(counted(index)).toEqual(before);
  });

  test("outlive a clean-up", () => {
    cleanup(index);
    expect(commonState(index)).not.toBeNull();
    expectExactCounts(index);
  });

  test("are due again when most of the passages are others", () => {
    const random = randomNumbers(8);
    for (let at = 0; at < 900; at += 100)
      writeDocuments(
        index,
        Array.from({ length: 100 }, (_, n) => noteOf(random, `${at + n}.md`)),
      );
    expect(areCommonTermsDue(index)).toBe(true);
    expectExactCounts(index);
    build(index, 2000);
    expectExactCounts(index);
    expect(commonState(index)?.removed).toBe(0);
  });

  test("count for nothing after a change that did not keep them up, until they are built again", () => {
    const path = join(temporaryFolder(), "index.sqlite");
    checkpoint(index);
    copyFileSync(index.path, path);
    const other = openIndex(path, { mode: "write" });
    const [id] = other.db.query("SELECT max(id) FROM memq_passages").values()[0] as [number];
    other.db.run(`DELETE FROM memq_fts WHERE rowid = ${id}; DELETE FROM memq_passages WHERE id = ${id}`);
    const terms = other.db.query("SELECT count(*) FROM memq_terms WHERE term = 'the' AND doc > 0").values();
    expect(terms).toEqual([[1]]);
    expect([commonState(other), commonTerms(other, asked).size, areCommonTermsDue(other)]).toEqual([null, 0, true]);
    writeDocuments(other, [draftOf("memory", "more.md", "the note")]);
    expect(commonState(other)).toBeNull();
    build(other);
    expectExactCounts(other);
    other.close();
  });

  test("are dropped when the index has become small", () => {
    const ids = index.db.query("SELECT id FROM documents WHERE active = 1 AND id > 40").values().flat() as number[];
    removeDocuments(index, ids);
    expect(areCommonTermsDue(index)).toBe(true);
    build(index, 2000);
    expect([areCommonTermsDue(index), commonState(index), commonCounts(index, [1]).length]).toEqual([false, null, 0]);
  });
});

test("an index without the tables answers, and a writer adds them", () => {
  const index = newIndex();
  writeDocuments(index, [draftOf("memory", "a.md", "alpha beta")]);
  index.db.run("DROP TABLE memq_common_terms; DROP TABLE memq_common_counts");
  index.close();
  const match = { any: [{ tokens: ["alpha"] }] };
  const reader = openIndex(index.path, { mode: "read" });
  expect([reader.state, keywordCandidates(reader, match, { collections: ["memory"], limit: 9 }).length]).toEqual([
    "ready",
    1,
  ]);
  expect(documentFrequencies(reader, ["alpha"]).get("alpha")).toBe(1);
  reader.close();
  const writer = openIndex(index.path, { mode: "write" });
  build(writer);
  expectExactCounts(writer);
  expect(commonTerms(writer, ["alpha"]).get("alpha")?.passages).toBe(1);
  writer.close();
});

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bestByCounts } from "../../src/search/common-words.ts";
import { type KeywordHit, keywordLeg } from "../../src/search/keyword.ts";
import type { LegScope } from "../../src/search/leg.ts";
import { parseQuery } from "../../src/search/query.ts";
import { analyse, indexTokenString } from "../../src/search/tokens.ts";
import { buildCommonTerms } from "../../src/store/common-building.ts";
import { commonCounts, commonState, commonTerms } from "../../src/store/common-terms.ts";
import { corpusStats } from "../../src/store/corpus-stats.ts";
import { tokensOf } from "../../src/store/keyword.ts";
import { checkpoint } from "../../src/store/maintenance.ts";
import { writeMeta } from "../../src/store/meta.ts";
import { openIndex } from "../../src/store/open.ts";
import type { Index } from "../../src/store/types.ts";
import { removeDocuments, writeDocuments } from "../../src/store/write-documents.ts";
import { draftOf, randomNumbers } from "../store/helpers.ts";

const folder = mkdtempSync(join(tmpdir(), "memq-common-"));
const COMMON = ["harbour", "lantern", "copper", "meadow", "orchard", "timber"];
const RARE = ["quill", "zephyr", "obsidian", "kestrel"];

/** A passage: each common word in about a third, of lengths from a few words to some hundreds. */
function passageOf(random: () => number, n: number): string {
  const filler = Array.from({ length: 3 + Math.floor(random() ** 3 * 150) }, () => `w${Math.floor(random() * 4000)}q`);
  const words = COMMON.flatMap((word, nth) =>
    random() < 0.18 + 0.06 * nth ? Array<string>(1 + Math.floor(random() ** 5 * 12)).fill(word) : [],
  );
  if (n % 150 === 0) words.push(RARE[(n / 150) % RARE.length]!);
  return [...filler, ...words].sort(() => random() - 0.5).join(" ");
}

/** 2,500 passages, the last hundred of them in a collection of their own, with the tables and without. */
let index: Index;
let bare: Index;
beforeAll(() => {
  const random = randomNumbers(5);
  const path = join(folder, "index.sqlite");
  const writer = openIndex(path, { mode: "write" });
  const drafts = Array.from({ length: 2600 }, (_, n) => {
    const draft = draftOf(n < 2500 ? "large" : "small", `${n}.md`, passageOf(random, n));
    for (const passage of draft.passages) passage.tokens = indexTokenString(passage.text);
    return draft;
  });
  const { ids } = writeDocuments(writer, drafts);
  for (const _ of buildCommonTerms(writer));
  removeDocuments(
    writer,
    ids.filter((_, n) => n % 26 === 7),
  );
  checkpoint(writer);
  copyFileSync(path, join(folder, "bare.sqlite"));
  writer.close();
  const other = openIndex(join(folder, "bare.sqlite"), { mode: "write" });
  writeMeta(other, "common_terms", null);
  other.close();
  index = openIndex(path, { mode: "read" });
  bare = openIndex(join(folder, "bare.sqlite"), { mode: "read" });
});
afterAll(() => {
  index.close();
  bare.close();
  rmSync(folder, { recursive: true, force: true });
});

function ask(of: Index, query: string, scope: Partial<LegScope> = {}): KeywordHit[] {
  return keywordLeg(of, parseQuery(query, "qmd"), { collections: ["large", "small"], limit: 100, ...scope });
}

/**
 * Which passages are scored closely is told by BM25 either way, but FTS5 takes words of more than half of the passages for worthless
 * and counts names to the length; and runs are weighed among those passages. So the best are nearly the same.
 */
function expectMuchTheSame(query: string, scope: Partial<LegScope> = {}): void {
  const [counted, walked] = [ask(index, query, scope), ask(bare, query, scope)];
  expect(counted.length).toBe(walked.length);
  const first = counted.slice(0, 10).map(({ passageId }) => passageId);
  const others = new Set(walked.slice(0, 15).map(({ passageId }) => passageId));
  expect(first.filter((id) => others.has(id)).length).toBeGreaterThanOrEqual(Math.min(8, first.length));
}

describe("common words are found by their counts", () => {
  test("which these indexes have and have not", () => {
    expect([commonState(index) === null, commonState(bare)]).toEqual([false, null]);
    expect(commonTerms(index, COMMON).size).toBe(COMMON.length);
  });

  test.each([
    ["harbour", false],
    ["timber", false],
    ["harbour timber", true],
    ["harbour lantern copper", true],
    ["harbour orchard meadow", false],
  ])("%s: the best are those of BM25, every word demanded: %p", (query, every) => {
    const terms = query.split(" ").map((word) => analyse(word)[0]!.term);
    const { passages, meanBody } = corpusStats(index);
    const kept = [...commonTerms(index, terms).values()];
    const weights = kept.map((one) => Math.log(1 + (passages - one.passages + 0.5) / (one.passages + 0.5)));
    const chunks = commonCounts(
      index,
      kept.map(({ number }) => number),
    );
    const found = bestByCounts(chunks, weights, { every, meanBody, limit: 60 });
    const ids = index.db.query("SELECT id FROM memq_passages").values().flat() as number[];
    const names = [...commonTerms(index, terms).keys()];
    const exact = [...tokensOf(index, ids)].flatMap(([passageId, { body, name, length }]) => {
      const tokens = `${body} ${name}`.split(" ");
      const counts = names.map((term) => tokens.filter((token) => token === term).length);
      if (every ? counts.includes(0) : counts.every((count) => count === 0)) return [];
      const norm = 1.2 * (0.25 + (0.75 * length) / meanBody);
      const score = counts.reduce((sum, count, nth) => sum + (weights[nth]! * 2.2 * count) / (count + norm), 0);
      return [{ passageId, score }];
    });
    const scores = new Map(exact.map(({ passageId, score }) => [passageId, score]));
    const best = exact.map(({ score }) => score).sort((a, b) => b - a);
    expect(found.length).toBe(Math.min(60, exact.length));
    // Lengths are known to 2.2 %.
    for (const [nth, { passageId, score }] of found.entries()) {
      expect(Math.abs(score / scores.get(passageId)! - 1)).toBeLessThan(0.025);
      expect(scores.get(passageId)! / best[nth]!).toBeGreaterThan(0.95);
    }
    const order = found.map((one, nth) => nth === 0 || found[nth - 1]!.score >= one.score);
    expect(order).not.toContain(false);
  });

  test.each([
    "harbour",
    "timber",
    "harbour timber",
    "lantern copper orchard",
    "harbour lantern copper meadow orchard timber",
  ])("%s: the best are those that FTS5 finds", (query) => {
    expect(ask(index, query).length).toBe(100);
    expectMuchTheSame(query);
  });

  test.each(["quill timber", "quill harbour lantern", "kestrel obsidian timber copper"])(
    "%s: passages with the rarer word come first, common ones fill up",
    (query) => {
      const hits = ask(index, query);
      expect(hits.length).toBe(100);
      const rarer = (of: Index): number[] =>
        ask(of, query)
          .map(({ passageId }) => passageId)
          .filter((id) => RARE.some((word) => query.includes(word) && tokensOf(of, [id]).get(id)!.body.includes(word)))
          .sort((a, b) => a - b);
      expect(rarer(index).length).toBeGreaterThan(0);
      expect(rarer(index)).toEqual(rarer(bare));
      expectMuchTheSame(query);
    },
  );

  test.each(["harbour", "harbour timber", "quill timber"])("%s: in one small collection of two", (query) => {
    const small = { collections: ["small"], limit: 40 };
    const ids = (of: Index): number[] => ask(of, query, small).map(({ passageId }) => passageId);
    const inSmall = index.db
      .query("SELECT p.id FROM memq_passages p JOIN documents d ON d.id = p.document_id WHERE d.collection = 'small'")
      .values()
      .flat();
    expect(ids(index).length).toBeGreaterThan(3);
    for (const id of ids(index)) expect(inSmall).toContain(id);
    expectMuchTheSame(query, small);
  });

  test("in some documents", () => {
    const documentIds = index.db
      .query("SELECT id FROM documents WHERE active = 1 AND id % 50 = 3")
      .values()
      .flat() as number[];
    const hits = ask(index, "harbour timber", { documentIds });
    expect(hits.length).toBeGreaterThan(3);
    for (const { documentId } of hits) expect(documentIds).toContain(documentId);
    expectMuchTheSame("harbour timber", { documentIds });
  });

  test.each(['"harbour timber"', "timber -harbour", '"timber copper" orchard'])(
    "%s: what is demanded and excluded is left to FTS5",
    (query) => expect(ask(index, query)).toEqual(ask(bare, query)),
  );

  test("passages that are gone are none", () => {
    const ids = ask(index, "timber", { limit: 400 }).map(({ passageId }) => passageId);
    expect(tokensOf(index, ids).size).toBe(ids.length);
  });
});

test("no token has a character that FTS5 would fold or split at", () => {
  // Where letters fold to ASCII, and what parts words.
  const ranges = [
    [0, 0x33ff],
    [0xf900, 0xffff],
    [0x1d400, 0x1d7ff],
    [0x1f100, 0x1f2ff],
  ] as const;
  const characters = ranges.flatMap(([from, to]) =>
    Array.from({ length: to - from + 1 }, (_, nth) => String.fromCodePoint(from + nth)),
  );
  for (const text of [characters.join(" "), characters.join("")])
    expect(analyse(text).filter(({ term }) => /[A-Z\0- \x7f]/.test(term))).toEqual([]);
});

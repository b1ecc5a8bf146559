import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { type FusionRule, fuse, levelTimes, reciprocalRankFusion, textScoreOf } from "../../src/search/fuse.ts";
import { splitAtMinimum } from "../../src/search/threshold.ts";

const relative: FusionRule = { fusion: "relative", textScore: "bm25", vectorWeight: 0.5, textWeight: 0.5 };
const weighted: FusionRule = { fusion: "weighted", textScore: "bm25", vectorWeight: 0.7, textWeight: 0.3 };
const rules = [relative, weighted, { ...weighted, textScore: "legacy" } as const];

describe("text score", () => {
  test("r / (1 + r), or the older formula that makes every match 1", () => {
    expect(textScoreOf(4, "bm25")).toBeCloseTo(0.8, 10);
    expect(textScoreOf(0, "bm25")).toBe(0);
    expect(textScoreOf(4, "legacy")).toBe(1);
    expect(textScoreOf(-1, "legacy")).toBeCloseTo(0.5, 10);
    expect(textScoreOf(Number.NaN, "bm25")).toBe(0.001);
  });
});

describe("fusion", () => {
  test("weighted: 0.7 · cosine + 0.3 · r/(1+r), a missing leg counts 0", () => {
    const [both, vector, keyword] = fuse(
      [
        { passageId: 1, bm25: 4, cosine: 0.5 },
        { passageId: 2, bm25: null, cosine: 0.5 },
        { passageId: 3, bm25: 4, cosine: null },
      ],
      weighted,
    );
    expect(both?.level).toBeCloseTo(0.59, 10);
    expect(vector?.level).toBeCloseTo(0.35, 10);
    expect(keyword?.level).toBeCloseTo(0.24, 10);
  });

  test("weighted: words that were asked for and found nowhere count 0 as well", () => {
    const found = [{ passageId: 1, bm25: null, cosine: 0.5 }];
    expect(fuse(found, { ...weighted, hybrid: true })[0]?.level).toBeCloseTo(0.35, 10);
    expect(fuse(found, { ...weighted, hybrid: false })[0]?.level).toBeCloseTo(0.5, 10);
    expect(fuse(found, { ...relative, hybrid: true })[0]?.level).toBeCloseTo(0.5, 10);
  });

  test("weights count by their share", () => {
    const candidates = [{ passageId: 1, bm25: 4, cosine: 0.5 }];
    const doubled = fuse(candidates, { ...weighted, vectorWeight: 1.4, textWeight: 0.6 });
    expect(doubled[0]?.level).toBeCloseTo(0.59, 10);
    const none = fuse(candidates, { ...relative, vectorWeight: 0, textWeight: 0 });
    expect(none[0]?.key).toBeCloseTo(0.75, 10);
  });

  test("relative: the key compares with the best of this query, the level stays absolute", () => {
    const [first, second] = fuse(
      [
        { passageId: 1, bm25: 9, cosine: 0.4 },
        { passageId: 2, bm25: 3, cosine: 0.6 },
      ],
      relative,
    );
    expect(first?.key).toBeCloseTo(0.7, 10);
    expect(first?.level).toBeCloseTo(0.7 * 0.9, 10);
    expect(second?.key).toBeCloseTo(0.5 * 0.6 + 0.5 / 3, 10);
  });

  test("one leg alone gives its own score", () => {
    expect(fuse([{ passageId: 1, bm25: 4, cosine: null }], relative)[0]).toMatchObject({ key: 1, level: 0.8 });
    expect(fuse([{ passageId: 1, bm25: 4, cosine: null }], weighted)[0]).toMatchObject({ key: 0.8, level: 0.8 });
    for (const rule of rules) {
      expect(fuse([{ passageId: 1, bm25: null, cosine: 0.6 }], rule)[0]).toMatchObject({ key: 0.6, level: 0.6 });
    }
  });

  test("levels are finite and within [0, 1]", () => {
    const legs = fc.record({
      passageId: fc.integer(),
      bm25: fc.option(fc.double({ min: 0, max: 60, noNaN: true })),
      cosine: fc.option(fc.double({ min: -1, max: 1, noNaN: true })),
    });
    fc.assert(
      fc.property(fc.array(legs), fc.constantFrom(...rules), (candidates, rule) => {
        for (const { key, level } of fuse(candidates, rule)) {
          expect(Number.isFinite(key)).toBe(true);
          expect(level >= 0 && level <= 1).toBe(true);
        }
      }),
    );
  });

  test("weighed by age and importance, levels stay in the order of the keys, and below 1", () => {
    const legs = fc.record({
      passageId: fc.integer(),
      bm25: fc.double({ min: 0.01, max: 60, noNaN: true }),
      cosine: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
    });
    const factors = fc.infiniteStream(fc.double({ min: 0.01, max: 1.5, noNaN: true }));
    fc.assert(
      fc.property(fc.array(legs), fc.constantFrom(...rules), fc.boolean(), factors, (found, rule, words, factorsOf) => {
        const candidates = words ? found.map((one) => ({ ...one, cosine: null })) : found;
        const rows = fuse(candidates, rule).map((row) => {
          const factor = factorsOf.next().value;
          return { merit: row.key * factor, level: levelTimes(row, factor) };
        });
        const levels = rows.toSorted((a, b) => b.merit - a.merit).map(({ level }) => level);
        levels.forEach((level, at) => expect(level).toBeLessThanOrEqual((levels[at - 1] ?? Infinity) + 1e-9));
        if (words && rule.fusion === "relative") for (const level of levels) expect(level).toBeLessThan(1);
      }),
    );
  });

  test("relative keeps the order of a single leg", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0.01, max: 60, noNaN: true })), (values) => {
        const fused = fuse(
          values.map((bm25, passageId) => ({ passageId, bm25, cosine: null })),
          relative,
        );
        const keys = fused.toSorted((a, b) => (b.bm25 ?? 0) - (a.bm25 ?? 0)).map(({ key }) => key);
        expect(keys).toEqual(keys.toSorted((a, b) => b - a));
      }),
    );
  });
});

test("reciprocal rank fusion: qmd's weights and bonuses", () => {
  const fused = reciprocalRankFusion([
    { ids: [7, 8], weight: 2 },
    { ids: [8, 9, 1, 2], weight: 1 },
  ]);
  expect(fused.map((row) => row.id)).toEqual([8, 7, 9, 1, 2]);
  expect(fused[0]?.score).toBeCloseTo(2 / 62 + 1 / 61 + 0.05, 12);
  expect(fused[1]?.score).toBeCloseTo(2 / 61 + 0.05, 12);
  expect(fused[2]?.score).toBeCloseTo(1 / 62 + 0.02, 12);
  expect(fused[4]?.score).toBeCloseTo(1 / 64, 12);
});

describe("minimum score", () => {
  const row = (score: number, fromKeyword: boolean, nameTier = 0, exact = false) => ({
    score,
    fromKeyword,
    nameTier,
    exact,
  });

  test("given in the call it is strict", () => {
    const { passing, fillers } = splitAtMinimum([row(0.5, true), row(0.2, true), row(0.1, false)], 0.35, true);
    expect([passing.length, fillers.length]).toEqual([1, 0]);
  });

  test("configured, keyword hits fill the places that are left, or all", () => {
    const rows = [row(0.5, true), row(0.3, false), row(0.2, true)];
    expect(splitAtMinimum(rows, 0.35, false)).toEqual({ passing: [row(0.5, true)], fillers: [row(0.2, true)] });
    expect(splitAtMinimum(rows, 0.9, false).fillers).toEqual([row(0.5, true), row(0.2, true)]);
  });

  test("what holds an exact word stays before looser matches that score above a configured minimum", () => {
    const rows = [row(0.2, true, 0, true), row(0.5, true)];
    expect(splitAtMinimum(rows, 0.35, false)).toEqual({ passing: rows, fillers: [] });
    expect(splitAtMinimum(rows, 0.35, true).passing).toEqual([row(0.5, true)]);
  });

  test("a file asked for by name passes", () => {
    expect(splitAtMinimum([row(0.1, false, 1)], 0.9, true).passing.length).toBe(1);
  });
});

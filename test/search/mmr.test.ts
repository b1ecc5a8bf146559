import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { diversify, tokenSet } from "../../src/search/mmr.ts";

type Row = { relevance: number; tokens: string };

function order(groups: Row[][], lambda: number): Row[] {
  return [...diversify(groups, { lambda, relevance: (row) => row.relevance, tokens: (row) => row.tokens })];
}

/** The definition, computed in full. */
function plainMmr(group: Row[], lambda: number): Row[] {
  const sets = new Map(group.map((row) => [row, new Set(row.tokens.split(" ").filter((token) => token !== ""))]));
  const similarity = (a: Row, b: Row): number => {
    const [left, right] = [sets.get(a)!, sets.get(b)!];
    const union = left.union(right).size;
    const jaccard = union === 0 ? 1 : left.intersection(right).size / union;
    return Math.max(0, (jaccard - 0.4) / 0.6);
  };
  const waiting = [...group];
  const out: Row[] = [];
  while (waiting.length > 0) {
    let best = 0;
    let bestValue = -Infinity;
    for (const [index, row] of waiting.entries()) {
      const alike = out.length === 0 ? 0 : Math.max(...out.map((other) => similarity(row, other)));
      const value = out.length === 0 ? -index : lambda * row.relevance - (1 - lambda) * alike;
      if (value > bestValue) [best, bestValue] = [index, value];
    }
    out.push(...waiting.splice(best, 1));
  }
  return out;
}

const rows = fc
  .array(
    fc.record({
      relevance: fc.integer({ min: 0, max: 64 }).map((n) => n / 64),
      tokens: fc
        .array(fc.constantFrom("a", "b", "c", "d", "e", "f", "g"), { maxLength: 8 })
        .map((tokens) => tokens.join(" ")),
    }),
    { maxLength: 24 },
  )
  .map((list) => list.toSorted((a, b) => b.relevance - a.relevance));

describe("maximal marginal relevance", () => {
  test("gives the order of the plain definition", () => {
    fc.assert(
      fc.property(rows, fc.constantFrom(0, 0.25, 0.5, 0.75), (group, lambda) => {
        expect(order([group], lambda)).toEqual(plainMmr(group, lambda));
      }),
    );
  });

  test("keeps every row, and the best one first", () => {
    fc.assert(
      fc.property(rows, rows, fc.double({ min: 0, max: 1, noNaN: true }), (first, second, lambda) => {
        const ordered = order([first, second], lambda);
        expect(ordered.length).toBe(first.length + second.length);
        expect(new Set(ordered)).toEqual(new Set([...first, ...second]));
        expect(ordered[0]).toBe([...first, ...second][0]);
        expect(new Set(ordered.slice(0, first.length))).toEqual(new Set(first));
      }),
    );
  });

  test("λ 1 changes nothing", () => {
    fc.assert(fc.property(rows, (group) => expect(order([group], 1)).toEqual(group)));
  });

  test("a near duplicate goes behind", () => {
    const group = [
      { relevance: 1, tokens: "router vlan iot" },
      { relevance: 0.95, tokens: "router vlan iot" },
      { relevance: 0.8, tokens: "dns guard" },
    ];
    expect(order([group], 0.7).map((row) => row.relevance)).toEqual([1, 0.8, 0.95]);
  });

  test("a token set holds each token once, wherever it stands", () => {
    expect(tokenSet("b a b  a c").length).toBe(3);
    expect(tokenSet("c a b")).toEqual(tokenSet(" a b c a "));
    expect(tokenSet("ab c")).not.toEqual(tokenSet("a bc"));
    expect(tokenSet("").length).toBe(0);
  });
});

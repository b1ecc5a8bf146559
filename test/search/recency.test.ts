import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { DAY_MS } from "../../src/notes/dates.ts";
import { importanceFactor } from "../../src/search/importance.ts";
import { dayInName, fadesFrom, recencyFactor } from "../../src/search/recency.ts";

const documented = { mode: "documented", halfLifeDays: 30, floor: 0, undated: "evergreen" } as const;

describe("the day in a name", () => {
  test.each([
    ["memory/2026-02-10.md", "2026-02-10"],
    ["2026-02-10.md", "2026-02-10"],
    ["memory/trips/2026-02-10-lisbon.md", "2026-02-10"],
    ["memory/a/b/2026-02-10_notes.md", "2026-02-10"],
    ["memory/2026-02-10.draft.md", "2026-02-10"],
    ["memory/2026-02-10", "2026-02-10"],
    ["memory/2024-02-29.md", "2024-02-29"],
    ["memory/2026-02-29.md", null],
    ["memory/2026-02-30.md", null],
    ["memory/2026-13-01.md", null],
    ["memory/2026-00-10.md", null],
    ["memory/2026-02-10x.md", null],
    ["memory/2026-02-101.md", null],
    ["memory/notes-2026-02-10.md", null],
    ["memory/2026-02-10/notes.md", null],
    ["MEMORY.md", null],
  ])("%s", (path, day) => {
    expect(dayInName(path)).toBe(day);
  });

  test("is read from any text without failing", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const day = dayInName(text);
        expect(day === null || text.includes(day)).toBe(true);
      }),
    );
  });
});

describe("recency", () => {
  const now = Date.parse("2026-02-10T00:00:00Z");
  const factorOf = (path: string, over: object = {}): number =>
    recencyFactor(fadesFrom({ path, mtimeMs: 0, date: null }, "memory", "evergreen"), now, { ...documented, ...over });

  test.each([
    ["memory/2026-02-10.md", 1],
    ["memory/2026-02-03.md", 0.8507],
    ["memory/2026-01-11.md", 0.5],
    ["memory/2025-11-12.md", 0.125],
    ["memory/2025-08-14.md", 0.0156],
    ["memory/2026-03-01.md", 1],
  ])("documented: %s", (path, factor) => {
    expect(factorOf(path)).toBeCloseTo(factor, 4);
  });

  test("an impossible date, long-term memory and undated notes do not fade", () => {
    for (const path of ["memory/2025-02-30.md", "MEMORY.md", "USER.md", "memory/network.md"])
      expect(factorOf(path)).toBe(1);
  });

  test("the nudge never takes more than what is above its floor", () => {
    expect(factorOf("memory/2001-01-01.md", { mode: "nudge", floor: 0.8 })).toBeCloseTo(0.8, 6);
    expect(factorOf("memory/2026-01-11.md", { mode: "nudge", floor: 0.8 })).toBeCloseTo(0.9, 6);
    expect(factorOf("memory/2001-01-01.md", { mode: "off" })).toBe(1);
  });

  test("undated notes fade by modification time only when asked for, curated files never", () => {
    const note = { path: "memory/network.md", mtimeMs: now - 30 * DAY_MS, date: null };
    expect(fadesFrom(note, "memory", "evergreen")).toBeNull();
    expect(fadesFrom(note, "memory", "mtime")).toBe(note.mtimeMs);
    expect(fadesFrom({ ...note, path: "MEMORY.md" }, "memory", "mtime")).toBeNull();
  });

  test("transcripts fade by their last message", () => {
    const copied = { path: "2026-02-01-x.jsonl", mtimeMs: now, date: "2026-01-11" };
    expect(fadesFrom(copied, "sessions", "evergreen")).toBe(now - 30 * DAY_MS);
    const sameDay = { ...copied, mtimeMs: now - 29.5 * DAY_MS };
    expect(fadesFrom(sameDay, "sessions", "evergreen")).toBe(sameDay.mtimeMs);
    expect(fadesFrom({ ...copied, date: null }, "sessions", "evergreen")).toBe(now);
  });

  test("is a finite factor in (0, 1], falling with age", () => {
    const days = fc.double({ min: -4000, max: 4000, noNaN: true });
    fc.assert(
      fc.property(
        days,
        days,
        fc.integer({ min: 1, max: 400 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (a, b, half, floor) => {
          const settings = { ...documented, halfLifeDays: half, floor };
          const [older, newer] = [Math.max(a, b), Math.min(a, b)].map((age) =>
            recencyFactor(now - age * DAY_MS, now, settings),
          );
          for (const factor of [older, newer]) expect(factor! >= floor && factor! <= 1 + 1e-12).toBe(true);
          expect(older!).toBeLessThanOrEqual(newer! + 1e-12);
        },
      ),
    );
  });
});

test("importance: 1 to 10 becomes 0.80 to 1.25, none is neutral", () => {
  for (const [given, factor] of [
    [null, 1],
    [1, 0.8],
    [5, 1],
    [8, 1.15],
    [10, 1.25],
    [99, 1.25],
    [0, 0.8],
  ] as const) {
    expect(importanceFactor(given)).toBeCloseTo(factor, 10);
  }
});

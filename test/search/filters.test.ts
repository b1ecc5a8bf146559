import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { MemqError } from "../../src/errors.ts";
import { isFiltering, parseTime, passesFilter } from "../../src/search/filters.ts";
import { DAY_MS } from "../../src/search/recency.ts";

const now = new Date(2026, 2, 31, 12).getTime();
const note = (path: string, over: object = {}) => ({ path, date: null, mtimeMs: now, tags: [], ...over });

describe("ends of a period", () => {
  test("days count whole, in this machine's zone", () => {
    expect(parseTime("2026-02-10", "since", now)).toBe(new Date(2026, 1, 10).getTime());
    expect(parseTime("2026-02-10", "until", now)).toBe(new Date(2026, 1, 11).getTime() - 1);
  });

  test("time stamps and lengths of time", () => {
    expect(parseTime("2026-02-10T14:15:00Z", "since", now)).toBe(Date.parse("2026-02-10T14:15:00Z"));
    expect(parseTime("2026-02-10 14:15", "since", now)).toBe(new Date(2026, 1, 10, 14, 15).getTime());
    expect(parseTime("7d", "since", now)).toBe(now - 7 * DAY_MS);
    expect(parseTime(" 2W ", "since", now)).toBe(now - 14 * DAY_MS);
    expect(parseTime("1m", "since", now)).toBe(new Date(2026, 1, 28, 12).getTime());
    expect(parseTime("3m", "since", now)).toBe(new Date(2025, 11, 31, 12).getTime());
  });

  test.each(["", "soon", "2026-02-30", "2026-02-30T10:00", "7y", "-3d", "2026-2-1", "d"])(
    "%p is refused with a hint",
    (text) => {
      try {
        parseTime(text, "since", now);
        expect.unreachable();
      } catch (error) {
        expect(error).toBeInstanceOf(MemqError);
        expect((error as MemqError).code).toBe("BAD_TIME");
        expect((error as MemqError).hint).toContain("7d");
      }
    },
  );

  test("any text gives a time or that error", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          expect(Number.isFinite(parseTime(text, "until", now))).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(MemqError);
        }
      }),
    );
  });
});

describe("notes in a period", () => {
  const day = (text: string) => ({ since: parseTime(text, "since", now), until: parseTime(text, "until", now) });

  test("a name's day counts first, then front matter's, then the modification time", () => {
    expect(passesFilter(note("memory/2026-02-10-x.md", { date: "2026-01-01" }), day("2026-02-10"))).toBe(true);
    expect(passesFilter(note("memory/x.md", { date: "2026-01-01" }), day("2026-01-01"))).toBe(true);
    expect(passesFilter(note("memory/x.md"), day("2026-03-31"))).toBe(true);
    expect(passesFilter(note("memory/x.md", { date: "2026-01-01" }), day("2026-03-31"))).toBe(false);
  });

  test("both ends count", () => {
    const period = { since: parseTime("2026-02-03", "since", now), until: parseTime("2026-02-10", "until", now) };
    const days = ["2026-02-02", "2026-02-03", "2026-02-10", "2026-02-11"];
    expect(days.map((name) => passesFilter(note(`memory/${name}.md`), period))).toEqual([false, true, true, false]);
  });

  test("every tag is demanded, whatever its case", () => {
    const tagged = note("memory/x.md", { tags: ["Work", "router"] });
    expect(passesFilter(tagged, { tags: ["work", "#Router"] })).toBe(true);
    expect(passesFilter(tagged, { tags: ["work", "home"] })).toBe(false);
    expect(isFiltering({ tags: [] })).toBe(false);
    expect(isFiltering({ until: 0 })).toBe(true);
  });
});

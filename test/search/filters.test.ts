import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { DAY_MS } from "../../src/notes/dates.ts";
import { MemqError } from "../../src/errors.ts";
import { filterTest, isFiltering, type NoteFilter, parseTime } from "../../src/search/filters.ts";

const now = new Date(2026, 2, 31, 12).getTime();
const passesFilter = (tested: ReturnType<typeof note>, filter: NoteFilter): boolean => filterTest(filter)(tested);
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

  test("days and stamps without an offset are those of the user's zone", () => {
    const day = (text: string, zone: string) =>
      (["since", "until"] as const).map((end) => new Date(parseTime(text, end, now, zone)).toISOString());
    expect(day("2026-02-10", "Asia/Tokyo")).toEqual(["2026-02-09T15:00:00.000Z", "2026-02-10T14:59:59.999Z"]);
    expect(day("2026-02-10", "Pacific/Kiritimati")).toEqual(["2026-02-09T10:00:00.000Z", "2026-02-10T09:59:59.999Z"]);
    // 23 hours on the last Sunday of March, 25 on that of October.
    expect(day("2026-03-29", "Europe/Vienna")).toEqual(["2026-03-28T23:00:00.000Z", "2026-03-29T21:59:59.999Z"]);
    expect(day("2026-10-25", "Europe/Vienna")).toEqual(["2026-10-24T22:00:00.000Z", "2026-10-25T22:59:59.999Z"]);
    // Clocks go from 23:59:59 to 1:00 here, so that the day begins at 1.
    expect(day("2026-04-24", "Africa/Cairo")[0]).toBe("2026-04-23T22:00:00.000Z");
    expect(day("2026-02-10T14:15", "Asia/Kolkata")[0]).toBe("2026-02-10T08:45:00.000Z");
    expect(day("2026-02-10T14:15:00+01:00", "Asia/Kolkata")[0]).toBe("2026-02-10T13:15:00.000Z");
    // Already April in Tokyo, and a month ago the first of March there.
    const late = Date.parse("2026-03-31T16:00:00Z");
    expect(parseTime("1m", "since", late, "Asia/Tokyo")).toBe(Date.parse("2026-02-28T16:00:00Z"));
  });

  test("without a zone they are what this machine's clock says, whichever zone that is", () => {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    fc.assert(
      fc.property(
        fc.date({ min: new Date("1990-01-01"), max: new Date("2040-01-01"), noInvalidDate: true }),
        (date) => {
          const day = date.toISOString().slice(0, 10);
          for (const end of ["since", "until"] as const)
            expect(parseTime(day, end, now)).toBe(parseTime(day, end, now, zone));
        },
      ),
    );
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

  test("an undated note counts by the day of the user's zone on which it was changed", () => {
    const timeZone = "Asia/Tokyo";
    const changed = note("memory/x.md", { mtimeMs: Date.parse("2026-02-10T16:00:00Z") });
    const on = (text: string) => ({
      timeZone,
      since: parseTime(text, "since", now, timeZone),
      until: parseTime(text, "until", now, timeZone),
    });
    expect([passesFilter(changed, on("2026-02-10")), passesFilter(changed, on("2026-02-11"))]).toEqual([false, true]);
    const dated = note("memory/2026-02-11.md");
    expect(["10", "11", "12"].map((text) => passesFilter(dated, on(`2026-02-${text}`)))).toEqual([false, true, false]);
  });

  test("a length of time beyond the calendar of four digits leaves nothing out", () => {
    expect(passesFilter(note("memory/2026-02-11.md"), { since: parseTime("99999m", "since", now) })).toBe(true);
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

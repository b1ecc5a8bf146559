import { describe, expect, test } from "bun:test";
import { assert, property, string } from "fast-check";
import { datesOf } from "../../src/search/query-dates.ts";
import { indexTokens } from "../../src/search/tokens.ts";
import { testHome } from "./homes.ts";

function found(text: string): string[] {
  return datesOf(text).terms.flatMap(({ term, finds }) => (finds ? [term] : []));
}

describe("dates of a question", () => {
  test("are read as people write them", () => {
    for (const text of ["27 June, 2023", "June 27th 2023", "27. Juni 2023", "el 27 de junio de 2023", "2023年6月27日"])
      expect(found(`what happened ${text}?`)).toEqual(["2023-06-27"]);
    expect(found("27.06.2023")).toEqual(["2023-06-27"]);
    expect(found("le 1er août 2023")).toEqual(["2023-08-01"]);
    expect(found("in August 2023")).toEqual(["2023-08"]);
    expect(found("from March 3, 2022 to Apr 2022")).toEqual(["2022-03-03", "2022-04"]);
  });

  test("are no dates without a year or a month", () => {
    for (const text of ["27 June", "the market 2023", "march 5000 miles", "version 1.2.2023x", "summer 2023"])
      expect(found(text)).toEqual([]);
    expect(found("31.02.2023")).toEqual([]);
  });

  test("bring the days of the week that follows, the less the later", () => {
    const days = datesOf("30 June 2023").terms;
    expect(days.map(({ term }) => term)).toEqual(
      ["2023-06-30", "2023-07-01", "2023-07-02", "2023-07-03"].concat([
        "2023-07-04",
        "2023-07-05",
        "2023-07-06",
        "2023-07-07",
      ]),
    );
    expect(days.map(({ weight }) => weight)).toEqual(days.map(({ weight }) => weight).toSorted((a, b) => b - a));
  });

  test("any text is read", () => {
    assert(property(string({ unit: "binary" }), (text) => datesOf(text).terms.length >= 0));
  });
});

test("thousands of blanks between the parts of a date are read at once", () => {
  const blanks = " ".repeat(4900);
  const began = performance.now();
  expect(found(`1${blanks}jan${blanks}x 2023`)).toEqual([]);
  expect(found(`1${blanks}jan${blanks}2023`)).toEqual(["2023-01-01"]);
  expect(performance.now() - began).toBeLessThan(1000);
});

test("a name that begins with a day holds the day and its month", () => {
  expect(indexTokens("memory/2026-11-28-router-upgrade.md")).toContain("2026-11-28");
  expect(indexTokens("memory/2026-11-28-router-upgrade.md")).toContain("2026-11");
});

test("the note of a day is found by its date in words", async () => {
  const line = (what: string): string => `# Log\n\nToday we went ${what} with Ann and had a good time.\n`;
  const home = await testHome({
    "memory/2023-06-20-sailing.md": line("out"),
    "memory/2023-06-28-swimming.md": line("out"),
    "memory/2023-09-27-climbing.md": line("out"),
  });
  const [first] = (await home.ask("Where did Ann go on 27 June, 2023?")).hits;
  expect(first?.path).toBe("memory/2023-06-28-swimming.md");
  home.close();
});

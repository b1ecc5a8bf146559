import { describe, expect, test } from "bun:test";
import { assert, property, string } from "fast-check";
import { datesOf } from "../../src/search/query-dates.ts";
import { indexTokens } from "../../src/search/tokens.ts";
import { testHome } from "./homes.ts";
import { workMeter } from "../work.ts";

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

  test("were no dates when they were written in digits, or in Swedish, Polish, Turkish, Russian, Ukrainian or Korean", () => {
    for (const text of ["27/06/2023", "06/27/2023", "27-06-2023", "2023/06/27", "2023.6.27", "20230627", "2023-06-27"])
      expect([text, found(text)]).toEqual([text, ["2023-06-27"]]);
    for (const text of ["27 juni 2023", "27 czerwca 2023", "27 Haziran 2023", "27 июня 2023", "27 червня 2023"])
      expect([text, found(text)]).toEqual([text, ["2023-06-27"]]);
    expect(found("2023년 6월 27일")).toEqual(["2023-06-27"]);
    expect(found("on 03/04/2026")).toEqual(["2026-04-03", "2026-03-04"]);
    for (const text of ["27/13/2023", "13/13/2023", "20231327", "2023-02-30"]) expect(found(text)).toEqual([]);
  });

  test("without a year are the last such day, and count less in the years around it", () => {
    const now = Date.parse("2026-05-20T12:00:00Z");
    for (const text of ["14 March", "March 14th", "on Sat 14 Mar,", "le 14 mars", "14. März", "3月14日", "3월 14일"]) {
      const days = datesOf(text, now).terms.filter(({ finds }) => finds);
      expect(days.toSorted((a, b) => b.weight - a.weight)[0]?.term).toBe("2026-03-14");
      expect(days.map(({ term }) => term)).toContain("2027-03-14");
    }
    const [best] = datesOf("27 June", now).terms.toSorted((a, b) => b.weight - a.weight);
    expect(best?.term).toBe("2025-06-27");
    for (const text of ["march 5000 miles", "what may I do in 3 days", "E1042 at 14:37:22 on mar", "30 feb", "Mark 12"])
      expect(datesOf(text, now).terms).toEqual([]);
  });

  test("in June, without a year, was no month: the notes of any other stood before its own", async () => {
    const now = Date.parse("2026-05-20T12:00:00Z");
    const best = (text: string): string | undefined =>
      datesOf(text, now).terms.toSorted((a, b) => b.weight - a.weight)[0]?.term;
    for (const text of [
      "in June",
      "what happened during June?",
      "last june",
      "im Juni",
      "en junio",
      "em junho",
      "6月に",
    ])
      expect([text, best(text)]).toEqual([text, "2025-06"]);
    for (const text of ["in May", "im Mai", "in March"])
      expect(best(text)).toBe(text === "in March" ? "2026-03" : "2026-05");
    for (const text of [
      "may I come in",
      "in set theory",
      "log in out",
      "the march",
      "in mar",
      "3个月",
      "in Junction",
      "in 5 may",
    ])
      expect([text, best(text)]).toEqual([text, text === "in 5 may" ? "2026-05-05" : undefined]);
    const note = "Lunch with Anna at the pier, then a long walk home.\n";
    const months = Array.from(
      { length: 24 },
      (_, at) => `memory/${2024 + Math.floor(at / 12)}-${String((at % 12) + 1).padStart(2, "0")}-14.md`,
    );
    const home = await testHome({
      ...Object.fromEntries(months.map((path) => [path, note])),
      "memory/2025-06-20.md":
        "Anna came for lunch. The roof was mended, the bicycle sold, the bank called about the card.\n",
    });
    const { hits } = await home.ask("lunch with Anna in June", { asOf: now, limit: 2 });
    home.close();
    expect(hits.map(({ path }) => path).toSorted()).toEqual(["memory/2025-06-14.md", "memory/2025-06-20.md"]);
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

test("days of January in Italian, August in Turkish and November in Ukrainian were none without a year", () => {
  const now = Date.parse("2026-05-20T12:00:00Z");
  for (const [text, day] of [
    ["14 gennaio", "2026-01-14"],
    ["14 Ağustos", "2025-08-14"],
    ["14 листопада", "2025-11-14"],
  ] as const)
    expect([text, datesOf(text, now).terms.some(({ term, finds }) => finds && term === day)]).toEqual([text, true]);
});

test("a day or month without its year was the last one in Greenwich, not where the user lives", () => {
  const lateInLondon = Date.parse("2026-12-31T23:30:00Z");
  const best = (text: string, zone: string): string | undefined =>
    datesOf(text, lateInLondon, zone).terms.toSorted((a, b) => b.weight - a.weight)[0]?.term;
  expect(best("in January", "Asia/Tokyo")).toBe("2027-01");
  expect(best("on 1 January", "Asia/Tokyo")).toBe("2027-01-01");
  expect(best("in January", "America/New_York")).toBe("2026-01");
});

test("months behind a preposition were none in Russian, Ukrainian and Polish, nor the Ukrainian September at all", () => {
  const now = Date.parse("2026-05-20T12:00:00Z");
  const best = (text: string): string | undefined =>
    datesOf(text, now).terms.toSorted((a, b) => b.weight - a.weight)[0]?.term;
  for (const text of ["что было в июне", "що було у червні", "co było w czerwcu"])
    expect([text, best(text)]).toEqual([text, "2025-06"]);
  expect(best("в мае")).toBe("2026-05");
  expect(best("we wrześniu")).toBe("2025-09");
  expect(best("14 вересня")).toBe("2025-09-14");
  for (const text of ["we may come", "life in Mars", "last Mars mission"])
    expect([text, best(text)]).toEqual([text, undefined]);
});

test("a version or an address of four numbers was read as a day", () => {
  for (const text of ["10.11.2023.5", "1.10.11.2023", "2026.3.14.1", "7.2026.3.14"])
    expect([text, found(text)]).toEqual([text, []]);
  for (const text of ["due 10.11.2023.", "10.11.2023, 5", "2023-11-10.md", "2023-11-10-2"])
    expect([text, found(text)]).toEqual([text, ["2023-11-10"]]);
});

test("thousands of blanks between the parts of a date are read at once", () => {
  const blanks = " ".repeat(4900);
  const spent = workMeter();
  expect(found(`1${blanks}jan${blanks}x 2023`)).toEqual([]);
  expect(found(`1${blanks}jan${blanks}2023`)).toEqual(["2023-01-01"]);
  expect(spent()).toBeLessThan(1000);
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

const daily = {
  "memory/2026-03-14.md": "Baked a pie with Aoife and bought tickets.",
  "memory/2026-03-17.md": "Bought a second balancer, due 2026-03-24 and 2026-03-31.",
  "memory/2026-05-14.md": "Bought tickets for the ferry.",
  "memory/garden.md": "Tomatoes sown on 1 March. Martes: arreglar la cocina.",
  "memory/money.md": "Tax return handed in on 11.02.2026.",
};

test("the note of a day was not found by the day in another form, or stood behind another that names the month", async () => {
  const home = await testHome(daily);
  for (const day of [
    "14/03/2026",
    "2026/03/14",
    "20260314",
    "14 марта 2026",
    "le 14 mars 2026",
    "Mar 14, 2026",
    "what happened on 14 March 2026?",
  ])
    expect([day, (await home.ask(day)).hits[0]?.path]).toEqual([day, "memory/2026-03-14.md"]);
  expect((await home.ask("what was handed in on 2026-02-11")).hits[0]?.path).toBe("memory/money.md");
  expect((await home.ask("11 February 2026")).hits[0]?.path).toBe("memory/money.md");
  home.close();
});

test("the note of a day was not found by the day without its year", async () => {
  const year = new Date().getUTCFullYear() - 1;
  const home = await testHome({ [`memory/${year}-03-14.md`]: "Baked a pie.", "memory/garden.md": "Sown on 1 March." });
  expect((await home.ask("what did we do on March 14th")).hits[0]?.path).toBe(`memory/${year}-03-14.md`);
  home.close();
});

test("a day without its year was the last one before today, whatever moment counted as now", async () => {
  const home = await testHome({ "memory/2019-03-14.md": "Baked a pie.", "memory/2018-03-14.md": "Baked a cake." });
  for (const [asOf, path] of [
    ["2019-05-01", "memory/2019-03-14.md"],
    ["2019-02-01", "memory/2018-03-14.md"],
  ] as const)
    expect((await home.ask("what was baked on March 14th", { asOf: Date.parse(asOf) })).hits[0]?.path).toBe(path);
  home.close();
});

test("the passages of a day named as its note is stood behind shorter ones of the days after it", async () => {
  const long =
    "We walked along the river and talked of this and that until it was dark and everybody went home. ".repeat(6);
  const days = Array.from({ length: 8 }, (_, at) => `memory/2026-03-1${at + 1}.md`);
  const home = await testHome(Object.fromEntries(days.map((path, at) => [path, at === 3 ? long : "Short."])));
  for (const query of ["2026-03-14", "what happened on 2026-03-14?"])
    expect((await home.ask(query)).hits[0]?.path).toBe("memory/2026-03-14.md");
  home.close();
});

import { afterAll, expect, test } from "bun:test";
import { assert, property, string } from "fast-check";
import { datesOf } from "../../src/search/query-dates.ts";
import { type TestHome, testHome } from "./homes.ts";

const homes: TestHome[] = [];
afterAll(() => homes.forEach((home) => home.close()));

/** A Tuesday. */
const now = Date.parse("2026-12-01T12:00:00Z");

/** The days that a question asks for, as `2026-11-28` or of several as `2026-11-23…29`. */
function asked(question: string, at = now): string {
  const days = datesOf(question, at, "UTC").terms.flatMap(({ term, finds }) => (finds ? [term] : []));
  return days.length < 2 ? days.join("") : `${days[0]}…${days.at(-1)!.slice(-2)}`;
}

test("days that a question counts from today were words: the notes of any other day stood before theirs", () => {
  for (const question of [
    "yesterday's standup",
    "was war gestern",
    "la reunión de ayer",
    "la réunion d'hier",
    "昨天的会议",
  ])
    expect([question, asked(question)]).toEqual([question, "2026-11-30"]);
  for (const question of ["что было вчера", "ماذا حدث أمس", "昨日の会議", "어제 회의"])
    expect([question, asked(question)]).toEqual([question, "2026-11-30"]);
  for (const question of [
    "last Tuesday's standup",
    "letzten Dienstag",
    "el martes pasado",
    "mardi dernier",
    "в прошлый вторник",
  ])
    expect([question, asked(question)]).toEqual([question, "2026-11-24"]);
  for (const question of ["last week", "letzte Woche", "la semana pasada", "la semaine dernière", "上周", "先週"])
    expect([question, asked(question)]).toEqual([question, "2026-11-23…29"]);
  expect(asked("last Monday")).toBe("2026-11-30");
  expect(asked("上周二说了什么")).toBe("2026-11-24");
  expect(asked("the day before yesterday")).toBe("2026-11-29");
  expect(asked("three days ago")).toBe("2026-11-28");
  expect(asked("vor 3 Tagen")).toBe("2026-11-28");
  expect(asked("hace dos semanas")).toBe("2026-11-14…20");
  expect(asked("last month")).toBe("2026-11");
  expect(asked("what did we do last weekend")).toBe("2026-11-28…29");
  expect(asked("last weekend", Date.parse("2026-11-29T12:00:00Z"))).toBe("2026-11-21…22");
});

test("what is last, past or here is no day", () => {
  const questions = [
    "last week of June",
    "the last meeting",
    "how long does it last",
    "past due",
    "was ist hier los",
    "two days",
  ];
  for (const question of [...questions, "the last Monday of May", "上面的周报", "vor zwei", "Tuesday's standup"])
    expect([question, asked(question)]).toEqual([question, ""]);
});

test("yesterday ends at midnight where the user lives", () => {
  const lateInLisbon = Date.parse("2026-12-01T23:30:00Z");
  const found = (zone: string): string[] =>
    datesOf("yesterday", lateInLisbon, zone).terms.flatMap(({ term, finds }) => (finds ? [term] : []));
  expect(found("Europe/Lisbon")).toEqual(["2026-11-30"]);
  expect(found("Asia/Tokyo")).toEqual(["2026-12-01"]);
});

test("nothing that is typed throws, and every day is one of the calendar", () => {
  assert(
    property(string(), (typed) => {
      const { terms } = datesOf(`${typed} 9 days ago last ${typed} vor 99 Wochen`, now, "UTC");
      for (const { term } of terms) expect(term).toMatch(/^\d{4}-\d\d(?:-\d\d)?$|^\d+[./]\d+[./]\d+$/);
    }),
  );
});

test("the note of last Tuesday stands before those that hold the question's words more often", async () => {
  const standup = "Standup: Jonas works on the import, nothing blocked. Another standup on Friday.\n";
  const days = Array.from({ length: 30 }, (_, at) => `memory/2026-11-${String(at + 1).padStart(2, "0")}.md`);
  const home = await testHome({
    ...Object.fromEntries(days.map((day) => [day, standup])),
    "memory/2026-11-24.md":
      "Standup: Marte is blocked by the missing numbers. Bought milk, fixed the bicycle, called the bank.\n",
  });
  homes.push(home);
  const { hits } = await home.ask("what was said in last Tuesday's standup", { asOf: now, timeZone: "UTC" });
  expect(hits[0]?.path).toBe("memory/2026-11-24.md");
});

test("names, idioms and other words that hold one of a day were days", () => {
  const questions = [
    "open yesterday.md",
    "the last monday.com export",
    "目前天气怎么样",
    "以上周期",
    "早上周会",
    "线上周报",
  ];
  for (const question of [...questions, "2023天前"]) expect([question, asked(question)]).toEqual([question, ""]);
  expect(asked("11月3日前", now)).not.toContain("2026-11-28");
});

test("days were words with a curly apostrophe, a particle or without a hamza", () => {
  for (const question of ["la réunion d’hier", "어제의 회의", "어제는 뭐 했어", "ماذا حدث امس"])
    expect([question, asked(question)]).toEqual([question, "2026-11-30"]);
});

test("the past week and month ended before this one began", () => {
  expect(asked("what happened in the past week")).toBe("2026-11-24…01");
  expect(asked("over the past month")).toBe("2026-11…12");
});

test("a quoted word was a day", async () => {
  const home = await testHome({
    "memory/2026-11-30.md": "Who sang at the party? Nora did.",
    "memory/songs.md": "Yesterday: Paul sang it, in 1965.",
  });
  homes.push(home);
  const ask = { asOf: now, timeZone: "UTC", explain: true };
  const terms = async (question: string): Promise<number> => (await home.ask(question, ask)).hits.length;
  expect(await terms('who wrote "yesterday"')).toBe(1);
  expect(await terms('what was "written" yesterday')).toBe(2);
});

test("a note that lists every day stood before those of last week", async () => {
  const days = Array.from({ length: 30 }, (_, at) => `2026-11-${String(at + 1).padStart(2, "0")}`);
  const home = await testHome({
    ...Object.fromEntries(
      days.map((day) => [`memory/${day}.md`, "Standup with Jonas. Talked of the import and milk.\n"]),
    ),
    "memory/index.md": `# Index\n\n${days
      .slice(-14)
      .map((day) => `- [[${day}]] standup`)
      .join("\n")}\n`,
  });
  homes.push(home);
  const { hits } = await home.ask("what was said at the standup last week", { asOf: now, timeZone: "UTC" });
  expect(hits[0]?.path).toMatch(/^memory\/2026-11-2[3-9]\.md$/);
});

test("the days of last week outweighed the identifier that was looked up", async () => {
  const days = Array.from({ length: 30 }, (_, at) => `memory/2026-11-${String(at + 1).padStart(2, "0")}.md`);
  const home = await testHome({
    ...Object.fromEntries(days.map((day) => [day, "Gateway restarted.\n"])),
    "memory/long.md": `${"Of this and that was talked at length and nothing came of it. ".repeat(16)}Then INC-2041.\n`,
  });
  homes.push(home);
  const { hits } = await home.ask("gateway INC-2041 last week", { asOf: now, timeZone: "UTC" });
  expect(hits[0]?.path).toBe("memory/long.md");
});

test("a French yesterday by itself was no day, and last week ended nine days ago where weeks begin on Sunday", () => {
  for (const question of ["qu'est-ce que j'ai fait hier", "hier soir"])
    expect([question, asked(question)]).toEqual([question, "2026-11-30"]);
  for (const question of ["was ist hier los", "wer wohnt hier", "staat het hier"])
    expect([question, asked(question)]).toEqual([question, ""]);
  const sunday = Date.parse("2026-11-29T12:00:00Z");
  expect(asked("last week", sunday)).toBe("2026-11-16…28");
  expect(asked("letzte Woche", sunday)).toBe("2026-11-16…22");
});

test("June of last year was the last June", () => {
  for (const question of [
    "in June last year",
    "last year in June",
    "im Juni letzten Jahres",
    "en junio del año pasado",
    "去年6月",
    "в июне прошлого года",
  ])
    expect([question, asked(question, Date.parse("2026-12-01T12:00:00Z"))]).toEqual([question, "2025-06"]);
  expect(asked("on 27 June last year")).toContain("2025-06-27");
  expect(asked("what changed since last year")).toBe("");
});

test("a month of many notes kept away what holds all the words of the question", async () => {
  const days = Array.from(
    { length: 240 },
    (_, at) => `memory/2026-11-${String((at % 30) + 1).padStart(2, "0")}-${at}.md`,
  );
  const others = Array.from({ length: 1000 }, (_, at) => [
    `memory/2024-03-${String((at % 28) + 1).padStart(2, "0")}-${at}.md`,
    at % 3 === 0 ? `Saw Jonas ${at}.` : at % 3 === 1 ? `Lunch alone ${at}.` : `Soup again ${at}.`,
  ]);
  const home = await testHome({
    ...Object.fromEntries(others),
    ...Object.fromEntries(days.map((day, at) => [day, `Milk and bread ${at}.`])),
    "memory/2026-12-01.md": "With Jonas there was a lunch at the pier, and it was he who paid for all that was eaten.",
  });
  homes.push(home);
  const { hits } = await home.ask("lunch with Jonas last month", { asOf: now, timeZone: "UTC" });
  expect(hits[0]?.path).toBe("memory/2026-12-01.md");
});

test("beside a day, a word stood no more for the compound that it ends", async () => {
  const home = await testHome({
    "memory/house.md": "Der Kellerschlüssel hängt hinter der Tür.",
    "memory/tea.md": "Tee.",
  });
  homes.push(home);
  const ask = { asOf: now, timeZone: "UTC" };
  for (const question of ["Schlüssel", "Schlüssel gestern", "Schlüssel letzte Woche"])
    expect([question, (await home.ask(question, ask)).hits[0]?.path]).toEqual([question, "memory/house.md"]);
});

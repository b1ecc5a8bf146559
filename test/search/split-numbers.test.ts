import { afterAll, beforeAll, expect, test } from "bun:test";
import { type TestHome, testHome } from "./homes.ts";
import { workMeter } from "../work.ts";

let home: TestHome;
beforeAll(async () => {
  home = await testHome({
    "memory/priya.md": "Priya, landlord: +49 170 5551234.",
    "memory/garage.md": "The garage answers at +44 113 496 0182 from Tuesday on.",
    "memory/bank.md": "IBAN DE44 5001 0517 5407 3249 31, joint account, limit 2000.",
    "memory/health.md": "NHS number 485 777 3456; the card ends in 4417.",
    "memory/other.md":
      "Rooms 113, 182, 170 and 49 are closed; 496 guests, 0182 is the code, 777 seats, 3456 steps, 485 beds.",
  });
});
afterAll(() => home.close());

test.each([
  ["+491705551234", "memory/priya.md"],
  ["who is 01705551234?", "memory/priya.md"],
  ["0170/555 12 34", "memory/priya.md"],
  ["+441134960182", "memory/garage.md"],
  ["0113 4960182", "memory/garage.md"],
  ["DE44500105175407324931", "memory/bank.md"],
  ["4857773456", "memory/health.md"],
])("a number that is grouped otherwise in the note was not found: %s", async (query, path) => {
  expect((await home.ask(query)).hits[0]?.path).toBe(path);
});

test("a number of groups that do not stand together is none", async () => {
  for (const query of ["4853456777", "170113182496", "44174417", "20002000"])
    expect([query, (await home.ask(query)).hits.length]).toEqual([query, 0]);
});

test("a number found passages with one of its groups, or another's number behind another country's code", async () => {
  expect((await home.ask("+491705551234")).hits.map(({ path }) => path)).toEqual(["memory/priya.md"]);
  for (const query of ["+481705551234", "+491705551235", "12491705551234", "4857773457"])
    expect([query, (await home.ask(query)).hits.length]).toEqual([query, 0]);
});

test("an identifier was found in a time and a price, and a price, a time and an address in an identifier", async () => {
  const all = await testHome({
    "memory/log.md": "Restarted at 14:37:22 and paid 1249.99.",
    "memory/ids.md": "Orders 12499988, 19216817811 and 14372201; part 12345678.",
  });
  for (const query of ["143722", "124999"]) expect([query, (await all.ask(query)).hits.length]).toEqual([query, 0]);
  for (const query of ["124999.88", "192.168.178.11", "14:37:2201", "1.2345678"])
    expect([query, (await all.ask(query)).hits.filter(({ path }) => path === "memory/ids.md").length]).toEqual([
      query,
      0,
    ]);
  expect((await all.ask("1234 5678")).hits[0]?.path).toBe("memory/ids.md");
  expect((await all.ask("(1234) 5678")).hits[0]?.path).toBe("memory/ids.md");
  all.close();
});

test("the snippet of a number in groups shows the line that it stands in", async () => {
  const lines = Array.from({ length: 60 }, (_, at) => `Line ${at} tells of the weather and of nothing else at all.`);
  lines[50] = "Call +49 170 5551234 about it.";
  const all = await testHome({ "memory/long.md": lines.join("\n") });
  expect((await all.ask("+491705551234")).hits[0]?.snippet.text).toContain("5551234");
  all.close();
});

test("a number whose groups are all held but its last digits takes no time", async () => {
  const digits = Array.from({ length: 100 }, (_, at) => String(at).padStart(2, "0"));
  const all = await testHome({ "memory/all.md": [...digits, ...digits.map((two) => two + two)].join(" a ") });
  const spent = workMeter();
  await all.ask(`${"11".repeat(18)}x`);
  await all.ask(`${"11".repeat(18)}1 ${"22".repeat(19)}2`);
  expect(spent()).toBeLessThan(1000);
  all.close();
});

test("a pasted run of thousands of digits and numbers is read at once", async () => {
  const spent = workMeter();
  await home.ask(`${"49170".repeat(900)} ${"49 170 ".repeat(700)}`);
  await home.ask(Array.from({ length: 500 }, (_, at) => `${4_917_055 + at}${1_000_000 + at}`).join(" "));
  expect(spent()).toBeLessThan(2000);
});

import { afterAll, expect, test } from "bun:test";
import { type TestHome, testHome } from "./homes.ts";
import { workMeter } from "../work.ts";

const homes: TestHome[] = [];
const opened = async (...home: Parameters<typeof testHome>): Promise<TestHome> => {
  homes.push(await testHome(...home));
  return homes.at(-1)!;
};
afterAll(() => homes.forEach((home) => home.close()));

const MEMORY = `# Memory
## Wi-Fi
- Network name: fjordnet
- Password: tangerine-otter

## Bank
- Password hint: the boat of the grandfather
- Adviser: Mrs Kleinert

## Birthdays
- Nora: 3 May
- Willi: 30 December
`;

const firstLine = async (home: TestHome, query: string): Promise<number | undefined> => {
  const { hits } = await home.ask(query);
  return hits[0]?.startLine;
};

test("an entry of MEMORY.md is found by its own words and those of the heading that it stands under, not the bare heading", async () => {
  const home = await opened({
    "MEMORY.md": MEMORY,
    "memory/2026-03-02.md": "Nora called about the password of the Wi-Fi.",
  });
  const memory = await home.ask("Nora's birthday");
  expect(memory.hits[0]).toMatchObject({ path: "MEMORY.md", startLine: 11 });
  expect(await firstLine(home, "bank password")).toBe(7);
  expect(await firstLine(home, "who is our adviser at the bank")).toBe(8);
});

test("who asks for a heading alone gets what stands under it", async () => {
  const home = await opened({ "MEMORY.md": MEMORY });
  const { hits } = await home.ask("birthdays");
  expect(hits.map(({ startLine }) => startLine)).toEqual([11, 12]);
});

test("a heading with nothing under it is still found", async () => {
  const home = await opened({ "MEMORY.md": "# Memory\n\n## Insurance: none needed\n\n## Car\n- Oil: 5W-30\n" });
  const { hits } = await home.ask("insurance");
  expect(hits.map(({ startLine }) => startLine)).toEqual([3]);
});

test("the end of a long section is found by its heading", async () => {
  const filler = "We looked around first and took our time, as everybody wrote in the guest book.\n".repeat(30);
  const guide = `# Cabin\n\n${filler}\n## Snowmobile\n\n${filler}\nThe key hangs behind the calendar.\n`;
  const home = await opened({
    "memory/cabin.md": guide,
    "memory/auto.md": `# Car\n\n${filler}\nThe key is in the drawer.\n`,
  });
  const { hits } = await home.ask("snowmobile key");
  const { body, pos, length } = hits[0]!;
  expect(body.slice(pos, pos + length)).toContain("behind the calendar");
});

test("a heading of many beginnings of comments took minutes", async () => {
  const spent = workMeter();
  await opened({ "memory/made.md": `# Made\n\n## ${"<!--".repeat(50_000)}\n\nThe lantern hangs in the attic.\n` });
  expect(spent()).toBeLessThan(2000);
});

test("what a long heading over entries said at its end was in no passage", async () => {
  const long = `Agreed with the neighbours ${"and talked about at length ".repeat(8)}before the hedge was planted`;
  const home = await opened({ "MEMORY.md": `# Memory\n\n## ${long}\n- The costs are shared.\n` });
  expect(await firstLine(home, "hedge planted")).toBe(3);
});

test("what a comment in a heading over entries said was in no passage", async () => {
  const home = await opened({ "MEMORY.md": "# Memory\n\n## Hedge <!-- see the notary -->\n- The costs are shared.\n" });
  expect(await firstLine(home, "notary")).toBe(3);
});

test("code within a line, marks within a block and a block in a list hid every heading behind them", async () => {
  for (const code of ["```npm start``` runs it", "````\n```\n````", "~~~\n```\n~~~", "- ```\n  npm start\n  ```"]) {
    const home = await opened({
      "MEMORY.md": `# Memory\n\n${code}\n\n## Bank\n- Adviser: Mrs Kleinert\n\n## Car\n- Oil: 5W-30\n`,
    });
    const { hits } = await home.ask("bank");
    const found = hits.map(({ body, pos, length }) => body.slice(pos, pos + length).trim());
    expect([code, found]).toEqual([code, ["- Adviser: Mrs Kleinert"]]);
  }
});

test("a comment of front matter was a heading of all that follows", async () => {
  const filler = "We looked around first and took our time, as everybody wrote in the guest book.\n".repeat(60);
  const home = await opened({
    "memory/made.md": `---\n### snowmobile\ndate: 2026-03-02\n---\n${filler}`,
  });
  const { hits } = await home.ask("snowmobile");
  expect(hits.map(({ path, startLine }) => [path, startLine])).toEqual([["memory/made.md", 1]]);
});

test("an entry that was edited since the last sync was shown as its bare heading, or not at all", async () => {
  const home = await opened({ "MEMORY.md": MEMORY });
  home.write({ "MEMORY.md": MEMORY.replace("tangerine-otter", "badger").replace("Nora: 3 May", "Nora: 4 May") });
  expect((await home.ask("wi-fi password")).hits[0]?.text).toContain("badger");
  const { hits } = await home.ask("birthdays");
  expect(hits.map(({ startLine }) => startLine).toSorted((a, b) => a - b)).toEqual([11, 12]);
});

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { deepSearch } from "../../src/search/deep.ts";
import { requestOf, type TestHome, testHome } from "./homes.ts";

const notes = {
  "memory/landlord.md": "Priya is the landlord; she wants the parquet without scratches.",
  "memory/health.md": "Aoife must not take penicillin. My meniscus was operated on in Hyderabad.",
  "memory/costs.md": "Die Nebenkostenabrechnung kommt im November.",
  "memory/school.md": "Das Notfallmedikament für Max liegt am Bärenplatz, drei Straßen von der Grundschule.",
  "memory/lease.md": "Die Frist für eine Kündigung sind drei Monate; die Reifen haben die Größe 205.",
  "memory/hem.md": "Tvättstugan bokas på måndagar.",
  "memory/praca.md": "Hasło do drukarki zna Wojtek.",
  "memory/huis.md": "De huurovereenkomst loopt tot maart; de achterband was lek.",
  "memory/robota.md": "Пароль від принтера знає Їжакевич; скрипці сто років.",
  "memory/avoda.md": "החשבוניות נשלחות אל המשרד.",
  "memory/doctor.md": "The paediatrician prescribed oestrogen.",
  "memory/garden.md": "Tomatoes were sown in the garden by Gardenia, who buys cables.",
};

let home: TestHome;
beforeAll(async () => {
  home = await testHome(notes);
});
afterAll(() => home.close());

async function firstFor(query: string): Promise<string | undefined> {
  return (await home.ask(query)).hits[0]?.path;
}

describe("a word that no passage holds", () => {
  test("was found nothing for when one letter of it was mistaken", async () => {
    for (const word of ["landlrod", "landlordd", "lanlord", "landlort"])
      expect([word, await firstFor(word)]).toEqual([word, "memory/landlord.md"]);
    for (const word of ["penicilin", "meniskus", "Hyderabd"])
      expect([word, await firstFor(word)]).toEqual([word, "memory/health.md"]);
    expect(await firstFor("who has the parqet?")).toBe("memory/landlord.md");
  });

  test("was found nothing for when it was written without its umlauts", async () => {
    expect(await firstFor("Baerenplatz")).toBe("memory/school.md");
    expect(await firstFor("Kuendigung")).toBe("memory/lease.md");
  });

  test("was found nothing for when it begins with e and not with the British ae or oe", async () => {
    expect(await firstFor("pediatrician")).toBe("memory/doctor.md");
    expect(await firstFor("estrogen")).toBe("memory/doctor.md");
  });

  test("was found nothing for when the note has its parts, or a compound that it ends", async () => {
    expect(await firstFor("Kündigungsfrist")).toBe("memory/lease.md");
    expect(await firstFor("Reifengröße")).toBe("memory/lease.md");
    expect(await firstFor("Abrechnung")).toBe("memory/costs.md");
    expect(await firstFor("lekke band")).toBe("memory/huis.md");
  });

  test("was found nothing for when the stemmer does not know its inflection", async () => {
    expect(await firstFor("huurovereenkomsten")).toBe("memory/huis.md");
    expect(await firstFor("tvättstugor")).toBe("memory/hem.md");
    expect(await firstFor("drukarek")).toBe("memory/praca.md");
    expect(await firstFor("חשבוניות")).toBe("memory/avoda.md");
  });

  test("is nothing else when it is short, an identifier, or like no word", async () => {
    for (const query of ["sawn", "zebra", "potatoes", "E1042"]) expect(await firstFor(query)).toBeUndefined();
  });
});

test("a word that the index knows is not taken for another that is like it", async () => {
  const { hits } = await home.ask("garden");
  expect(hits.map(({ path }) => path)).toEqual(["memory/garden.md"]);
  const both = await testHome({ "memory/a.md": "The landlord called.", "memory/b.md": "The landlort called." });
  expect((await both.ask("landlord")).hits.map(({ path }) => path)).toEqual(["memory/a.md"]);
  both.close();
});

test("what is spelt as asked stands before what it may mean", async () => {
  const { hits } = await home.ask("penicilin landlord");
  expect(hits.map(({ path }) => path)).toEqual(["memory/landlord.md", "memory/health.md"]);
});

test("a word found those that only end like it, or only begin like it and are short", async () => {
  const all = await testHome({
    "memory/a.md": "The train left; chocolate and brain food; museums.",
    "memory/b.md": "Marco called about the proxy.",
    "memory/c.md": "Der Gartenzaun ist neu; the Ment family.",
  });
  for (const word of ["rain", "strain", "ring", "seum", "Marci", "proxa", "fundamentally"])
    expect([word, (await all.ask(word)).hits.length]).toEqual([word, 0]);
  expect((await all.ask("Zaun")).hits[0]?.path).toBe("memory/c.md");
  expect((await all.ask("Lattenzaun")).hits).toEqual([]);
  all.close();
});

test("a quoted word stood for others that are like it", async () => {
  for (const query of ['"landlrod"', '"Abrechnung"']) expect((await home.ask(query)).hits).toEqual([]);
  expect((await home.ask('"landlrod" penicilin')).hits.map(({ path }) => path)).toEqual(["memory/health.md"]);
  const profile = { ...home.home.search, grammar: "qmd" as const };
  for (const query of ['"landlrod" parquet', "landlrod -parquet", "penicilin -Hyderabad"])
    expect([query, (await home.ask(query, { profile })).hits.length]).toEqual([query, 0]);
});

test("the letters of a number's name stood for words that begin with them or are like them", async () => {
  const all = await testHome({
    "memory/a.md": "The delivery of the invoices was late.",
    "memory/b.md": "Tickets: NOTE-4712, BUDGET-2025-17.",
  });
  for (const query of ["DE44500105175407324931", "INVIOCE-4711", "BUGDET-77"])
    expect([query, (await all.ask(query)).hits.length]).toEqual([query, 0]);
  all.close();
});

test("a passage that holds several words that one may mean counted as more than one that holds the word", async () => {
  const apart = " and then they went on along the river to a place that nobody of us had ever seen before, as far as ";
  const all = await testHome({
    "memory/like.md": ["Hartmann", "Harzmann", "Hardmann", "Harlmann"].join(apart),
    "memory/word.md": ["Konrad", "somebody", "nobody", "anybody"].join(apart),
  });
  const [like] = (await all.ask("Harkmann")).hits;
  const [word] = (await all.ask("Konrad")).hits;
  expect(like?.path).toBe("memory/like.md");
  expect(like!.score).toBeLessThan(word!.score - 0.02);
  all.close();
});

test("what a model wrote in other words brought notes that hold words like its words", async () => {
  const { query, ...request } = requestOf(home.home, "kitchen fees");
  const written = async (text: string): Promise<string[]> => {
    const expand = () => Promise.resolve([{ type: "lex" as const, query: text, line: 1 }]);
    const found = await deepSearch(home, { ...request, document: { kind: "plain", query }, rrf: false, expand });
    return found.hits.map(({ path }) => path);
  };
  expect(await written("parquet")).toEqual(["memory/landlord.md"]);
  expect(await written("parqet")).toEqual([]);
});

import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { homesUntilEnd } from "../qmd/homes.ts";
import { connectStdio, type ForeignClient } from "./clients.ts";

setDefaultTimeout(60_000);
const qmdHome = homesUntilEnd();
const open: ForeignClient[] = [];
afterAll(() => Promise.all(open.map((client) => client.close())));

async function asked(names: string[]): Promise<{ words: string; instructions: string }> {
  const collections = names.map((name) => `  ${name}:\n    path: $ROOT/n\n`).join("");
  const home = await qmdHome({ "n/a.md": "# A\n" }, { yaml: `collections:\n${collections}`, sync: false });
  const client = await connectStdio("legacy", [], { env: home.env, cwd: home.root });
  open.push(client);
  const answer = await client.callTool({ name: "query", arguments: { query: "a", collections: ["Jurnal"] } });
  expect(answer.isError).toBe(true);
  return { words: answer.content[0]?.text ?? "", instructions: client.getInstructions() ?? "" };
}

test("a collection that is none was answered without the one that was meant, or with all of thousands", async () => {
  expect((await asked(["docs", "journal"])).words).toBe(
    "Error: Collection not found: Jurnal. Did you mean 'journal'? There are: docs, journal.",
  );
  const { words } = await asked(Array.from({ length: 300 }, (_, nth) => `wood-${nth}`));
  expect(words).toStartWith("Error: Collection not found: Jurnal. There are: wood-0, wood-1, ");
  expect(words).toEndWith(", wood-49 and 250 more.");
});

test("a home without collections was said to hold none by an empty list, and what to do by nobody", async () => {
  const { words, instructions } = await asked([]);
  expect(words).toBe(
    "Error: Collection not found: Jurnal. There is no collection yet: `memq collection add FOLDER` makes one.",
  );
  expect(instructions).toContain("There is no collection yet: `memq collection add FOLDER` makes one.");
});

import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { homesUntilEnd } from "./homes.ts";

setDefaultTimeout(60_000);

const homeOf = homesUntilEnd();

test("nothing said that an index has the words of an earlier version, some of which are not found any more", async () => {
  const home = await homeOf({ "n/a.md": "會議推遲\n", "m/b.md": "hello\n" });
  const doctor = async (): Promise<string> => (await home.run("doctor")).stdout;
  expect(await doctor()).toContain("✓ index health: sound");
  const db = new Database(home.indexPath);
  db.run(`UPDATE memq_meta SET value = json_set(value, '$.cut', '2:' || substr(json_extract(value, '$.cut'), 3))
    WHERE key = 'sync:n'`);
  db.close();
  const said = await doctor();
  expect(said).toMatch(/⚠ index health: .*; indexed by an earlier version: n\n/);
  expect(said).toContain("Run 'memq update': until then some words of theirs are not found.");
  await home.run("update");
  expect(await doctor()).toContain("✓ index health: sound");
});

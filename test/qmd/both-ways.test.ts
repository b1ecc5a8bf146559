import { Database } from "bun:sqlite";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { qmdHome, type QmdTestHome } from "./homes.ts";

// Starts qmd itself where it is there.
setDefaultTimeout(60_000);

const fixture = resolve(import.meta.dir, "../fixtures/qmd-index/index.sqlite");

/** The notes that the fixture was made of, with `qmd collection add`, `context add` and `update`. */
const NOTES = {
  "notes/a.md": "# Alpha note\n\nfirst line about router\nsecond line\nthird vlan router line\n",
  "notes/sub/b c.md": "no heading here\nrouter of beta & <b>\n",
  "notes/会議メモ.md": "# 会議\n\n次回の会議は四月十日、予算の承認について話す。\n",
};
const YAML =
  'global_context: Everywhere\ncollections:\n  notes:\n    path: "$ROOT/notes"\n    context:\n      sub: Below\n';

/** A home whose index qmd 2.8.3 made. */
async function broughtAlong(): Promise<QmdTestHome> {
  const home = await qmdHome(NOTES, { yaml: YAML, sync: false });
  mkdirSync(dirname(home.indexPath), { recursive: true });
  copyFileSync(fixture, home.indexPath);
  return home;
}

describe("an index that qmd made", () => {
  test("answers at once, with documents and contexts", async () => {
    const home = await broughtAlong();
    expect((await home.run("ls", "notes")).stdout).toContain("qmd://notes/sub/b c.md\n");
    const rows = await home.json("search", "router", "--json");
    expect(rows.map(({ file, context }) => ({ file, context }))).toEqual([
      { file: "qmd://notes/a.md", context: "Everywhere" },
      { file: "qmd://notes/sub/b c.md", context: "Everywhere\n\nBelow" },
    ]);
    expect(await home.json("search", "会議 予算", "--json")).toMatchObject([{ path: "会議メモ.md" }]);
    home.remove();
  });

  test("keeps its documents' ids, hashes and docids when it is updated", async () => {
    const home = await broughtAlong();
    const documents = (): unknown[] => {
      const db = new Database(home.indexPath, { readonly: true });
      const rows = db.query("SELECT id, collection, path, title, hash, active FROM documents ORDER BY id").all();
      db.close();
      return rows;
    };
    const before = documents();
    expect((await home.run("update")).stdout).toContain("Indexed: 0 new, 0 updated, 3 unchanged, 0 removed");
    expect(documents()).toEqual(before);
    home.remove();
  });
});

test("a document that qmd indexed again since is shown as it is", async () => {
  const home = await qmdHome({ "n/a.md": `${"old line\n".repeat(30)}needle stood here\n` });
  const text = "short\nneedle stands there\n";
  home.write({ "n/a.md": text });
  const hash = new Bun.CryptoHasher("sha256").update(text).digest("hex");
  const db = new Database(home.indexPath);
  db.query("INSERT INTO content VALUES (?, ?, ?)").run(hash, text, new Date().toISOString());
  db.query("UPDATE documents SET hash = ?").run(hash);
  db.close();
  expect(await home.json("search", "needle", "--json")).toMatchObject([
    { docid: `#${hash.slice(0, 6)}`, line: 2, snippet: "@@ -1,3 @@ (0 before, 0 after)\nshort\nneedle stands there\n" },
  ]);
  home.remove();
});

// Path of qmd 2.8.3, which is too large to install for every run.
const qmd = process.env["TEST_QMD"] ?? "";

describe.skipIf(!existsSync(qmd))("an index that memq made, in qmd (TEST_QMD)", () => {
  test("finds the same notes, and memq goes on with what qmd wrote", async () => {
    const home = await qmdHome(NOTES, { yaml: YAML });
    const runQmd = async (...args: string[]): Promise<string> => {
      const child = Bun.spawn([qmd, ...args], { cwd: home.root, env: { ...process.env, ...home.env }, stderr: "pipe" });
      const [stdout] = await Promise.all([new Response(child.stdout).text(), child.exited]);
      return stdout;
    };
    for (const query of ["router", "vlan", "予算"]) {
      const theirs = JSON.parse(await runQmd("search", query, "--json")) as { file: string; docid: string }[];
      const ours = await home.json("search", query, "--json");
      expect(theirs.map(({ file }) => file).toSorted()).toEqual(ours.map(({ file }) => String(file)).toSorted());
    }
    home.write({ "notes/new.md": "# New\n\nwritten while qmd was there\n" });
    await runQmd("update");
    expect(await home.json("search", "router", "--json")).toHaveLength(2);
    await home.run("update");
    expect(await home.json("search", "written while qmd", "--json")).toMatchObject([{ path: "new.md" }]);
    expect((await runQmd("get", join("notes", "new.md"))).split("\n")[0]).toStartWith("qmd://notes/new.md  #");
    home.remove();
  });
});

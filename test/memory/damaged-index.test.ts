import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { memq } from "../cli/program.ts";
import { startRpc } from "../gateway/client.ts";
import { temporaryFolder } from "../temporary.ts";

let root = "";
let place: string[] = [];

beforeEach(async () => {
  root = temporaryFolder("damaged-");
  mkdirSync(join(root, "ws/memory"), { recursive: true });
  for (let n = 0; n < 40; n++)
    writeFileSync(join(root, `ws/memory/n${n}.md`), `Note ${n} speaks of kilo${n} and zebras.\n`);
  place = ["--workspace", join(root, "ws"), "--state-dir", join(root, "state")];
  await memq(["memory", "index", ...place]);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function indexPath(): string {
  const folder = join(root, "state/memory");
  return join(folder, readdirSync(folder).find((name) => name.endsWith(".sqlite")) ?? "");
}

/** Fills the root page of a table or index with zeros: the file opens, and fails only where that page is needed. */
function damage(name: string): void {
  const db = new Database(indexPath());
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  const { rootpage } = db
    .query<{ rootpage: number }, [string]>("SELECT rootpage FROM sqlite_master WHERE name = ?")
    .get(name)!;
  db.close();
  const bytes = readFileSync(indexPath());
  bytes.fill(0, (rootpage - 1) * 4096, rootpage * 4096);
  writeFileSync(indexPath(), bytes);
}

function setAside(): string[] {
  return readdirSync(join(root, "state/memory")).filter((name) => /\.damaged(-\w+Z)?$/.test(name));
}

describe("an index damaged behind its first page", () => {
  test("is rebuilt by a search that meets the damage, and the search answers", async () => {
    damage("memq_fts_idx");
    const { stdout, stderr, exitCode } = await memq(["memory", "search", "kilo7", "--json", ...place]);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout).results[0].path).toBe("memory/n7.md");
    expect(stderr).toContain("was damaged");
    expect(setAside()).toHaveLength(1);
  });

  test("is rebuilt by a sync that meets the damage", async () => {
    damage("sqlite_autoindex_documents_1");
    const { stdout, stderr, exitCode } = await memq(["memory", "index", "--force", "--json", ...place]);
    expect([exitCode, JSON.parse(stdout).added]).toEqual([0, 40]);
    expect(stderr).toContain("was damaged");
  });

  test("is rebuilt by a living process, whose searches then find everything", async () => {
    const client = startRpc({ args: place });
    await client.call("initialize", { watch: false });
    await client.call("memory.index");
    damage("memq_fts_idx");
    // The connection still holds pages of the sound file.
    await client.call("memory.index", { force: true });
    const { results } = await client.call("memory.search", { query: "kilo7" });
    expect(results[0].path).toBe("memory/n7.md");
    expect((await client.end()).exitCode).toBe(0);
  });

  test("an index that was taken away is made again by the next search, which waits for it", async () => {
    const client = startRpc({ args: place });
    await client.call("initialize", { watch: false });
    await client.call("memory.index");
    rmSync(join(root, "state/memory"), { recursive: true });
    const { results } = await client.call("memory.search", { query: "kilo7" });
    expect(results[0].path).toBe("memory/n7.md");
    await client.end();
  });
});

import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { memq } from "../cli/program.ts";
import { temporaryFolder } from "../temporary.ts";
import { homesUntilEnd } from "./homes.ts";

setDefaultTimeout(60_000);
const homeOf = homesUntilEnd();

test("a search that meets damage behind the first page fails in words, and the next update rebuilds the index", async () => {
  const root = temporaryFolder("damaged-");
  const env = { XDG_CONFIG_HOME: join(root, "config"), XDG_CACHE_HOME: join(root, "cache") };
  mkdirSync(join(root, "notes"));
  for (let n = 0; n < 40; n++)
    writeFileSync(join(root, `notes/n${n}.md`), `Note ${n} speaks of kilo${n} and zebras.\n`);
  await memq(["collection", "add", join(root, "notes"), "--name", "notes"], { env });

  const path = join(root, "cache/qmd/index.sqlite");
  const db = new Database(path);
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  const rootOf = db.query<{ rootpage: number }, []>("SELECT rootpage FROM sqlite_master WHERE name = 'memq_fts_idx'");
  const page = rootOf.get()!.rootpage;
  db.close();
  const bytes = readFileSync(path);
  bytes.fill(0, (page - 1) * 4096, page * 4096);
  writeFileSync(path, bytes);

  const broken = await memq(["search", "kilo7", "--json"], { env });
  expect([broken.exitCode, broken.stdout]).toEqual([1, ""]);
  expect(broken.stderr).toContain("damaged");
  expect((await memq(["update"], { env })).exitCode).toBe(0);
  const mended = await memq(["search", "kilo7", "--json"], { env });
  expect(JSON.parse(mended.stdout)[0].file).toBe("qmd://notes/n7.md");
  rmSync(root, { recursive: true, force: true });
});

test("a pipe or a socket where the index should be made every command wait for ever", async () => {
  const home = await homeOf({ "n/a.md": "walnut\n" }, { sync: false });
  mkdirSync(dirname(home.indexPath), { recursive: true });
  const commands = [["search", "walnut"], ["query", "walnut"], ["get", "n/a.md"], ["update"], ["status"], ["cleanup"]];
  const sentence = `A pipe, a socket or a device stands where the index should be: ${home.indexPath}.`;
  const isRefused = async (run: Promise<{ exitCode: number; stdout: string; stderr: string }>): Promise<void> => {
    const { exitCode, stdout, stderr } = await run;
    expect({ exitCode, isSaid: `${stdout}${stderr}`.includes(sentence) }).toEqual({ exitCode: 1, isSaid: true });
  };
  expect(Bun.spawnSync(["mkfifo", home.indexPath]).exitCode).toBe(0);
  for (const args of commands) await isRefused(home.run(...args));
  rmSync(home.indexPath);
  const server = Bun.listen({ unix: home.indexPath, socket: { data() {} } });
  for (const args of commands) await isRefused(home.run(...args));
  server.stop();

  const [workspace, state] = [join(home.root, "n"), join(home.root, "state")];
  const index = join(state, "pipe.sqlite");
  mkdirSync(state);
  expect(Bun.spawnSync(["mkfifo", index]).exitCode).toBe(0);
  writeFileSync(
    join(state, "openclaw.json"),
    JSON.stringify({ agents: { defaults: { workspace, memorySearch: { store: { path: index } } } } }),
  );
  const asked = await memq(["memory", "search", "walnut", "--json", "--state-dir", state], { env: home.env });
  expect(`${asked.stdout}${asked.stderr}`).toContain("A pipe, a socket or a device stands where the index should be");
});

test("another program's table called like one of qmd's was shown as SQLite's own words", async () => {
  const home = await homeOf({ "n/a.md": "walnut\n" }, { sync: false });
  mkdirSync(dirname(home.indexPath), { recursive: true });
  const other = new Database(home.indexPath);
  other.run("CREATE TABLE documents(x)");
  other.run("INSERT INTO documents VALUES ('mine')");
  other.close();
  const before = readFileSync(home.indexPath);
  for (const args of [["search", "walnut"], ["update"], ["status"], ["collection", "remove", "n"], ["get", "n/a.md"]]) {
    const { stderr } = await home.run(...args);
    expect(stderr).toContain(`${home.indexPath} is another program's database and is left alone.`);
    expect(stderr).not.toContain("no such column");
  }
  expect(readFileSync(home.indexPath)).toEqual(before);
});

test("another program's database with a journal was changed before it was refused", async () => {
  const home = await homeOf({ "n/a.md": "walnut\n" }, { sync: false });
  mkdirSync(dirname(home.indexPath), { recursive: true });
  // A copy taken while it is open is what a crash leaves.
  const running = new Database(join(home.root, "running.sqlite"));
  running.run("PRAGMA journal_mode = WAL");
  running.run("CREATE TABLE chunks(a); CREATE TABLE files(a); CREATE TABLE meta(a)");
  const parts = ["", "-wal"];
  const copied = parts.map((part) => readFileSync(join(home.root, `running.sqlite${part}`)));
  running.close();
  for (const [at, part] of parts.entries()) writeFileSync(home.indexPath + part, copied[at] ?? "");
  for (const args of [["cleanup"], ["collection", "remove", "n"], ["update"], ["embed"], ["search", "walnut"]]) {
    const { stderr } = await home.run(...args);
    expect(stderr).toContain(`${home.indexPath} is OpenClaw's own memory index and is left alone.`);
    expect(parts.map((part) => readFileSync(home.indexPath + part))).toEqual(copied);
  }
});

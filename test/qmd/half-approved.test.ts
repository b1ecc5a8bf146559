import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { qmdPlaces, readQmdHome } from "../../src/home/qmd-home.ts";
import { changeEnded, changingTrusted, recordTrust } from "../../src/home/trust.ts";
import { memq } from "../cli/program.ts";
import { temporaryFolder } from "../temporary.ts";
import { homesUntilEnd } from "./homes.ts";

const homeOf = homesUntilEnd();

/** What a reader that sees the half of it does, it does sooner. */
const HALF_MS = 500;

test("between a project's change by its owner and the approval of it, others took the project for untrusted", async () => {
  const home = await homeOf({ "out/a.md": "outside\n" }, { sync: false });
  const project = join(home.root, "project");
  mkdirSync(project);
  const run = (...args: string[]) => memq(args, { env: home.env, cwd: project });
  await run("init");
  await run("collection", "add", join(home.root, "out"));
  const around = { env: home.env, cwd: project };
  const places = qmdPlaces({ index: undefined, ...around });

  const search = await changingTrusted(places.configPath, async () => {
    writeFileSync(places.configPath, `${readFileSync(places.configPath, "utf8")}    update: "true"\n`);
    const searching = run("search", "outside", "--json", "-c", "out");
    await Promise.race([searching, Bun.sleep(HALF_MS)]);
    const { trust } = await readQmdHome(places, around);
    expect(trust.state).toBe("untrusted");
    await recordTrust(places.trustFile, places.configPath, trust.digest);
    return { searching };
  });
  const { stdout, stderr, exitCode } = await search.searching;
  expect([exitCode, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("qmd://out/a.md");
});

test("a lock that came with an untrusted project was waited for at every search", async () => {
  const folder = temporaryFolder("change-");
  try {
    const path = join(folder, "index.yml");
    const lock = `${path}.change.lock`;
    const waits = async (): Promise<boolean> => {
      const isOver = changeEnded(path).then(() => false);
      return Promise.race([isOver, setImmediate(true)]);
    };
    // The first process of the system, which lives as long as that.
    writeFileSync(lock, '{"pid":1,"started":""}');
    expect(await waits()).toBe(true);
    const minuteAgo = Date.now() / 1000 - 60;
    utimesSync(lock, minuteAgo, minuteAgo);
    expect(await waits()).toBe(false);

    writeFileSync(join(folder, "other"), '{"pid":1,"started":""}');
    rmSync(lock);
    symlinkSync("other", lock);
    expect(await waits()).toBe(false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a lock that can't be read, as another user's, made every search of an untrusted project fail", async () => {
  const home = await homeOf({ "project/a.md": "inside\n", "out/a.md": "outside\n" }, { sync: false });
  const project = join(home.root, "project");
  const run = (...args: string[]) => memq(args, { env: home.env, cwd: project });
  await run("init");
  await run("collection", "add", ".");
  const config = join(project, ".qmd/index.yml");
  writeFileSync(config, `${readFileSync(config, "utf8")}  out: {path: ${join(home.root, "out")}, pattern: "*.md"}\n`);
  // For a reader who may read everything: a folder can't be read as a file either.
  mkdirSync(`${config}.change.lock`);
  const { stdout, stderr, exitCode } = await run("search", "inside");
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining("is not trusted")]);
  expect(stdout).toContain("inside");
});

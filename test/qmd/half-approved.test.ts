import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { qmdPlaces, readQmdHome } from "../../src/home/qmd-home.ts";
import { changingTrusted, recordTrust } from "../../src/home/trust.ts";
import { memq } from "../cli/program.ts";
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

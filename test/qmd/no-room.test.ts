import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { childEnv, type Outcome, outcomeOf } from "../cli/program.ts";
import { homesUntilEnd, type QmdTestHome } from "./homes.ts";

const homeOf = homesUntilEnd();

/** Runs the program where no file may grow beyond some kilobytes, as on a disk that is full. */
async function within(kilobytes: number, home: QmdTestHome, ...args: string[]): Promise<Outcome> {
  const script = `trap '' XFSZ; ulimit -f ${kilobytes}; exec "$@"`;
  const child = Bun.spawn(["bash", "-c", script, "bash", ...home.command(...args)], {
    cwd: home.root,
    env: childEnv(home.env),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  return outcomeOf(child);
}

describe("a disk without room", () => {
  test("was left with lock files beside index.yml, and the advice was to check permissions", async () => {
    const home = await homeOf({ "n/a.md": "walnut\n" });
    const folder = join(home.root, "../config/qmd");
    const before = readFileSync(join(folder, "index.yml"), "utf8");
    for (const args of [
      ["context", "add", "qmd://n", "words"],
      ["collection", "exclude", "n"],
      ["collection", "rename", "n", "m"],
    ]) {
      const refused = await within(0, home, ...args);
      expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
      expect(refused.stderr.toLowerCase()).toContain("there is no space left to write");
      expect(refused.stderr).toContain("Free some space");
      expect(refused.stderr).not.toContain("permissions");
    }
    expect(readdirSync(folder)).toEqual(["index.yml"]);
    expect(readdirSync(dirname(home.indexPath)).filter((name) => name.includes(".lock"))).toEqual([]);
    expect(readFileSync(join(folder, "index.yml"), "utf8")).toBe(before);
  });

  test("was called a disk that could not be read, where it had none even to open the index", async () => {
    const home = await homeOf({ "n/a.md": "walnut\n" });
    for (const command of ["cleanup", "update"]) {
      // Enough for a lock, not for the 32 KB that all who write to an index share.
      const { stderr, exitCode } = await within(16, home, command);
      expect([exitCode, stderr.includes("there is no space left to write")]).toEqual([1, true]);
      expect(stderr).toContain("Free some space");
    }
    expect((await home.run("cleanup")).exitCode).toBe(0);
  });

  test("kept cleanup from removing what it could", async () => {
    const notes = Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => [`n/${n}.md`, `Note ${n}\n\n${`walnut ${n} tree `.repeat(300)}\n`]),
    );
    const home = await homeOf({ ...notes, "m/a.md": "pecan\n" });
    await home.run("collection", "remove", "m");
    home.write({ "n/0.md": "hazel\n" });
    await home.run("update");
    // Enough for what is there, not for a second one beside it.
    const limit = Math.ceil(statSync(home.indexPath).size / 1024);
    const { stdout, stderr, exitCode } = await within(limit, home, "cleanup");
    expect({ exitCode, stdout, stderr }).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("✓ Cleared ") });
    expect(stdout).not.toContain("vacuumed");
    expect(stderr).toContain("The database was not compacted: ");
    expect((await home.run("cleanup")).stdout).toContain("✓ FTS compacted, database vacuumed");
    expect((await home.json("search", "hazel", "--json"))[0]?.["file"]).toBe("qmd://n/0.md");
  });
});

test("files that killed processes had left beside a lock stayed for ever", async () => {
  const home = await homeOf({ "n/a.md": "walnut\n" });
  const folder = join(home.root, "../config/qmd");
  // No process has this number.
  writeFileSync(join(folder, "index.yml.lock.4194999.1abc"), "");
  writeFileSync(join(folder, `index.yml.lock.${process.pid}.1abc`), "");
  await home.run("collection", "exclude", "n");
  expect(readdirSync(folder).toSorted()).toEqual(["index.yml", `index.yml.lock.${process.pid}.1abc`]);
});

test("embed blamed the model for a lock that could not be had", async () => {
  const home = await homeOf({ "n/a.md": "walnut\n" });
  mkdirSync(`${home.indexPath}.embed.lock`);
  const { stderr, exitCode } = await home.run("embed");
  expect(exitCode).toBe(1);
  expect(stderr).toStartWith("A folder stands where a file is needed");
  expect(stderr).not.toContain("QMD_EMBED_MODEL");
});

/** Runs a command, the words after the script's, with the folder `$0` read-only. */
const READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"';
const readOnly = (folder: string, ...words: string[]) => ["unshare", "-m", "sh", "-c", READ_ONLY, folder, ...words];

test.skipIf(Bun.which("unshare") === null || Bun.spawnSync(readOnly("/tmp", "true")).exitCode !== 0)(
  "a read-only place of whatever file was advised about as the index's, with an option that is refused",
  async () => {
    const home = await homeOf({ "n/a.md": "walnut\n" });
    const folder = join(home.root, "../config/qmd");
    const child = Bun.spawn(readOnly(folder, ...home.command("collection", "exclude", "n")), {
      env: childEnv(home.env),
      cwd: home.root,
      stderr: "pipe",
    });
    const stderr = await new Response(child.stderr).text();
    expect(await child.exited).toBe(1);
    expect(stderr).toContain(`${folder}/index.yml can't be written: writing is not allowed there (EROFS).`);
    expect(stderr).toContain("Check the permissions of the file and its folder");
    expect(stderr).not.toContain("--state-dir");
  },
);

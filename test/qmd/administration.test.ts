import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { outcomeOf } from "../cli/program.ts";
import { collectionsYaml, homesUntilEnd, type QmdTestHome } from "./homes.ts";

setDefaultTimeout(60_000);

const homeOf = homesUntilEnd();

/** What a command prints on both streams, with its exit code. */
async function said(home: QmdTestHome, ...args: string[]): Promise<[exitCode: number, stdout: string, stderr: string]> {
  const { exitCode, stdout, stderr } = await home.run(...args);
  return [exitCode, stdout, stderr];
}

/** The same where the current folder is one in the home. */
async function runIn(home: QmdTestHome, folder: string, ...args: string[]): Promise<string> {
  const cwd = join(home.root, folder);
  const env = { ...process.env, ...home.env, PWD: cwd };
  const child = Bun.spawn(home.command(...args), { cwd, env, stdout: "pipe", stderr: "pipe" });
  const { stdout, stderr } = await outcomeOf(child);
  return stdout + stderr;
}

test("a mask that only leaves out, and a rule that seems to take up again, are said to be what they are", async () => {
  const home = await homeOf({ "n/a.md": "hello\n", "n/sub/b.md": "hello\n" }, { yaml: "" });
  const added = await home.run("collection", "add", "n", "--name", "n", "--mask", "!sub/**");
  expect(added.stderr).toBe(
    "⚠ The mask !sub/** says only what stays out. Name what belongs to the collection too: **/*.md,!sub/**\n",
  );
  home.configure('collections:\n  n:\n    path: $ROOT/n\n    ignore: ["!sub/**", x.md]\n');
  const { stdout, stderr } = await home.run("update");
  expect(stdout).toContain("Indexed: 1 new,");
  expect(stderr).toContain(
    '"!sub/**" leaves out the same as "sub/**"; what belongs to a collection stands in its pattern.',
  );
  expect((await home.run("collection", "show", "n")).stdout).toContain("\n  Ignore:   !sub/**, x.md\n");
  expect((await home.run("collection", "add", "--help")).stdout).toContain("!drafts/**");
});

test("a collection that has the name already is not renamed", async () => {
  const home = await homeOf({ "n/a.md": "hello\n" });
  expect(await said(home, "collection", "rename", "n", "n")).toEqual([
    0,
    "Collection 'n' has that name already.\n",
    "",
  ]);
});

test("the next steps name what downloads the models before what embeds with them", async () => {
  const home = await homeOf({ "n/a.md": "hello\n" }, { env: { QMD_DOCTOR_DEVICE_PROBE: "off" } });
  expect((await home.run("doctor")).stdout).toMatch(/Run 'memq pull' while online.*\n  Run 'memq embed'\.\n$/);
});

describe("a collection", () => {
  test("is shown, renamed, excluded, included and removed, in qmd's words", async () => {
    const home = await homeOf({ "n/a.md": "# A\n\nhello\n", "m/b.md": "# B\n\nhello\n" });
    expect(await said(home, "collection", "info", "n")).toEqual([
      0,
      `Collection: n\n  Path:     ${join(home.root, "n")}\n  Pattern:  **/*.md\n  Include:  yes (default)\n`,
      "",
    ]);
    expect(await said(home, "collection", "mv", "n", "notes")).toEqual([
      0,
      "✓ Renamed collection 'n' to 'notes'\n  Virtual paths updated: qmd://n/ → qmd://notes/\n",
      "",
    ]);
    expect((await home.run("update")).stdout).toContain("Indexed: 0 new, 0 updated, 1 unchanged, 0 removed");
    expect(await home.json("search", "hello", "--json", "-c", "notes")).toMatchObject([{ file: "qmd://notes/a.md" }]);
    expect(await said(home, "collection", "rename", "notes", "m")).toEqual([
      1,
      "",
      "Collection name already exists: m\nChoose another name.\n",
    ]);
    expect((await home.run("collection", "exclude", "m")).stdout).toBe(
      "✓ Collection 'm' excluded from default queries\n",
    );
    expect((await home.run("collection", "list")).stdout).toContain("m (qmd://m/) [excluded]\n");
    expect(await home.json("search", "hello", "--json")).toHaveLength(1);
    expect((await home.run("collection", "include", "m")).stdout).toBe(
      "✓ Collection 'm' included in default queries\n",
    );
    expect(await said(home, "collection", "rm", "notes")).toEqual([
      0,
      "✓ Removed collection 'notes'\n  Deleted 1 documents\n  Cleaned up 1 orphaned content hashes\n",
      "",
    ]);
    expect(existsSync(join(home.root, "n/a.md"))).toBe(true);
    expect(await said(home, "collection", "remove", "notes")).toEqual([
      1,
      "",
      "Collection not found: notes\nRun 'memq collection list' to see available collections.\n",
    ]);
  });

  test("of a wrong path, a wrong name or none is refused in qmd's words", async () => {
    const home = await homeOf({ "n/a.md": "a\n" });
    expect(await said(home, "collection", "add", "nowhere")).toEqual([
      1,
      "",
      `Collection path does not exist.\n  Received: nowhere\n  Resolved: ${join(home.root, "nowhere")}\n` +
        "Provide an existing directory and run 'memq collection add <path>' again.\n",
    ]);
    expect((await home.run("collection", "add", "n/a.md")).stderr).toStartWith(
      "Collection path is not a directory.\n  Received: n/a.md\n",
    );
    expect((await home.run("collection", "add", "n", "--name", "a/b")).exitCode).toBe(1);
    expect((await home.run("collection", "show")).stderr).toStartWith("Usage: memq collection show <name>\n");
  });

  test("runs its command before it is updated; the exit code is the command's, and the notes are indexed", async () => {
    const home = await homeOf({ "n/a.md": "a\n" });
    const command = "echo new > b.md; echo said; echo wrong >&2; exit 3";
    expect((await home.run("collection", "update-cmd", "n", command)).stdout).toBe(
      `✓ Set update command for 'n': ${command}\n`,
    );
    const [exitCode, stdout] = await said(home, "update");
    expect(exitCode).toBe(3);
    expect(stdout).toContain(
      `    Running update command: ${command}\n    said\n    wrong\n✗ Update command failed with exit code 3\n`,
    );
    expect(stdout).toContain("Indexed: 1 new, 0 updated, 1 unchanged, 0 removed");
    expect(stdout).not.toContain("All collections updated");
    expect((await home.run("collection", "set-update", "n")).stdout).toBe("✓ Cleared update command for 'n'\n");
    expect((await home.run("update")).exitCode).toBe(0);
  });
});

test("get numbered a line that the document does not have", async () => {
  const home = await homeOf({ "n/a.md": "# A\n" });
  for (const far of [["--from", "9007199254740991"], [":99999999999999999999"], [":3"]]) {
    const words = far.length === 1 ? [`n/a.md${far[0]}`] : ["n/a.md", ...far];
    const [exitCode, stdout, stderr] = await said(home, "get", ...words);
    expect([exitCode, stderr]).toEqual([0, "The document has 2 lines.\n"]);
    expect(stdout).toMatch(/^qmd:\/\/n\/a.md {2}#[0-9a-f]{6}\n---\n\n\n$/);
  }
});

test("update waited for what an update command had left in the background", async () => {
  const home = await homeOf({ "n/a.md": "a\n" });
  await home.run(
    "collection",
    "update-cmd",
    "n",
    "sleep 60 & echo $! > pid; printf 'start\\303'; printf '\\251\\n'; exit 4",
  );
  const [exitCode, stdout] = await said(home, "update");
  process.kill(Number(readFileSync(join(home.root, "n/pid"), "utf8")));
  expect(exitCode).toBe(4);
  expect(stdout).toContain("    starté\n✗ Update command failed with exit code 4\n");
});

test("contexts are added by path, by name and for everything, listed and removed", async () => {
  const home = await homeOf({ "n/sub/a.md": "# A\n\nhello\n" });
  expect(await runIn(home, "n/sub", "context", "add", "words about this folder")).toBe(
    "✓ Added context for: qmd://n/sub\nContext: words about this folder\n",
  );
  expect((await home.run("context", "add", "/", "Everything", "here")).stdout).toBe(
    "✓ Set global context\nContext: Everything here\n",
  );
  expect((await home.run("context", "add", "qmd://n", "All of n")).stdout).toStartWith(
    "✓ Added context for: qmd://n/\n",
  );
  expect((await home.run("context", "list")).stdout).toBe(
    "\nConfigured Contexts\n\n*\n  /\n    Everything here\nn\n  sub\n    words about this folder\n  / (root)\n    All of n\n",
  );
  expect((await home.json("search", "hello", "--json"))[0]?.["context"]).toBe(
    "Everything here\n\nAll of n\n\nwords about this folder",
  );
  expect(await said(home, "context", "remove", "n/sub")).toEqual([0, "✓ Removed context for: qmd://n/sub\n", ""]);
  expect((await home.run("context", "rm", "n/sub")).stderr).toStartWith("No context found for: qmd://n/sub\n");
  expect((await home.run("context", "add", "/tmp", "x")).stderr).toStartWith(
    "Path is not in any indexed collection: /tmp\n",
  );
});

test("a search without collections did not tell who has an agent's memory how that is searched", async () => {
  const home = await homeOf({}, { yaml: "" });
  const { stderr } = await home.run("search", "boiler");
  expect(stderr).toBe(
    "No collections. Run 'memq collection add .' to create one.\nAn agent's memory is searched by 'memq memory search'.\n",
  );
});

test("wrong sub-commands are named, with qmd's exit codes and streams", async () => {
  const home = await homeOf({ "n/a.md": "a\n" });
  const hint = "If memq still behaves unexpectedly, run 'memq doctor' for diagnostics.\n";
  expect(await said(home, "collection", "bogus")).toEqual([
    1,
    "",
    `Unknown subcommand: bogus\nRun 'memq collection help' for usage\n${hint}`,
  ]);
  expect(await said(home, "context", "bogus")).toEqual([
    1,
    "",
    "Unknown subcommand: bogus\nAvailable: add, list, rm\n",
  ]);
  expect(await said(home, "bogus")).toEqual([1, "", `Unknown command: bogus\nRun 'memq --help' for usage.\n${hint}`]);
  expect(await said(home, "trust", "bogus")).toEqual([1, "", "Usage: memq trust [list|revoke]\n"]);
  for (const words of [["collection"], ["collection", "help"], ["skill"], ["--help"]]) {
    const [exitCode, stdout] = await said(home, ...words);
    expect([exitCode, stdout.startsWith("Usage") || stdout.includes("Usage: memq")]).toEqual([0, true]);
  }
  const [exitCode, stdout] = await said(home, "context");
  expect([exitCode, stdout]).toEqual([1, ""]);
});

describe("cleanup", () => {
  test("says what it would do, then does it", async () => {
    const home = await homeOf({ "n/a.md": "one\n", "n/b.md": "two\n" });
    expect((await home.run("cleanup", "--dry-run")).stdout).toBe(
      "Dry run — no changes made.\n\nWould clear 0 cached API responses\nNo orphaned embeddings to remove\n" +
        "Would compact FTS and vacuum the database\n",
    );
    home.write({ "n/a.md": "" });
    await home.run("update");
    expect((await home.run("cleanup", "--dry-run")).stdout).toContain(
      "Would remove 1 inactive document records\nWould remove 1 orphaned content hashes\n",
    );
    expect((await home.run("cleanup")).stdout).toBe(
      "✓ Cleared 0 cached API responses\nNo orphaned embeddings to remove\n✓ Removed 1 inactive document records\n" +
        "✓ Removed 1 orphaned content hashes\n✓ FTS compacted, database vacuumed\n",
    );
  });
});

describe("a project's own index", () => {
  test("is made by init, but not in the home folder", async () => {
    const home = await homeOf({ "n/a.md": "a\n" });
    expect(await runIn(home, "n", "init")).toBe("ready to go with new local index\n");
    expect(await runIn(home, "n", "collection", "add", ".")).toContain("Indexed: 1 new");
    expect(await runIn(home, "n", "status")).toContain(`Index: ${join(home.root, "n/.qmd/index.sqlite")}`);
    expect(await runIn(home, "..", "init")).toStartWith("Refusing to initialize a local index in $HOME.");
  });

  test("pain 32: a configuration that came along runs and reaches nothing until it is approved", async () => {
    const home = await homeOf({ "p/a.md": "inside\n", "out/b.md": "outside\n" });
    mkdirSync(join(home.root, "p/.qmd"));
    const config = (more = ""): string =>
      `collections:\n  p:\n    path: ${home.root}/p\n    update: echo ran > ${home.root}/ran.txt${more}\n  out:\n    path: ${home.root}/out\n`;
    writeFileSync(join(home.root, "p/.qmd/index.yml"), config());
    const update = await runIn(home, "p", "update");
    expect(update).toContain("Config that came with a checkout is not trusted by default.\n");
    expect(update).toContain(
      `Skipping collection 'out' — path ${home.root}/out is outside this project and this .qmd config is not trusted.\n`,
    );
    expect(existsSync(join(home.root, "ran.txt"))).toBe(false);
    expect(await runIn(home, "p", "search", "outside", "--json")).toContain("[]");
    expect(await runIn(home, "p", "collection", "list")).toContain("out (qmd://out/)");

    // Adding a collection of one's own approves nothing that was there before.
    expect(await runIn(home, "p", "collection", "add", ".", "--name", "mine")).toContain("✓ Collection 'mine' created");
    await runIn(home, "p", "update");
    expect(existsSync(join(home.root, "ran.txt"))).toBe(false);

    expect(await runIn(home, "p", "trust")).toContain("✓ Trusted: ");
    expect(await runIn(home, "p", "trust", "list")).toContain(join(home.root, "p/.qmd/index.yml"));
    expect(await runIn(home, "p", "update")).toContain("    Running update command: echo ran");
    expect(existsSync(join(home.root, "ran.txt"))).toBe(true);
    expect(await runIn(home, "p", "search", "outside", "--json")).toContain("qmd://out/b.md");
    // What its owner changes by a command stays approved; any other change does not.
    await runIn(home, "p", "collection", "update-cmd", "p", "true");
    expect(await runIn(home, "p", "update")).toContain("    Running update command: true\n");
    writeFileSync(join(home.root, "p/.qmd/index.yml"), config("; echo more"));
    expect(await runIn(home, "p", "update")).not.toContain("Running update command");
    expect(await runIn(home, "p", "trust", "revoke")).toContain("✓ Revoked: ");
  });
});

test("status and doctor say what is there, and never fail", async () => {
  const home = await homeOf(
    { "n/a.md": "a\n" },
    { env: { QMD_DOCTOR_DEVICE_PROBE: "off", QMD_EMBED_MODEL: "/no/model.gguf" } },
  );
  const status = await said(home, "status");
  expect(status[0]).toBe(0);
  expect(status[1]).toContain("Documents\n  Total:    1 files indexed\n  Vectors:  0 embedded\n  Pending:  1 need");
  const doctor = await said(home, "doctor");
  expect([doctor[0], doctor[2]]).toEqual([0, ""]);
  for (const line of [
    "✓ vector engine: ",
    "✓ index health: sound, 1 documents",
    "  - QMD_EMBED_MODEL=/no/model.gguf: ",
    "⚠ embedding freshness: 1 documents need embedding",
    "Recommended next steps\n",
    "  Run 'memq embed'.\n",
  ]) {
    expect(doctor[1]).toContain(line);
  }
  home.configure("collections: [broken\n");
  const broken = await said(home, "doctor");
  expect(broken[0]).toBe(0);
  expect(broken[1]).toContain("⚠ index config: The configuration file ");
  writeFileSync(home.indexPath, "this is no database at all, but long enough to be looked at".repeat(20));
  home.configure(collectionsYaml(["n"]));
  expect((await said(home, "doctor"))[1]).toContain("⚠ index health: ");
  expect((await said(home, "status"))[0]).toBe(0);
});

test("the skill is printed, listed, found and installed once", async () => {
  const home = await homeOf({ "n/a.md": "a\n" });
  const shown = (await home.run("skill", "show")).stdout;
  expect(shown).toStartWith("---\nname: qmd\ndescription: ");
  expect(shown).toContain("memq search");
  expect(shown).not.toContain("$PROGRAM");
  expect((await home.run("--skill")).stdout).toBe(shown);
  expect((await home.run("skills", "get", "qmd")).stdout).toBe(shown);
  expect((await home.run("skills")).stdout).toMatch(/^ {2}qmd {2}Find and read notes/);
  const folder = (await home.run("skills", "path")).stdout.trimEnd();
  expect(readFileSync(join(folder, "SKILL.md"), "utf8")).toBe(shown);
  mkdirSync(join(home.root, "n/.claude"));
  expect(await runIn(home, "n", "skill", "install")).toContain("✓ Linked: ");
  expect(readFileSync(join(home.root, "n/.claude/skills/qmd/SKILL.md"), "utf8")).toBe(shown);
  expect(await runIn(home, "n", "skill", "install")).toStartWith("The skill is installed already: ");
  expect(await runIn(home, "n", "skill", "install", "--force")).toContain("✓ Installed: ");
});

test("a skill survives its installation where the two folders of skills are one", async () => {
  const home = await homeOf({ "n/a.md": "a\n" });
  mkdirSync(join(home.root, "n/.agents/skills"), { recursive: true });
  mkdirSync(join(home.root, "n/.claude"));
  symlinkSync("../.agents/skills", join(home.root, "n/.claude/skills"));
  for (const more of [[], ["--force"]]) await runIn(home, "n", "skill", "install", ...more);
  for (const folder of [".agents", ".claude"]) {
    expect(readFileSync(join(home.root, "n", folder, "skills/qmd/SKILL.md"), "utf8")).toStartWith("---\nname: qmd\n");
  }
});

test("skills speak qmd's JSON", async () => {
  const home = await homeOf({ "n/a.md": "a\n" });
  const json = async (...args: string[]): Promise<unknown> =>
    JSON.parse((await home.run("skills", ...args, "--json")).stdout);
  expect(await json()).toEqual({ success: true, data: [{ name: "qmd", description: expect.any(String) }] });
  expect(await json("get", "qmd")).toEqual({
    success: true,
    data: [{ name: "qmd", content: expect.stringMatching(/^---/) }],
  });
  expect(await json("get", "qmd", "--full")).toMatchObject({ data: [{ files: [] }] });
  expect(await json("get", "nope")).toEqual({ success: false, error: expect.stringContaining("nope") });
  expect(await said(home, "skills", "get")).toEqual([1, "", "No skill name provided. Usage: memq skills get <name>\n"]);
  expect(await json("path", "qmd")).toMatchObject({ data: { name: "qmd", path: expect.any(String) } });
});

test("values that no command knows are refused on every command, numbers by the option's own name", async () => {
  const home = await homeOf({ "n/a.md": "a\n" });
  expect(await said(home, "status", "--format", "yaml")).toEqual([
    1,
    "",
    "Unknown --format value: yaml\nValid: cli, json, csv, md, xml, files\n",
  ]);
  expect((await said(home, "ls", "--chunk-strategy", "words"))[2]).toBe(
    '--chunk-strategy must be "auto" or "regex" (got "words")\n',
  );
  expect((await said(home, "search", "a", "-n", "0"))[2]).toStartWith("-n takes a whole number of at least 1");
  expect((await said(home, "get", "n/a.md", "--from", "x"))[2]).toBe("--from takes a whole number, not 'x'\n");
  expect(await said(home, "search", " ", "--json")).toEqual([0, "[]\n", ""]);
});

test("documents with the same content have one hash that needs vectors", async () => {
  const home = await homeOf({ "n/a.md": "same\n", "n/b.md": "same\n", "n/c.md": "other\n" });
  expect((await home.run("update")).stdout).toContain("(2 unique hashes need vectors)");
});

test("a folder in the place of the index is named", async () => {
  const home = await homeOf({ "n/a.md": "a\n" }, { sync: false });
  mkdirSync(home.indexPath, { recursive: true });
  const sentence = `A folder stands where the index should be: ${home.indexPath}.\n`;
  for (const command of [["search", "a"], ["update"]]) {
    expect((await said(home, ...command))[2]).toStartWith(sentence);
  }
});

test("bench judges answers against the files that were expected", async () => {
  const home = await homeOf({ "n/a.md": "# Router\n\nvlan\n", "n/b.md": "# Kitten\n\nbasket\n" });
  const queries = [
    { id: "one", query: "vlan", type: "exact", expected_files: ["a.md"], expected_in_top_k: 1 },
    { id: "two", query: "basket", expected_files: ["n/b.md", "gone.md"], expected_in_top_k: 2 },
  ];
  writeFileSync(join(home.root, "fixture.json"), JSON.stringify({ version: 1, collection: "n", queries }));
  const result = JSON.parse((await home.run("bench", "fixture.json", "--json")).stdout) as {
    results: { id: string; backends: { bm25: Record<string, unknown> } }[];
    summary: { bm25: Record<string, number> };
  };
  expect(result.results[0]?.backends.bm25).toMatchObject({ precision_at_k: 1, recall: 1, mrr: 1, f1: 1, hits_at_k: 1 });
  expect(result.results[1]?.backends.bm25).toMatchObject({
    precision_at_k: 0.5,
    recall: 0.5,
    matched_files: ["n/b.md"],
    unmatched_expected_files: ["gone.md"],
  });
  expect(result.summary.bm25["avg_recall"]).toBe(0.75);
  // A collection that is not there is an error and not a row of zeros.
  expect((await said(home, "bench", "fixture.json", "-c", "zz")).slice(0, 2)).toEqual([1, ""]);
  writeFileSync(join(home.root, "fixture.json"), '{"queries": [{}]}');
  expect((await home.run("bench", "fixture.json")).stderr).toStartWith("The fixture fixture.json can't be used: ");
});

test("a misspelt key of index.yml is said on stderr, and found by doctor", async () => {
  const home = await homeOf(
    { "n/a.md": "heron\n" },
    { yaml: "collections:\n  n:\n    path: $ROOT/n\n    ignored: [b.md]\n" },
  );
  for (const args of [["search", "heron"], ["update"], ["status"], ["collection", "list"]]) {
    const { exitCode, stderr } = await home.run(...args);
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/^collections\.n\.ignored in \S+index\.yml is not known: did you mean ignore\?\n/);
  }
  expect((await home.run("doctor")).stdout).toMatch(/⚠ index config: .*\n  - collections\.n\.ignored in /);
});

test("words and options that a command has no use for are said", async () => {
  const home = await homeOf({ "n/a.md": "# A\n", "n/b.md": "# B\n" });
  const told = async (...args: string[]): Promise<[number, string]> => {
    const { exitCode, stderr } = await home.run(...args);
    return [exitCode, stderr];
  };
  expect(await told("update", "n")).toEqual([0, "Left out: n. Usage: memq update\n"]);
  expect(await told("get", "a.md", "b.md", "c.md")).toEqual([
    0,
    "Left out: b.md c.md. Usage: memq get FILE[:FROM[:COUNT]]\n",
  ]);
  // As a shell hands on a pattern without quotes.
  expect(await told("multi-get", "a.md", "b.md")).toEqual([0, "Left out: b.md. Usage: memq multi-get PATTERN\n"]);
  expect(await told("update", "-c", "n", "--pull")).toEqual([0, "Without effect on update: --collection\n"]);
  expect(await told("status", "--json", "-n", "3")).toEqual([0, "Without effect on status: --json, -n\n"]);
  for (const args of [
    ["search", "a", "b"],
    ["search", "a", "--no-gpu", "--index", "", "--format", "json"],
    ["get", "a.md", "--line-numbers"],
    ["collection", "list", "--format", "json"],
    ["skills", "get", "qmd", "--full"],
    ["context", "add", "n", "two", "words"],
    ["collection", "update-cmd", "n", "echo", "x"],
    ["collection", "rename", "n", "m"],
    ["skills", "get", "qmd"],
  ]) {
    expect(await told(...args)).toEqual([0, ""]);
  }
});

test("doctor finds a variable that is no number and therefore without effect", async () => {
  const home = await homeOf({ "n/a.md": "# A\n" }, { env: { MEMQ_DEADLINE_MS: "3s", QMD_SQLITE_BUSY_TIMEOUT: "500" } });
  const { stdout } = await home.run("doctor");
  expect(stdout).toContain("⚠ environment overrides: ");
  expect(stdout).toContain("\n  - MEMQ_DEADLINE_MS=3s: no whole number, and so without effect\n");
  expect(stdout).toContain("\n  - QMD_SQLITE_BUSY_TIMEOUT=500: how long a writer waits for another\n");
});

import { beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { temporaryFolder } from "../temporary.ts";
import { memq, sourceCommand } from "./program.ts";

/*
 * A cold search is mostly the loading of modules, so what is loaded decides how long it takes. Whoever needs more on the way to a
 * search imports it where it is used: `await import(…)`.
 */

/** What a search without embeddings needs nothing of, but for the files named after each. */
const NOT_LOADED: Record<string, string[]> = {
  "src/sync/": [],
  "src/gateway/": [],
  "src/integrations/": [],
  "src/embed/": ["identity.ts", "spec.ts"],
  "src/llama/": ["embedded.ts", "folders.ts", "native.ts"],
  "node_modules/": ["citty/dist/index.mjs", "citty/dist/_chunks/libs/scule.mjs"],
};

/** qmd's `search` never asks a model, so it needs nothing of vectors, nor of writing. */
const NOT_LOADED_BY_WORDS: Record<string, string[]> = {
  ...NOT_LOADED,
  "src/search/vector.ts": [],
  "src/store/vector": [],
  "src/store/write-": [],
  "src/store/lock.ts": [],
};

/** Built-in modules that load in well under a millisecond; `node:os`, `node:util`, `node:crypto`, `node:tty` and promises of files don't. */
const CHEAP_BUILT_INS = new Set(["bun:sqlite", "node:fs", "node:path"]);

/** What people and programs write into it. */
const MORE_OF_INDEX_YML = `
    ignore: ["drafts/**", "*.tmp"]
    context:
      "": "Birds: where they stood"
      /2025: |
        Last year, in two parts
        Note: the second is "lost"
        See also: https://example.org
  other:
    path: ${JSON.stringify(join(tmpdir(), "none"))} # later: more
    pattern: "**/*.{md,txt}, *.org" # Note: both
    context: {}
    ignore:
      - "!kept/**"
      - tmp
  # third:
  #   path: /x
global_context: It's all of it, and more
models:
  embed: hf:me/m/m.gguf
later: true
`;

const root = resolve(import.meta.dir, "../..");
const folder = temporaryFolder("start-");
const workspace = join(folder, "notes");
const env = { HOME: folder, XDG_CONFIG_HOME: join(folder, "config"), XDG_CACHE_HOME: join(folder, "cache") };
const searches = {
  "memory search": ["memory", "search", "heron", "--workspace", workspace, "--json"],
  search: ["search", "heron", "--json"],
};

beforeAll(async () => {
  mkdirSync(join(workspace, "memory"), { recursive: true });
  writeFileSync(
    join(workspace, "memory/birds.md"),
    `# Birds\n\nA heron stood in the reeds. ${"It waited. ".repeat(120)}\n`,
  );
  for (const args of [
    ["memory", "index", "--workspace", workspace],
    ["collection", "add", workspace, "--name", "notes"],
  ]) {
    const { exitCode, stderr } = await memq(args, { env });
    if (exitCode !== 0) throw new Error(stderr);
  }
});

test.each(Object.entries(searches))("a cold `%s` loads only what it needs", async (name, args) => {
  const { modules, stdout } = await modulesOf(args);
  expect(stdout).toContain("heron");
  const needless = modules.filter((path) =>
    Object.entries(name === "search" ? NOT_LOADED_BY_WORDS : NOT_LOADED).some(
      ([place, allowed]) => path.startsWith(place) && !allowed.includes(path.slice(place.length)),
    ),
  );
  expect(needless).toEqual([]);
});

test.each(Object.entries(searches))("a cold `%s` imports no built-in module that is slow to load", async (_, args) => {
  const { modules } = await modulesOf(args);
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  const slow = modules
    .filter((path) => path.startsWith("src/") && path.endsWith(".ts"))
    .flatMap((path) =>
      transpiler
        .scanImports(readFileSync(join(root, path), "utf8"))
        .filter((found) => found.kind === "import-statement" && /^(node|bun):/.test(found.path))
        .filter((found) => !CHEAP_BUILT_INS.has(found.path))
        .map((found) => `${path} imports ${found.path}`),
    );
  expect(slow).toEqual([]);
});

test("an ordinary index.yml needs no slow parser", async () => {
  const file = join(env.XDG_CONFIG_HOME, "qmd/index.yml");
  const plain = readFileSync(file, "utf8");
  writeFileSync(file, `${plain}${MORE_OF_INDEX_YML}`);
  const { modules, stdout } = await modulesOf(searches.search);
  writeFileSync(file, plain);
  expect(stdout).toContain("heron");
  expect(modules.filter((path) => path.includes("yaml"))).toEqual([]);
});

test("`--version` loads next to nothing", async () => {
  const { modules } = await modulesOf(["--version"]);
  expect(modules.sort()).toEqual([
    "package.json",
    "src/main.ts",
    "src/output.ts",
    "src/printable.ts",
    "src/version.ts",
  ]);
});

/** Paths, relative to the project, of the modules that a run of the source loads, and what it prints. */
async function modulesOf(args: string[]): Promise<{ modules: string[]; stdout: string }> {
  const file = join(folder, "modules");
  const [bun = "", ...command] = sourceCommand(...args);
  const child = Bun.spawn([bun, "--preload", join(import.meta.dir, "report-modules.ts"), ...command], {
    env: { PATH: process.env["PATH"] ?? "", ...env, MODULES_FILE: file },
    stdout: "pipe",
  });
  const stdout = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  const modules = readFileSync(file, "utf8")
    .split("\n")
    // Linked modules lie elsewhere; what follows the last `node_modules` tells what they are.
    .map((path) => path.replace(/^.*\/node_modules\//, `${root}/node_modules/`))
    .map((path) => relative(root, path))
    .filter((path) => !path.startsWith("test/"));
  return { modules, stdout };
}

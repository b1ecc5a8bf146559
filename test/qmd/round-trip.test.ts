import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { constantFrom, sample, string, tuple } from "fast-check";
import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { resolveQmdHome } from "../../src/home/qmd-home.ts";
import type { ResolveContext } from "../../src/search/resolve.ts";
import { resolveName } from "../../src/search/resolve.ts";
import { openIndex } from "../../src/store/open.ts";
import { qmdHome, type QmdTestHome } from "./homes.ts";

/** Names that have broken note tools: each survives from the file to what is printed and back. */
const NAMES = [
  "plain.md",
  "my file.md",
  "my_file.md",
  "my-file.md",
  "2026-06-16.md",
  "2026_06_16.md",
  "🐘.md",
  "{.md",
  "[.md",
  "[a]b.md",
  "ab.md",
  "腾讯混元.md",
  "café.md".normalize("NFC"),
  "nai\u0308ve.md",
  "100%.md",
  "100%25.md",
  "a%20b.md",
  "a b.md",
  "what?.md",
  "q?index=x.md",
  "c#.md",
  "#abcdef.md",
  "decade.md",
  "abcdef",
  "-dash.md",
  "--help.md",
  "comma, separated.md",
  "x,y.md",
  "'quoted'.md",
  '"double".md',
  "back\\slash.md",
  "star*.md",
  "! My Notes/Foo Bar/baz qux.md",
  "notes/notes/plain.md",
  "deep/plain.md",
  "tilde/~/x.md",
  "line:10.md",
  "ends:12",
  " leading.md",
  "a$b&c;d|e.md",
  "README.md",
  "readme.md",
];

let home: QmdTestHome;
const text = (name: string): string => `# Title\n\nmarkword in ${JSON.stringify(name)}\n`;

beforeAll(async () => {
  home = await qmdHome(Object.fromEntries(NAMES.map((name) => [`notes/${name}`, text(name)])), {
    yaml: 'collections:\n  notes:\n    path: "$ROOT/notes"\n    pattern: "**"\n',
  });
});
afterAll(() => home.remove());

async function context(of: QmdTestHome): Promise<ResolveContext & { close: () => void }> {
  const { home: resolved } = await resolveQmdHome({ env: of.env, cwd: of.root });
  const index = openIndex(of.indexPath, { mode: "read" });
  return { home: resolved, index, cwd: of.root, env: of.env, close: () => index.close() };
}

describe("any file name", () => {
  test("is found by search, and what is printed resolves to it", async () => {
    const rows = (await home.json("search", "markword", "--json", "--all")) as { file: string; path: string }[];
    expect(rows.map(({ path }) => path).toSorted()).toEqual(NAMES.toSorted());
    const where = await context(home);
    for (const { file, path } of rows) {
      // What is encoded may be another file's name as it stands, which then comes first.
      const encoded = NAMES.includes(encodeURI(path)) ? [] : [encodeURI(file)];
      for (const name of [file, `notes/${path}`, ...encoded, join(home.root, "notes", path)]) {
        const found = resolveName(where, name);
        expect({ name, path: found.kind === "document" ? found.document.path : found.kind }).toEqual({ name, path });
      }
    }
    where.close();
  });

  test("is listed by ls, and printed whole by get and multi-get", async () => {
    const lines = (await home.run("ls", "notes")).stdout.trimEnd().split("\n");
    const listed = lines.map((line) => line.slice(line.indexOf("qmd://")));
    expect(listed.toSorted()).toEqual(NAMES.map((name) => `qmd://notes/${name}`).toSorted());
    for (const name of ["100%25.md", "--help.md", "q?index=x.md", "[a]b.md", "ends:12"]) {
      const got = await home.run("get", "--no-line-numbers", "--", `qmd://notes/${name}`);
      expect(got.stdout).toStartWith(`qmd://notes/${name}  #`);
      expect(got.stdout).toEndWith(`\n---\n\n${text(name)}\n`);
    }
    const all = await home.json("multi-get", listed.join(","), "--json", "--no-line-numbers");
    expect(all.map(({ file, body }) => ({ file, body }))).toEqual(
      listed.map((file) => ({ file, body: text(file.slice("qmd://notes/".length)) })),
    );
    const globbed = await home.json("multi-get", "**", "--json");
    const where = await context(home);
    for (const { file } of globbed as { file: string }[]) expect(resolveName(where, file).kind).toBe("document");
    where.close();
  });

  test("made of any characters leads back to its document", async () => {
    const part = string({
      unit: constantFrom(...Array.from("aé🐘%2#?&[]{}()'\"\\!*~-_., :@=+$0Ａ漢\u0301")),
      minLength: 1,
      maxLength: 12,
    }).filter((name) => !name.startsWith(".") && Buffer.byteLength(name) < 100);
    const names = sample(tuple(part, part), { numRuns: 300, seed: 7 });
    const paths = [...new Set(names.map(([folder, name]) => `${folder}-/${name}.md`))];
    const many = await qmdHome(Object.fromEntries(paths.map((path) => [`n/${path}`, `note ${JSON.stringify(path)}`])));
    const where = await context(many);
    for (const path of paths) {
      for (const name of [`qmd://n/${path}`, `qmd://n/${path.split("/").map(encodeURIComponent).join("/")}`]) {
        const found = resolveName(where, name);
        expect(found.kind === "document" ? found.document.path : found.kind).toBe(path);
      }
    }
    where.close();
    many.remove();
  });
});

describe("a name", () => {
  test("that is the end of several paths lists the candidates", async () => {
    const got = await home.run("get", "ain.md");
    expect(got).toMatchObject({ stdout: "", exitCode: 1 });
    expect(got.stderr).toStartWith("Document not found: ain.md\n");
    const deep = await home.run("get", "Foo Bar/baz qux.md");
    expect(deep.stdout).toStartWith("qmd://notes/! My Notes/Foo Bar/baz qux.md  #");
    const many = await qmdHome({ "a/x/same.md": "one", "b/x/same.md": "two" });
    const ambiguous = await many.run("get", "same.md");
    expect(ambiguous).toEqual({
      stdout: "",
      stderr: "Ambiguous name: same.md\nCandidates:\n  qmd://a/x/same.md\n  qmd://b/x/same.md\n",
      exitCode: 1,
    });
    many.remove();
  });

  test("is an exact path before it is a docid", async () => {
    expect((await home.run("get", "abcdef")).stdout).toStartWith("qmd://notes/abcdef  #");
    expect((await home.run("get", "#abcdef.md")).stdout).toStartWith("qmd://notes/#abcdef.md  #");
  });

  test("may be a docid, also of several documents with the same text", async () => {
    const twin = await qmdHome({ "a/x.md": "the same", "b/y.md": "the same" });
    const [row] = (await twin.json("search", "same", "--json")) as { docid: string }[];
    for (const name of [row?.docid ?? "", `${row?.docid}:1:1`, (row?.docid ?? "").slice(1)]) {
      expect((await twin.run("get", name)).stdout).toStartWith("qmd://a/x.md  #");
    }
    expect(await twin.json("multi-get", `${row?.docid}`, "--json")).toHaveLength(1);
    twin.remove();
  });

  test("of a file that is ignored says by which rule", async () => {
    const ignoring = await qmdHome(
      { "n/a.md": "one", "n/drafts/b.md": "two" },
      { yaml: 'collections:\n  n:\n    path: "$ROOT/n"\n    ignore: ["drafts/**"]\n' },
    );
    expect(await ignoring.run("get", "n/drafts/b.md")).toEqual({
      stdout: "",
      stderr:
        "Document is excluded by ignore rule: n/drafts/b.md\nCollection: n\nMatched path: drafts/b.md\nIgnore rule: drafts/**\n",
      exitCode: 1,
    });
    ignoring.remove();
  });

  test("in a named index is found in that index and its configuration", async () => {
    const two = await qmdHome({ "n/a.md": "default text" });
    await Bun.write(
      join(two.env["HOME"] ?? "", "config/qmd/my work.yml"),
      `collections:\n  w:\n    path: ${two.root}/w\n`,
    );
    two.write({ "w/a.md": "worktext" });
    const { home: named } = await resolveQmdHome({ index: "my work", env: two.env, cwd: two.root });
    const { syncIndex } = await import("../../src/sync/sync.ts");
    await syncIndex(named, { embed: false });
    const [row] = (await two.json("search", "worktext", "--json", "--index", "my work")) as { file: string }[];
    expect(row?.file).toBe("qmd://w/a.md?index=my%20work");
    expect((await two.run("get", row?.file ?? "")).stdout).toContain("1: worktext\n");
    expect((await two.run("get", `${row?.file}:1:1`)).stdout).toContain("1: worktext\n");
    two.remove();
  });
});

test("a name from an index that was named by a path opens it from every folder", async () => {
  const home = await qmdHome({ "n/a.md": "textual\n", "m/b.md": "x\n" });
  await home.run("--index", "./work/notes", "collection", "add", "n");
  const [row] = (await home.json("search", "textual", "--json", "--index", "./work/notes")) as { file: string }[];
  const child = Bun.spawn(home.command("get", row?.file ?? ""), {
    cwd: join(home.root, "m"),
    env: { ...process.env, ...home.env },
  });
  expect(await new Response(child.stdout).text()).toContain("1: textual\n");
  home.remove();
});

test("a file that links lead to is shown once", async () => {
  const home = await qmdHome({ "n/a.md": "textual\n" }, { sync: false });
  symlinkSync("a.md", join(home.root, "n/b.md"));
  await home.sync();
  expect(await home.json("search", "textual", "--json")).toHaveLength(1);
  expect((await home.run("get", "n/b.md")).stdout).toContain("1: textual\n");
  home.remove();
});

test("an empty --index is none", async () => {
  const home = await qmdHome({ "n/a.md": "textual\n" });
  expect(await home.json("search", "textual", "--json", "--index=")).toMatchObject([{ file: "qmd://n/a.md" }]);
  home.remove();
});

test("a path that looks like an address is a path all the same", async () => {
  const home = await qmdHome({ "n/qmd:x.md": "textual\n" });
  const [row] = (await home.json("search", "textual", "--json")) as { path: string }[];
  expect((await home.run("get", row?.path ?? "")).stdout).toContain("1: textual\n");
  home.remove();
});

describe("get", () => {
  test("prints the file as it is now, and what was indexed when it is gone", async () => {
    const changing = await qmdHome({ "n/a.md": "before\n", "n/b.md": "stays in the index\n" });
    changing.write({ "n/a.md": "after\n" });
    expect((await changing.run("get", "n/a.md")).stdout).toEndWith("1: after\n2: \n");
    rmSync(join(changing.root, "n/b.md"));
    const gone = await changing.run("get", "n/b.md");
    expect(gone.stdout).toEndWith("1: stays in the index\n2: \n");
    expect(gone.stderr).toStartWith("warning: the file is gone from disk");
    expect((await changing.run("get", "n/b.md", "--full-path")).stderr).toBe(
      "warning: --full-path could not resolve the file on disk (moved or deleted since indexing); showing qmd:// + docid instead. Run 'memq update' to refresh the index.\n",
    );
    changing.remove();
  });
});

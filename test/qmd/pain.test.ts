import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { assert, property, string } from "fast-check";
import { mkdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { resolveQmdHome } from "../../src/home/qmd-home.ts";
import { search } from "../../src/search/search.ts";
import { analyse } from "../../src/search/tokens.ts";
import type { Hit } from "../../src/search/types.ts";
import { openIndex } from "../../src/store/open.ts";
import { hashedWords } from "../search/homes.ts";
import { qmdHome, type QmdTestHome } from "./homes.ts";

// What users of note search have suffered from, by the numbers of a list that is not kept here.
setDefaultTimeout(60_000);

const NOTES = {
  "n/release.md": "# Releases\n\nrelease 1.0.21 came after 2026.4.10 and fixed wrong-book.\n",
  "n/docs/SYNTAX.md": "# Syntax\n\nTODO: fix gateway/run.py on 2026-03-31, it's at user@host with e=mc2 and #tag.\n",
  "n/api.md": "# API\n\nwhy? @nasa uses C++ at 50% of a,b. See https://x.dev/a?b=1 for NEAR and AND.\n",
  "n/悬空.md": "步2 重跑gen-itgc后50条悬空引用清零。静默失败。\n",
  "n/2026-06-16.md": "sixteenth with dashes\n",
  "n/2026_06_16.md": "sixteenth with underscores\n",
  "n/README.md": "upper read me\n",
  "n/readme.md": "lower read me\n",
};

let home: QmdTestHome;
let ask: (query: string, collections?: string[]) => Promise<Hit[]>;
let close = (): void => {};

beforeAll(async () => {
  home = await qmdHome(NOTES);
  ({ ask, close } = await asker(home));
});
afterAll(() => {
  close();
  home.remove();
});

/** Searches in this process, by keywords, as `search` does. */
async function asker(of: QmdTestHome): Promise<{ ask: typeof ask; close: () => void }> {
  const { home: resolved } = await resolveQmdHome({ env: of.env, cwd: of.root });
  const index = openIndex(of.indexPath, { mode: "read" });
  const all = resolved.collections.map(({ name }) => name);
  return {
    ask: async (query, collections = all) => {
      const request = {
        query,
        profile: resolved.search,
        limit: 20,
        collections,
        asOf: Date.now(),
        deadline: Date.now() + 5000,
        minScore: 0,
      };
      return (await search({ home: resolved, index, provider: null }, request)).hits;
    },
    close: () => index.close(),
  };
}

const paths = (hits: readonly Hit[]): string[] => hits.map(({ path }) => path);

describe("names", () => {
  test("pain 2: names that differ in one character stay two documents", async () => {
    const listed = (await home.run("ls", "n")).stdout;
    expect(listed).toContain("qmd://n/2026-06-16.md\n");
    expect(listed).toContain("qmd://n/2026_06_16.md\n");
    expect((await home.run("get", "2026_06_16.md")).stdout).toContain("1: sixteenth with underscores\n");
  });

  test("pain 3: what search prints opens with get, and on disk", async () => {
    const odd = await qmdHome({ "n/! My Notes/Foo Bar/baz qux.md": "quxword\n" });
    for (const more of [[], ["--full-path"]]) {
      const [row] = (await odd.json("search", "quxword", "--json", ...more)) as { file: string }[];
      expect((await odd.run("get", row?.file ?? "")).stdout).toEndWith("1: quxword\n2: \n");
      if (more.length > 0) expect(await Bun.file(join(odd.root, row?.file ?? "")).text()).toBe("quxword\n");
    }
    odd.remove();
  });

  test("a name in another case is that of the only document it can be", async () => {
    const own = await qmdHome({
      "n/README.md": "the read me\n",
      "n/sub/Éclair au Chocolat.md": "a sweet\n",
      "n/sub/Guide.md": "outer guide\n",
      "n/sub/deep/GUIDE.md": "deep guide\n",
      "n/sub/deep/GuIDe.md": "odd guide\n",
    });
    const got = async (...args: string[]): Promise<string> => (await own.run("get", ...args)).stdout;
    for (const name of ["readme.md", "n/ReadMe.md", "qmd://N/readme.MD", "readme.md:1"])
      expect(await got(name)).toContain("1: the read me\n");
    expect(await got("e\u0301clair AU chocolat.md")).toContain("1: a sweet\n");
    expect(await got("sub/guide.md")).toContain("1: outer guide\n");
    expect(await got("GUIDE.md")).toContain("1: deep guide\n");
    expect((await own.run("multi-get", "readme.md,SUB/GUIDE.md", "--files")).stdout).toMatch(
      /^#\w{6},qmd:\/\/n\/README\.md\n#\w{6},qmd:\/\/n\/sub\/Guide\.md\n$/,
    );
    const ambiguous = await own.run("get", "deep/guide.md");
    expect(ambiguous.exitCode).toBe(1);
    expect(ambiguous.stderr).toMatch(/^Ambiguous name: deep\/guide\.md\n[^]*GUIDE\.md\n[^]*GuIDe\.md\n/);
    own.remove();
  });

  test("pain 5: two names that differ in case are two documents", async () => {
    expect((await home.run("get", "n/README.md")).stdout).toContain("1: upper read me\n");
    expect((await home.run("get", "n/readme.md")).stdout).toContain("1: lower read me\n");
  });

  test("pain 37: docids work everywhere, and a name matches at a path boundary only", async () => {
    const [row] = (await home.json("search", "TODO", "--json")) as { docid: string; file: string }[];
    expect(row?.file).toBe("qmd://n/docs/SYNTAX.md");
    const rows = await home.json("multi-get", `${row?.docid},#000000`, "--json");
    expect(rows.map(({ file }) => file)).toEqual([row?.file]);
    expect((await home.run("get", "NTAX.md")).exitCode).toBe(1);
    expect((await home.run("get", "pi.md")).exitCode).toBe(1);
    expect((await home.run("get", "SYNTAX.md")).stdout).toStartWith("qmd://n/docs/SYNTAX.md");
  });

  test.skipIf(process.platform === "win32")("pain 43: one-letter folders are folders", async () => {
    const letters = await qmdHome({ "c/work/a.md": "one letter\n" });
    expect((await letters.run("get", join(letters.root, "c/work/a.md"))).stdout).toStartWith("qmd://c/work/a.md  #");
    letters.remove();
  });
});

describe("queries", () => {
  test("pain 6: words of scripts without blanks are found", async () => {
    for (const query of ["悬空", "itgc", "静默", "步2", "引用清零"])
      expect(paths(await ask(query))).toContain("悬空.md");
  });

  const typed: [string, string][] = [
    ["2026-03-31", "docs/SYNTAX.md"],
    ["wrong-book", "release.md"],
    ["TODO: fix", "docs/SYNTAX.md"],
    ["gateway/run.py", "docs/SYNTAX.md"],
    ["it's", "docs/SYNTAX.md"],
    ["why?", "api.md"],
    ["@nasa", "api.md"],
    ["C++", "api.md"],
    ["50%", "api.md"],
    ["a,b", "api.md"],
    ["NEAR(", "api.md"],
    ["AND", "api.md"],
    ["user@host", "docs/SYNTAX.md"],
    ["e=mc2", "docs/SYNTAX.md"],
    ["#tag", "docs/SYNTAX.md"],
  ];
  test.each(typed)("pain 7, 8: %j finds its note", async (query, path) => {
    expect(paths(await ask(query))).toContain(path);
  });

  test("pain 7: quotes, stars and operators alone are answered too", async () => {
    for (const query of ['"', "*", "(", "^", "-", "NOT", '""', "col:x", "\0", "a OR", "'"]) {
      expect(Array.isArray(await ask(query))).toBe(true);
    }
  });

  test("pain 8: no query throws, and one without syntax finds what its tokens find", async () => {
    const queries: string[] = [];
    assert(
      property(string({ unit: "grapheme", maxLength: 40 }), (query) => {
        queries.push(query);
      }),
      { numRuns: 150, seed: 3 },
    );
    for (const query of queries) {
      const found = paths(await ask(query));
      if (/["\-\u201c]/.test(query)) continue;
      const tokens = analyse(query).filter(({ kind }) => kind === "word");
      if (tokens.length !== analyse(query).length) continue;
      expect(paths(await ask(tokens.map(({ surface }) => surface).join(" ")))).toEqual(found);
    }
  });

  test("pain 9: dotted versions are found, quoted or not", async () => {
    for (const query of ["1.0.21", '"1.0.21"', "2026.4.10", '"release 1.0.21"']) {
      expect(paths(await ask(query))[0]).toBe("release.md");
    }
  });

  test("pain 10: paths and addresses are split as the index splits them", async () => {
    expect(paths(await ask("docs/SYNTAX.md"))[0]).toBe("docs/SYNTAX.md");
    expect(paths(await ask("https://x.dev/a?b=1"))[0]).toBe("api.md");
  });
});

describe("collections", () => {
  test("pain 11: a collection may be called anything", async () => {
    const names = ["cos-knowledge", "a'b", "x;drop", "100%", "-dash", "with blank", "ünï"];
    const odd = await qmdHome(Object.fromEntries(names.map((name, at) => [`${name}/f${at}.md`, `word${at} shared\n`])));
    for (const [at, name] of names.entries()) {
      const rows = await odd.json("search", "shared", "--json", `--collection=${name}`);
      expect(rows.map(({ file }) => file)).toEqual([`qmd://${name}/f${at}.md`]);
      expect((await odd.run("ls", "--", name)).stdout).toContain(`qmd://${name}/f${at}.md`);
    }
    odd.remove();
  });

  test("pain 12: a small collection is scored as if the big one beside it were not there", async () => {
    const chats = Object.fromEntries(
      Array.from({ length: 2000 }, (_, at) => [`chats/${at}.md`, `openclaw chat ${at} openclaw openclaw\n`]),
    );
    const mixed = await qmdHome({
      ...chats,
      "core/a.md": "long text about many things among which openclaw is one of several more words here\n",
      "core/b.md": "nothing of it\n",
      "skills/c.md": "a skill for openclaw with a number of other words that make it longer than a chat\n",
    });
    const { ask: askMixed, close: closeMixed } = await asker(mixed);
    const both = await askMixed("openclaw", ["core", "skills"]);
    expect(paths(both).toSorted()).toEqual(["a.md", "c.md"]);
    const alone = [...(await askMixed("openclaw", ["core"])), ...(await askMixed("openclaw", ["skills"]))];
    const score = (hits: readonly Hit[]): Record<string, number> =>
      Object.fromEntries(hits.map((hit) => [hit.path, hit.score]));
    expect(score(both)).toEqual(score(alone));
    const rows = await mixed.json("search", "openclaw", "--json", "-c", "core", "-c", "skills", "-n", "1");
    expect(rows).toHaveLength(1);
    closeMixed();
    mixed.remove();
  });

  test("pain 51: a file in two collections is shown once when nothing is named, and in each when it is", async () => {
    const shared = await qmdHome(
      { "n/sub/a.md": "twofold\n" },
      { yaml: 'collections:\n  whole:\n    path: "$ROOT/n"\n  part:\n    path: "$ROOT/n/sub"\n' },
    );
    expect((await shared.json("search", "twofold", "--json")).map(({ file }) => file)).toEqual([
      "qmd://whole/sub/a.md",
    ]);
    const part = await shared.json("search", "twofold", "--json", "-c", "part");
    expect(part.map(({ file }) => file)).toEqual(["qmd://part/a.md"]);
    shared.remove();
  });

  test("everything excluded searches nothing and says so", async () => {
    const none = await qmdHome(
      { "n/a.md": "hidden\n" },
      { yaml: 'collections:\n  n:\n    path: "$ROOT/n"\n    includeByDefault: false\n' },
    );
    const outcome = await none.run("search", "hidden", "--json");
    expect(outcome).toMatchObject({ stdout: "[]\n", exitCode: 0 });
    expect(outcome.stderr).toStartWith("Every collection is excluded");
    expect(await none.json("search", "hidden", "--json", "-c", "n")).toHaveLength(1);
    none.remove();
  });

  test("pain 44: a named index is another index", async () => {
    expect(JSON.parse((await home.run("search", "release", "--json", "--index", "elsewhere")).stdout)).toEqual([]);
  });
});

describe("answers", () => {
  test("pain 13: searches beside an update on a cold index all answer", async () => {
    const cold = await qmdHome(
      Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`n/${at}.md`, `cold note ${at}\n`])),
      { sync: false },
    );
    const outcomes = await Promise.all([
      cold.run("update"),
      ...Array.from({ length: 6 }, () => cold.run("search", "cold", "--json")),
    ]);
    for (const { exitCode, stderr } of outcomes)
      expect({ stderr, exitCode }).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining("SQLITE") });
    for (const { stdout } of outcomes.slice(1)) expect(Array.isArray(JSON.parse(stdout))).toBe(true);
    expect((await cold.json("search", "cold", "--json", "--all")).length).toBe(60);
    cold.remove();
  });

  test("pain 1: without sqlite-vec vectors are searched all the same", async () => {
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch(request) {
        const { input } = (await request.json()) as { input: string | string[] };
        return Response.json({
          data: [input].flat().map((text, index) => ({ index, embedding: [...hashedWords(text)] })),
        });
      },
    });
    const env = { QMD_EMBED_MODEL: `http://127.0.0.1:${server.port}/v1#m` };
    const vectors = await qmdHome(
      { "n/a.md": "cat sofa\n", "n/b.md": "router hall\n" },
      { env, sync: { embed: true } },
    );
    const asked = async (more: Record<string, string>): Promise<string> => {
      Object.assign(vectors.env, more);
      return (await vectors.run("vsearch", "cat sofa", "--json")).stdout;
    };
    const usual = await asked({});
    expect(JSON.parse(usual)).toMatchObject([{ path: "a.md" }]);
    expect(await asked({ MEMQ_NO_VEC: "1" })).toBe(usual);
    vectors.remove();
  });

  test("pain 21: stdout holds the answer and nothing else", async () => {
    for (const command of ["search", "query", "vsearch"]) {
      const { stdout, stderr } = await home.run(command, "release", "--json");
      expect(Array.isArray(JSON.parse(stdout))).toBe(true);
      expect(stderr).not.toContain("{");
    }
  });

  test("pain 23: a deleted file is not an answer, an edited one is shown as it is", async () => {
    const changing = await qmdHome({ "n/ghost.md": "spectre one\n", "n/live.md": "spectre two\n" });
    unlinkSync(join(changing.root, "n/ghost.md"));
    changing.write({ "n/live.md": "new first line\nspectre three\n" });
    const outcome = await changing.run("search", "spectre", "--json");
    expect(JSON.parse(outcome.stdout)).toMatchObject([{ path: "live.md", line: 2, start_line: 1 }]);
    expect(outcome.stdout).toContain("spectre three");
    expect(outcome.stderr).toContain("gone since the last sync");
    const whole = await changing.json("search", "spectre", "--json", "--full", "--full-path");
    expect(whole.map(({ file }) => String(file)).toSorted()).toEqual(["./n/live.md", "qmd://n/ghost.md"]);
    changing.remove();
  });

  test.skipIf(process.platform === "win32")("pain 31: a link that leads out is never read", async () => {
    const linked = await qmdHome({ "n/a.md": "inside\n" });
    const outside = join(linked.env["HOME"] ?? "", "outside.md");
    writeFileSync(outside, "topsecret\n");
    rmSync(join(linked.root, "n/a.md"));
    symlinkSync(outside, join(linked.root, "n/a.md"));
    expect((await linked.run("get", "n/a.md")).stdout).toContain("1: inside\n");
    expect(await linked.json("search", "inside", "--json")).toEqual([]);
    mkdirSync(join(linked.root, "n/loop"));
    symlinkSync(join(linked.root, "n"), join(linked.root, "n/loop/again"));
    await linked.sync();
    expect(await linked.json("search", "topsecret", "--json")).toEqual([]);
    linked.remove();
  });

  test("pain 38: nothing found is [] and exit 0, a collection that is not there is exit 1", async () => {
    expect(await home.run("search", "zzzzz", "--json")).toEqual({ stdout: "[]\n", stderr: "", exitCode: 0 });
    expect(await home.run("query", "x", "--json", "-c", "nope")).toMatchObject({ stdout: "", exitCode: 1 });
    const nothing = await qmdHome({}, { yaml: "collections: {}\n", sync: false });
    expect(await nothing.run("search", "x", "--json")).toMatchObject({ stdout: "[]\n", exitCode: 0 });
    nothing.remove();
  });

  test("pain 39: --full-path keeps the columns of CSV, and what has no file says so on stderr", async () => {
    const two = await qmdHome({ "n/a.md": "columns\n", "n/b.md": "columns too\n" });
    unlinkSync(join(two.root, "n/b.md"));
    const { stdout, stderr } = await two.run("search", "columns", "--csv", "--full-path");
    const rows = stdout.split("\n").filter((line) => /^(#|,)/.test(line));
    expect(rows.map((row) => row.split(",")[2] ?? "").toSorted()).toEqual(["./n/a.md", "qmd://n/b.md"]);
    expect(stderr).toContain("could not resolve 1 of 2 results on disk");
    two.remove();
  });

  test("pain 40: notes are filtered by date and tag, and broken front matter breaks nothing", async () => {
    const dated = await qmdHome({
      "n/a.md": "---\ntags: [x]\ndate: 2026-01-02\n---\nfiltered one\n",
      "n/b.md": "---\ntags: [y\ndate: : :\n---\nfiltered two\n",
    });
    expect((await dated.json("search", "filtered", "--json", "--tag", "x")).map(({ path }) => path)).toEqual(["a.md"]);
    const until = await dated.json("search", "filtered", "--json", "--until", "2026-02-01", "--since", "2026-01-01");
    expect(until.map(({ path }) => path)).toEqual(["a.md"]);
    expect(await dated.json("search", "filtered", "--json")).toHaveLength(2);
    dated.remove();
  });

  test("pain 28: a snippet tears no emoji apart", async () => {
    const emoji = await qmdHome({ "n/a.md": `needle ${"😀".repeat(2000)}\n` });
    const [row] = (await emoji.json("search", "needle", "--json")) as { snippet: string }[];
    expect(row?.snippet.isWellFormed()).toBe(true);
    expect(row?.snippet.length).toBeLessThan(400);
    emoji.remove();
  });

  test("XML is well-formed whatever a note holds", async () => {
    const raw = await qmdHome({ 'n/<&>".md': '# a <b> & "c"\n\nneedle \u0001\u001b ]]> <x> \ufffe\n' });
    const { stdout } = await raw.run("search", "needle", "--xml", "--full");
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    expect(stdout).not.toMatch(/[\u0001\u001b\ufffe]/);
    const elements: string[] = [];
    const reader = new HTMLRewriter().on("*", { element: (element) => void elements.push(element.tagName) });
    reader.transform(stdout);
    expect(elements).toEqual(["results", "file"]);
    expect(stdout).toContain("needle \ufffd\ufffd ]]&gt; &lt;x&gt; \ufffd");
    raw.remove();
  });
});

import { afterAll, expect, test } from "bun:test";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { resolveAgentHome } from "../../src/home/agent-home.ts";
import { servedAgent } from "../../src/memory/backend.ts";
import { openMemoryEngine, type MemoryEngine } from "../../src/memory/engine.ts";
import { temporaryFolder } from "../temporary.ts";

/* What is searched can be read, by every name that is printed for it, and what is not searched can't. */

const PATTERN = "**/*.{md,txt,MD}";
const roots: string[] = [];
afterAll(() => roots.forEach((root) => rmSync(root, { recursive: true, force: true })));

/** The engine of an agent whose folder `docs` outside its workspace is a further path, indexed. */
async function engineOf(
  backend: "builtin" | "qmd",
  config: object,
  files: Record<string, string>,
): Promise<MemoryEngine> {
  const root = temporaryFolder("printed-");
  roots.push(root);
  for (const [path, text] of Object.entries({ "ws/MEMORY.md": "# Birds\n\n- a heron\n", ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  symlinkSync(join(root, "docs/a.txt"), join(root, "docs/linked.txt"));
  const agent = await resolveAgentHome({
    workspace: join(root, "ws"),
    stateDir: join(root, "state"),
    config: { memory: { backend }, ...config },
    env: {},
    cwd: root,
  });
  const engine = await openMemoryEngine(await servedAgent(agent, root), { live: false, watch: false, log: () => {} });
  expect(engine.agent.backend).toBe(backend);
  await engine.index({});
  return engine;
}

const DOCS = {
  "docs/a.txt": "a heron in a text\n",
  "docs/D.MD": "a heron in capitals\n",
  "docs/b c.md": "a heron and a blank\n",
  "docs/50%20.md": "a heron and a percent sign\n",
  "docs/.secret/c.md": "a heron that is hidden\n",
  "docs/build/d.md": "a heron that was built\n",
  "docs/node_modules/e.md": "a heron of a tool\n",
  "ws/memory/2026-01-01.md": "a heron that day\n",
  "ws/memory/.dreams/f.md": "a heron in a dream\n",
};

const backends = {
  qmd: { memory: { backend: "qmd", qmd: { paths: [{ path: "../docs", name: "docs", pattern: PATTERN }] } } },
  builtin: { agents: { defaults: { memorySearch: { extraPaths: [{ path: "../docs", pattern: PATTERN }] } } } },
};

test.each(["qmd", "builtin"] as const)("get refused what search had printed (%s)", async (backend) => {
  const engine = await engineOf(backend, backends[backend], DOCS);
  const { results } = await engine.search({ query: "heron", maxResults: 50, minScore: 0 });
  const prefix = backend === "qmd" ? "qmd/docs" : "../docs";
  const paths = results.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining([
      "MEMORY.md",
      `${prefix}/a.txt`,
      `${prefix}/D.MD`,
      `${prefix}/b c.md`,
      `${prefix}/50%20.md`,
    ]),
  );
  for (const { path, citation = "", snippet } of results) {
    expect(await engine.get({ path })).toEqual({ path, text: expect.stringContaining("heron") });
    const cited = await engine.get({ path: citation });
    expect(cited).toMatchObject({ path, from: expect.any(Number) });
    expect(snippet).toContain(cited.text.trim());
  }
  await engine.close();
});

test("get read what no search takes up", async () => {
  const qmd = await engineOf("qmd", backends.qmd, DOCS);
  const refused = { text: "", disabled: true, code: "MEMORY_PATH_NOT_ALLOWED" };
  for (const path of ["qmd/docs/.secret/c.md", "qmd/docs/build/d.md", "qmd/docs/node_modules/e.md", "qmd/docs/x.rst"]) {
    expect(await qmd.get({ path })).toMatchObject({ path, ...refused });
    expect(await qmd.get({ path: `qmd://docs/${path.slice(9)}` })).toMatchObject(refused);
  }
  // Notes of the memory folder are read, whether they are indexed or not.
  expect(await qmd.get({ path: "memory/.dreams/f.md" })).toMatchObject({ text: "a heron in a dream\n" });
  await qmd.close();
});

test("get knew only some of the names that are printed for a note", async () => {
  const engine = await engineOf("qmd", backends.qmd, DOCS);
  const { root } = engine.agent.home.collections.find(({ name }) => name === "docs")!;
  for (const path of [
    "qmd/docs/b c.md",
    "qmd://docs/b c.md",
    "qmd://docs/b%20c.md",
    "docs/b c.md",
    join(root, "b c.md"),
  ]) {
    expect(await engine.get({ path })).toEqual({ path: "qmd/docs/b c.md", text: "a heron and a blank\n" });
  }
  expect(await engine.get({ path: "memory/MEMORY.md" })).toEqual({ path: "memory/MEMORY.md", text: "" });
  await engine.close();
});

test("get refused qmd/<collection>/… of the collections within the workspace", async () => {
  const engine = await engineOf("qmd", backends.qmd, { ...DOCS, "ws/memory/a.md": "a heron in the workspace\n" });
  const text = "a heron in the workspace\n";
  expect(await engine.get({ path: "qmd/memory-dir-main/a.md" })).toEqual({ path: "memory/a.md", text });
  expect(await engine.get({ path: "qmd/memory-dir-main/none.md" })).toEqual({ path: "memory/none.md", text: "" });
  for (const path of ["qmd/memory-dir-main/../../x.md", "qmd/none/a.md", "qmd/"])
    expect(await engine.get({ path })).toMatchObject({ text: "", disabled: true });
  await engine.close();
});

test("transcripts that are exported below the notes were read under another spelling of their path", async () => {
  const exportDir = "memory/talks";
  const sessions = { memory: { backend: "qmd", qmd: { sessions: { enabled: true, exportDir } } } };
  const engine = await engineOf("qmd", sessions, { ...DOCS, "ws/memory/talks/one.md": "a heron in confidence\n" });
  for (const path of [
    "memory/talks/one.md",
    "./memory/talks/one.md",
    "memory/./talks/one.md",
    "memory/x/../talks/one.md",
  ]) {
    expect(await engine.get({ path })).toMatchObject({ text: "", code: "MEMORY_PATH_NOT_ALLOWED" });
  }
  await engine.close();
});

test("of two further paths in one folder only the first was read", async () => {
  const extraPaths = [
    { path: "../docs", pattern: "*.txt" },
    { path: "../docs", pattern: "*.md" },
  ];
  const engine = await engineOf("builtin", { agents: { defaults: { memorySearch: { extraPaths } } } }, DOCS);
  expect(await engine.get({ path: "../docs/b c.md" })).toMatchObject({ text: "a heron and a blank\n" });
  await engine.close();
});

test.each(["qmd", "builtin"] as const)(
  "what a further path's pattern leaves out is neither found nor read (%s)",
  async (backend) => {
    const pattern = "**/*.{md,txt},!private/**";
    const extra = { path: "../docs", name: "docs", pattern };
    const config =
      backend === "qmd"
        ? { memory: { backend, qmd: { paths: [extra] } } }
        : { agents: { defaults: { memorySearch: { extraPaths: [extra] } } } };
    const engine = await engineOf(backend, config, { ...DOCS, "docs/private/p.md": "a private heron\n" });
    const prefix = backend === "qmd" ? "qmd/docs" : "../docs";
    const { results } = await engine.search({ query: "heron", maxResults: 50, minScore: 0 });
    const paths = results.map(({ path }) => path);
    expect(paths).toContain(`${prefix}/b c.md`);
    expect(paths).not.toContain(`${prefix}/private/p.md`);
    expect(await engine.get({ path: `${prefix}/b c.md` })).toMatchObject({ text: "a heron and a blank\n" });
    expect(await engine.get({ path: `${prefix}/private/p.md` })).toMatchObject({ text: "", disabled: true });
    await engine.close();
  },
);

test.each(["qmd", "builtin"] as const)("get refused a docid that the index knows (%s)", async (backend) => {
  const engine = await engineOf(backend, backends[backend], DOCS);
  const docidOf = (text: string): string => `#${new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 6)}`;
  const docid = docidOf(DOCS["docs/a.txt"]);
  const path = `${backend === "qmd" ? "qmd/docs" : "../docs"}/a.txt`;
  const text = DOCS["docs/a.txt"];
  expect(await engine.get({ path: docid })).toEqual({ path, text });
  expect(await engine.get({ path: `${docid}:1-1` })).toMatchObject({ path, text: text.trim(), from: 1, lines: 1 });
  expect(await engine.get({ path: docidOf("nobody's text") })).toMatchObject({ code: "MEMORY_PATH_NOT_ALLOWED" });
  await engine.close();
});

test("a docid leads to no transcript", async () => {
  const turn = { type: "message", message: { role: "user", content: [{ type: "text", text: "a heron was said" }] } };
  const files = { "state/agents/main/sessions/s1.jsonl": `${JSON.stringify(turn)}\n` };
  const search = { sources: ["memory", "sessions"], experimental: { sessionMemory: true } };
  const engine = await engineOf("builtin", { agents: { defaults: { memorySearch: search } } }, { ...DOCS, ...files });
  const hashes = await engine.withIndex((index) =>
    index.db
      .query<{ hash: string; path: string }, []>("SELECT hash, path FROM documents WHERE path LIKE '%.jsonl'")
      .all(),
  );
  expect(hashes).toHaveLength(1);
  expect(await engine.get({ path: `#${hashes[0]!.hash.slice(0, 6)}` })).toMatchObject({ text: "", disabled: true });
  await engine.close();
});

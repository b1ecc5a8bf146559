import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Client } from "./client.ts";
import { makeHome, startRpc } from "./client.ts";

const running: Client[] = [];
afterAll(() => Promise.all(running.map((client) => client.end())));

const NOTES = {
  "MEMORY.md": "# Long-term\n\n- The hedgehog is called Rod.\n",
  "memory/2026-02-10.md": "# Garden\n\nThe hedgehog sleeps in the garage.\n\nThe hedgehog eats figs.\n",
};

async function open(qmd: object = {}, prepare: (home: { workspace: string; stateDir: string }) => void = () => {}) {
  const home = makeHome(NOTES);
  prepare(home);
  const client = startRpc();
  running.push(client);
  const outside = join(dirname(home.workspace), "library");
  mkdirSync(outside);
  writeFileSync(join(outside, "book.md"), "A book about the hedgehog.\n");
  const config = { memory: { backend: "qmd", qmd: { paths: [{ path: outside, name: "library" }], ...qmd } } };
  const hello = await client.call("initialize", { ...home, config, watch: false });
  const search = async (params: object = {}) => client.call("memory.search", { query: "hedgehog", ...params });
  return { client, home, hello, search };
}

describe("memory.backend qmd", () => {
  test("serves the agent from its qmd home, one row per document, under the names of that home", async () => {
    const { client, home, search } = await open();
    const found = await search();
    expect(found).toMatchObject({ provider: "none", mode: "keyword" });
    const paths = found.results.map(({ path }: { path: string }) => path).sort();
    expect(paths).toEqual(["MEMORY.md", "memory/2026-02-10.md", "qmd/library/book.md"]);
    expect(await client.call("memory.get", { path: "qmd/library/book.md" })).toEqual({
      path: "qmd/library/book.md",
      text: "A book about the hedgehog.\n",
    });
    expect(await client.call("memory.status")).toMatchObject({ backend: "qmd", files: 3 });
    const yml = readFileSync(join(home.stateDir, "agents/main/qmd/xdg-config/qmd/index.yml"), "utf8");
    for (const name of ["memory-root-main", "memory-dir-main", "library"]) expect(yml).toContain(`${name}:`);
    expect(existsSync(join(home.stateDir, "agents/main/qmd/xdg-cache/qmd/index.sqlite"))).toBe(true);
  });

  test("keeps its limits", async () => {
    const { search } = await open({ limits: { maxResults: 2, maxInjectedChars: 40 } });
    const { results } = await search({ maxResults: 50 });
    expect(results.length).toBeLessThanOrEqual(2);
    const length = results.reduce((sum: number, { snippet }: { snippet: string }) => sum + snippet.length, 0);
    expect(length).toBeLessThanOrEqual(40);
  });

  test("denies groups unless the scope allows them", async () => {
    const { search } = await open();
    expect(await search({ chatType: "group" })).toMatchObject({ results: [], denied: true });
  });

  test("exports transcripts and finds them", async () => {
    const { search } = await open({ sessions: { enabled: true } }, ({ stateDir }) => {
      const folder = join(stateDir, "agents/main/sessions");
      mkdirSync(folder, { recursive: true });
      const message = { role: "user", content: [{ type: "text", text: "The hedgehog asked for milk." }] };
      writeFileSync(join(folder, "abc.jsonl"), `${JSON.stringify({ type: "message", message })}\n`);
    });
    const { results } = await search({ corpus: "sessions" });
    expect(results).toMatchObject([{ path: "qmd/sessions-main/abc.md", source: "sessions" }]);
  });

  test("without onBoot the first search starts the sync and waits for it", async () => {
    const { search } = await open({ update: { onBoot: false } });
    expect((await search()).results).toHaveLength(3);
  });

  test("a home that can't be used leaves the built-in index, and says why", async () => {
    const { hello, search } = await open({}, ({ stateDir }) => {
      const folder = join(stateDir, "agents/main/qmd/xdg-config/qmd");
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "index.yml"), "collections: [oops");
    });
    expect(hello.status).toMatchObject({ backend: "builtin", fallback: { from: "qmd", reason: expect.any(String) } });
    const found = await search();
    expect(found.fallback.from).toBe("qmd");
    expect(found.results.length).toBeGreaterThan(0);
  });
});

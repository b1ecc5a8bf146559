import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { messageOf } from "../../src/errors.ts";
import { resolveAgentHome } from "../../src/home/agent-home.ts";
import { withWriterLock } from "../../src/store/lock.ts";
import { makeHome } from "../gateway/client.ts";
import { connectStdio, type ForeignClient, type Generation, GENERATIONS } from "./clients.ts";

const NOTES = {
  "MEMORY.md": "# Long-term\n\n- Rod prefers TypeScript. <!-- importance: 8 -->\n- Zeb is Rod's manager.\n",
  "memory/2026-02-10.md": "# Network\nThe Omada router has VLAN 10 for the cameras.\n",
};

const open: ForeignClient[] = [];
afterAll(() => Promise.all(open.map((client) => client.close())));

async function session(generation: Generation, args: string[] = [], notes: Record<string, string> = NOTES) {
  return connectTo(generation, makeHome(notes), args);
}

async function connectTo(generation: Generation, home: ReturnType<typeof makeHome>, args: string[] = []) {
  const client = await connectStdio(generation, ["--workspace", home.workspace, "--state-dir", home.stateDir, ...args]);
  open.push(client);
  return { client, home };
}

describe.each(GENERATIONS)("the memory of an agent, asked by the official client (%s)", (generation) => {
  test("is searched, and what a result names can be read", async () => {
    const { client } = await session(generation);
    expect(client.getServerVersion()?.name).toBe("memq");
    expect(client.getInstructions()).toContain("memory_search");
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["memory_search", "memory_get"]);
    expect(tools.every(({ outputSchema }) => outputSchema !== undefined)).toBe(true);
    expect(tools[0]?.annotations).toEqual({ readOnlyHint: true, openWorldHint: false });

    const found = await client.callTool({ name: "memory_search", arguments: { query: "which vlan do cameras use?" } });
    expect(found.isError).toBeUndefined();
    expect(JSON.parse(found.content[0]?.text ?? "")).toEqual(found.structuredContent);
    const [first] = found.structuredContent.results;
    expect(first).toMatchObject({ path: "memory/2026-02-10.md", citation: "memory/2026-02-10.md#L1-L3" });

    const read = await client.callTool({
      name: "memory_get",
      arguments: { path: first.path, from: 2, lines: 1 },
    });
    expect(read.structuredContent).toMatchObject({ text: "The Omada router has VLAN 10 for the cameras.", from: 2 });
  });

  test("refuses paths outside as an answer, and wrong arguments in words", async () => {
    const { client } = await session(generation);
    const outside = await client.callTool({ name: "memory_get", arguments: { path: "../secret.md" } });
    expect(outside.structuredContent).toMatchObject({ disabled: true, code: "MEMORY_PATH_NOT_ALLOWED" });
    const wrong = await client.callTool({ name: "memory_search", arguments: { query: "x", corpus: "wiki" } });
    expect(wrong).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("corpus must be one of: memory, sessions, all") }],
    });
    const unknown = await client.callTool({ name: "memory_append", arguments: { text: "x" } }).catch(messageOf);
    expect(unknown).toContain("Tool memory_append not found");
  });

  test("takes notes down where that is allowed, and finds them", async () => {
    const { client, home } = await session(generation, ["--allow-write"]);
    const { structuredContent } = await client.callTool({
      name: "memory_append",
      arguments: { text: "The gate code is 7713.", target: "long-term" },
    });
    expect(structuredContent).toEqual({ path: "MEMORY.md", startLine: 5, endLine: 5 });
    expect(readFileSync(join(home.workspace, "MEMORY.md"), "utf8")).toEndWith("The gate code is 7713.\n");
    for (;;) {
      const found = await client.callTool({ name: "memory_search", arguments: { query: "gate code" } });
      if (JSON.stringify(found.structuredContent).includes("7713")) break;
    }
  });

  test("is not offered while it is switched off, and says so when asked", async () => {
    const home = makeHome(NOTES);
    const config = join(home.workspace, "../off.json");
    await Bun.write(config, JSON.stringify({ agents: { defaults: { memorySearch: { enabled: false } } } }));
    const client = await connectStdio(generation, ["--workspace", home.workspace, "--config", config]);
    open.push(client);
    expect((await client.listTools()).tools).toEqual([]);
    const answer = await client.callTool({ name: "memory_search", arguments: { query: "x" } });
    expect(answer.structuredContent).toMatchObject({ results: [], disabled: true, unavailable: true });
    const read = await client.callTool({ name: "memory_get", arguments: { path: "MEMORY.md" } });
    expect(read.structuredContent).toMatchObject({ text: "", disabled: true, code: "MEMORY_READ_FAILED" });
  });

  test("asked for sources to be named although citations were off", async () => {
    const home = makeHome(NOTES);
    const config = join(home.workspace, "../quiet.json");
    await Bun.write(config, JSON.stringify({ memory: { citations: "off" } }));
    const client = await connectStdio(generation, ["--workspace", home.workspace, "--config", config]);
    open.push(client);
    expect(client.getInstructions()).not.toContain("Source:");
    expect(client.getInstructions()).toContain("name no paths or line numbers");
  });

  test("tells how far the first sync is to whoever wants to hear it", async () => {
    const home = makeHome(
      Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`memory/n${at}.md`, `Topic ${at}.\n`])),
    );
    const heard: { progress: number; message?: string }[] = [];
    const hears = Promise.withResolvers<void>();
    // Another process writes until the caller has heard something, so that the sync can't be over before it asks.
    const { home: resolved } = await resolveAgentHome({ ...home, config: {}, env: {}, cwd: home.workspace });
    mkdirSync(dirname(resolved.indexPath), { recursive: true });
    const writing = withWriterLock(resolved.indexPath, () => hears.promise);
    const { client } = await connectTo(generation, home);
    const found = await client.callTool(
      { name: "memory_search", arguments: { query: "topic 3" } },
      {
        onprogress(progress) {
          heard.push(progress);
          hears.resolve();
        },
      },
    );
    await writing;
    expect(found.structuredContent.results.length).toBeGreaterThan(0);
    expect(heard.length).toBeGreaterThan(0);
    const numbers = heard.map(({ progress }) => progress);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
  });
});

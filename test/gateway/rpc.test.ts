import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Framing } from "../../src/gateway/framing.ts";
import { childEnv, memqCommand } from "../cli/program.ts";
import type { Client, Json } from "./client.ts";
import { makeHome, startRpc } from "./client.ts";

const NOTES = {
  "MEMORY.md": "# Long-term\n\n- Rod prefers TypeScript. <!-- importance: 8 -->\n- Zeb is Rod's manager.\n",
  "memory/2026-02-10.md": "# Network\nThe Omada router has VLAN 10 for the cameras.\n",
  "memory/long.md": Array.from({ length: 900 }, (_, at) => `Line ${at + 1} of a long list.`).join("\n"),
};

const running: Client[] = [];
function start(options?: Parameters<typeof startRpc>[0]): Client {
  const client = startRpc(options);
  running.push(client);
  return client;
}
afterAll(() => Promise.all(running.map((client) => client.end())));

async function open(notes: Record<string, string> = NOTES, options?: Parameters<typeof startRpc>[0]) {
  const home = makeHome(notes);
  const client = start(options);
  const hello = await client.call("initialize", { ...home, watch: false });
  return { client, home, hello };
}

describe.each(["lines", "headers"] as Framing[])("a session framed by %s", (framing) => {
  test("initialises, searches, reads, and ends with its input", async () => {
    const { client, hello } = await open(NOTES, { framing });
    expect(hello).toMatchObject({ protocolVersion: 1, serverInfo: { name: "memq" }, status: { backend: "builtin" } });
    const found = await client.call("memory.search", { query: "which vlan do the cameras use?" });
    expect(Object.keys(found).slice(0, 3)).toEqual(["results", "provider", "citations"]);
    expect(found).toMatchObject({ provider: "none", citations: "auto", mode: "keyword" });
    expect(found.results[0]).toMatchObject({
      path: "memory/2026-02-10.md",
      startLine: 1,
      source: "memory",
      citation: "memory/2026-02-10.md#L1-L3",
    });
    expect(found.results[0].snippet).toEndWith("\n\nSource: memory/2026-02-10.md#L1-L3");
    expect(await client.call("memory.get", { path: "memory/2026-02-10.md", from: 2, lines: 1 })).toEqual({
      path: "memory/2026-02-10.md",
      text: "The Omada router has VLAN 10 for the cameras.",
      from: 2,
      lines: 1,
    });
    expect(await client.call("ping")).toEqual({});
    expect((await client.end()).exitCode).toBe(0);
  });
});

test.each(["workspace", "stateDir", "configPath"])(
  "an empty %s meant the current folder: it is refused",
  async (name) => {
    const client = start();
    for (const [path, reason] of [
      ["", "is named by an empty text"],
      ["a\0b", "holds a NUL character"],
    ] as const) {
      const { error } = await client.request("initialize", { ...makeHome(NOTES), watch: false, [name]: path });
      expect(error.message).toContain(reason);
    }
  },
);

describe("searching", () => {
  test("in a group no path is shown, and the footer is left out", async () => {
    const { client } = await open();
    const found = await client.call("memory.search", { query: "omada", sessionKey: "agent:main:discord:group:1" });
    expect(found.results[0].citation).toBeUndefined();
    expect(found.results[0].snippet).not.toContain("Source:");
  });

  test("an empty query answers nothing", async () => {
    const { client } = await open();
    expect((await client.call("memory.search", { query: "  " })).results).toEqual([]);
  });

  test("the first search waits for the first sync, and explains when asked", async () => {
    const home = makeHome(NOTES);
    const client = start();
    const hello = client.call("initialize", { ...home, watch: false });
    const found = await client.call("memory.search", { query: "manager", explain: true });
    expect(found.results[0]).toMatchObject({ path: "MEMORY.md", startLine: 4 });
    expect(found.results[0].explain.bm25).toBeGreaterThan(0);
    expect(found.debug.hits).toBe(1);
    await hello;
  });

  test("sessions that are not indexed are unavailable, with the setting to change", async () => {
    const { client } = await open();
    expect(await client.call("memory.search", { query: "x", corpus: "sessions" })).toMatchObject({
      results: [],
      disabled: true,
      unavailable: true,
      warning: "Session transcript search is unavailable for this agent.",
      action: expect.stringContaining("experimental.sessionMemory"),
    });
  });

  test("memory that is switched off says so", async () => {
    const client = start();
    const config = { agents: { defaults: { memorySearch: { enabled: false } } } };
    await client.call("initialize", { ...makeHome(NOTES), config });
    expect(await client.call("memory.search", { query: "x" })).toMatchObject({
      results: [],
      disabled: true,
      unavailable: true,
    });
    // It was read all the same.
    expect(await client.call("memory.get", { path: "MEMORY.md" })).toEqual({
      text: "",
      path: "MEMORY.md",
      disabled: true,
      error: "Memory search is off: memorySearch.enabled is false.",
      code: "MEMORY_READ_FAILED",
    });
  });

  test("a named provider without a key makes search unavailable", async () => {
    const client = start();
    const config = { agents: { defaults: { memorySearch: { provider: "openai" } } } };
    await client.call("initialize", { ...makeHome(NOTES), config, watch: false });
    expect(await client.call("memory.search", { query: "omada" })).toMatchObject({
      results: [],
      unavailable: true,
      error: expect.stringContaining('No API key found for provider "openai"'),
      warning: "Memory search is unavailable due to an embedding/provider error.",
    });
  });

  test("scope denies with a reason", async () => {
    const client = start();
    const config = {
      memory: { qmd: { scope: { default: "allow", rules: [{ action: "deny", match: { chatType: "group" } }] } } },
    };
    await client.call("initialize", { ...makeHome(NOTES), config, watch: false });
    const denied = await client.call("memory.search", { query: "omada", chatType: "group" });
    expect(denied).toEqual({ results: [], denied: true, reason: expect.stringContaining("group") });
    expect((await client.call("memory.search", { query: "omada" })).results).toHaveLength(1);
  });

  test("a note edited since the last sync is found as it is now", async () => {
    const { client, home } = await open();
    await client.call("memory.index");
    writeFileSync(
      join(home.workspace, "memory/2026-02-10.md"),
      "# Network\nThe Omada router has VLAN 44 for the cameras.\n",
    );
    const found = await client.call("memory.search", { query: "omada router vlan" });
    expect(found.results[0].snippet).toContain("VLAN 44");
    rmSync(join(home.workspace, "memory/2026-02-10.md"));
    expect((await client.call("memory.search", { query: "omada router vlan" })).results).toEqual([]);
  });
});

describe("reading notes", () => {
  test("a long note comes in windows that can be followed to its end", async () => {
    const { client } = await open();
    const lines: string[] = [];
    let from: number | undefined = 1;
    for (let round = 0; from !== undefined && round < 10; round++) {
      const part = await client.call("memory.get", { path: "memory/long.md", ...(from === 1 ? {} : { from }) });
      expect(part.text.length).toBeLessThanOrEqual(12_000);
      expect(part).toMatchObject({ from, ...(part.nextFrom === undefined ? {} : { truncated: true }) });
      lines.push(...part.text.split("\n"));
      from = part.nextFrom;
    }
    expect(lines.join("\n")).toBe(NOTES["memory/long.md"]);
  });
});

describe("indexing", () => {
  test("reports progress and counts, and the second time nothing", async () => {
    const { client } = await open();
    const first = await client.call("memory.index", { force: true });
    expect(first).toMatchObject({ files: 3, embedded: 0, removed: 0 });
    const progress = client.messages.filter(({ method }) => method === "memory.progress").map(({ params }) => params);
    expect(progress.length).toBeGreaterThan(0);
    expect(progress[0]).toEqual({ phase: expect.any(String), done: expect.any(Number), total: expect.any(Number) });
    expect(await client.call("memory.index")).toMatchObject({
      files: 3,
      added: 0,
      changed: 0,
      removed: 0,
      embedded: 0,
    });
  });

  test("one process serves several agents", async () => {
    const [one, two] = [
      makeHome({ "memory/a.md": "Alpha likes figs." }),
      makeHome({ "memory/b.md": "Beta likes dates." }),
    ];
    const config = {
      agents: {
        list: [
          { id: "one", default: true, workspace: one.workspace },
          { id: "two", workspace: two.workspace },
        ],
      },
    };
    const client = start();
    await client.call("initialize", { stateDir: one.stateDir, config, watch: false });
    const paths = async (agentId?: string): Promise<string[]> => {
      const { results } = await client.call("memory.search", {
        query: "who likes what",
        ...(agentId ? { agentId } : {}),
      });
      return results.map(({ path }: { path: string }) => path);
    };
    expect(await Promise.all([paths(), paths("one"), paths("TWO")])).toEqual([
      ["memory/a.md"],
      ["memory/a.md"],
      ["memory/b.md"],
    ]);
    expect(await client.request("memory.search", { query: "x", agentId: "three" })).toMatchObject({
      error: { code: -32001, data: { code: "AGENT_UNKNOWN", hint: "Configured agents: one, two." } },
    });
  });
});

describe("wrong calls", () => {
  test.each([
    ["memory.search", {}, -32602, "parameter 'query' is missing"],
    ["memory.search", { query: 5 }, -32602, "parameter 'query' must be a string"],
    [
      "memory.search",
      { query: "x", maxResults: 0 },
      -32602,
      "parameter 'maxResults' must be a whole number from 1 to 200",
    ],
    [
      "memory.search",
      { query: "x", maxResults: 201 },
      -32602,
      "parameter 'maxResults' must be a whole number from 1 to 200",
    ],
    [
      "memory.search",
      { query: "x", maxResults: 2.5 },
      -32602,
      "parameter 'maxResults' must be a whole number from 1 to 200",
    ],
    ["memory.search", { query: "x", minScore: 2 }, -32602, "parameter 'minScore' must be a number from 0 to 1"],
    [
      "memory.search",
      { query: "x", corpus: "web" },
      -32602,
      "parameter 'corpus' must be one of: memory, sessions, all",
    ],
    ["memory.search", { query: "x", tags: ["a", 1] }, -32602, "parameter 'tags.1' must be a string"],
    ["memory.search", { query: "x", limit: 3 }, -32602, "unknown parameter 'limit'"],
    ["memory.search", { query: "x", since: "3m", asOf: 1e300 }, -32602, 'asOf: "1e+300" is neither a date'],
    ["memory.search", { query: "x", since: "3m", asOf: "-271821-04-20" }, -32602, 'asOf: "-271821-04-20" is neither'],
    ["memory.search", { query: "x", since: "yesterdayish" }, -32602, 'since: "yesterdayish" is neither a date'],
    ["memory.get", { path: "MEMORY.md", from: 0 }, -32602, "parameter 'from' must be a whole number of at least 1"],
    ["memory.get", { path: "MEMORY.md", lines: -1 }, -32602, "parameter 'lines' must be a whole number of at least 1"],
    ["memory.serach", {}, -32601, "unknown method 'memory.serach'"],
    ["constructor", {}, -32601, "unknown method 'constructor'"],
    ["initialize", {}, -32600, "the session is initialized already"],
  ])("%s %j", async (method, params, code, message) => {
    shared ??= await open();
    const { error } = await shared.client.request(method, params);
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
  });
  let shared: Awaited<ReturnType<typeof open>> | undefined;

  test("before initialize only ping and shutdown are served, and a failed initialize may be repeated", async () => {
    const client = start();
    expect(await client.call("ping")).toEqual({});
    expect(await client.request("memory.search", { query: "x" })).toMatchObject({ error: { code: -32002 } });
    const failed = await client.request("initialize", { workspace: "/nowhere/at/all", stateDir: "/tmp/none" });
    expect(failed.error).toMatchObject({ code: -32001, data: { code: "WORKSPACE_MISSING" } });
    expect(await client.request("memory.status")).toMatchObject({ error: { code: -32002 } });
    expect(await client.call("initialize", { ...makeHome(NOTES), watch: false })).toMatchObject({ protocolVersion: 1 });
  });

  const searching = (settings: object): object => ({ agents: { defaults: { memorySearch: settings } } });
  test.each([
    [[], "parameter 'config' must be an object"],
    [searching({ extraPaths: ["a\0b"] }), "agents.defaults.memorySearch.extraPaths must be without NUL"],
    [searching({ extraPaths: [{ path: "a\0b" }] }), "agents.defaults.memorySearch.extraPaths must be without NUL"],
    [searching({ store: { path: "a\0b" } }), "agents.defaults.memorySearch.store.path must be without NUL"],
    [{ agents: { list: [{ id: "main", workspace: "a\0b" }] } }, 'workspace of agent "main" holds a NUL character'],
  ])("a configuration that can't be, %j, is refused with the place", async (config, message) => {
    const { workspace, stateDir } = makeHome(NOTES);
    const place = JSON.stringify(config).includes("workspace") ? { stateDir } : { stateDir, workspace };
    const { error } = await start().request("initialize", { ...place, config, watch: false });
    expect(error.message).toContain(message);
  });

  test("what is no message is answered with its error, and the session goes on", async () => {
    const client = start();
    for (const [text, code] of [
      ["{oops", -32700],
      ["[]", -32600],
      ["7", -32600],
    ] as const) {
      client.raw(`${text}\n`);
      expect(await client.unasked()).toMatchObject({ id: null, error: { code } });
    }
    client.raw(new Uint8Array([0x22, 0xff, 0x22, 0x0a]));
    expect(await client.unasked()).toMatchObject({ id: null, error: { code: -32700 } });
    client.notify("no/such/notification", {});
    expect(await client.call("ping")).toEqual({});
  });
});

describe("concurrency", () => {
  /** An embedding server that never answers until it is told to. */
  function slowServer() {
    const gate = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const server = Bun.serve({
      port: 0,
      async fetch(request) {
        const { input } = (await request.json()) as { input: string[] };
        asked.resolve();
        await gate.promise;
        return Response.json({ data: input.map((_, index) => ({ index, embedding: [1, 0, 0] })) });
      },
    });
    return { server, asked: asked.promise, release: () => gate.resolve() };
  }

  function slowConfig(url: URL): object {
    const remote = { baseUrl: `${url.origin}/v1`, apiKey: "k" };
    return { agents: { defaults: { memorySearch: { provider: "openai-compatible", model: "m", remote } } } };
  }

  test("a search whose provider is slow delays no ping, ends at its deadline, and says what it left out", async () => {
    const { server, asked, release } = slowServer();
    const client = start();
    await client.call("initialize", { ...makeHome(NOTES), config: slowConfig(server.url), watch: false });
    await asked;
    const search = client.request("memory.search", { query: "omada router", deadlineMs: 700 });
    for (let round = 0; round < 5; round++) await client.call("ping");
    expect(client.messages.at(-1)).toMatchObject({ result: {} });
    const { result } = await search;
    expect(result.degraded).toEqual(["vector"]);
    expect(result.results[0].path).toBe("memory/2026-02-10.md");
    release();
    await server.stop(true);
  });

  test("a cancelled request is answered with -32800, and the end of input cancels what runs", async () => {
    const { server, asked, release } = slowServer();
    const client = start();
    await client.call("initialize", { ...makeHome(NOTES), config: slowConfig(server.url), watch: false });
    await asked;
    const cancelled = client.request("memory.index", {}, "c1");
    client.notify("$/cancelRequest", { id: "c1" });
    expect(await cancelled).toMatchObject({ id: "c1", error: { code: -32800 } });
    const open = client.request("memory.index", {}, "open");
    // The provider is held: who waited for it would never end.
    const { exitCode } = await client.end();
    expect(await open).toMatchObject({ id: "open", error: { code: -32800 } });
    expect(exitCode).toBe(0);
    release();
    await server.stop(true);
  });

  test("searches that wait for the provider survive that the index appears meanwhile", async () => {
    const { server, release } = slowServer();
    const home = makeHome({});
    const client = start();
    await client.call("initialize", { ...home, config: slowConfig(server.url), watch: false });
    const asked = Array.from({ length: 5 }, () => client.call("memory.search", { query: "omada", deadlineMs: 2000 }));
    writeFileSync(join(home.workspace, "MEMORY.md"), "- The omada router.\n");
    const indexed = client.call("memory.index");
    asked.push(client.call("memory.search", { query: "omada", deadlineMs: 2000 }));
    for (const answer of await Promise.all(asked)) expect(answer.results).toBeArray();
    release();
    await indexed;
    expect((await client.call("memory.search", { query: "omada" })).results).toHaveLength(1);
    await server.stop(true);
  });

  /** Thousands of searches, which take seconds together, in the bytes of one message. */
  const burst = Array.from({ length: 4000 }, (_, at) =>
    JSON.stringify({
      jsonrpc: "2.0",
      id: `s${at}`,
      method: "memory.search",
      params: { query: `line ${at} of a list` },
    }),
  ).join("\n");

  /**
   * What is answered to a burst and what comes behind it, in order. From a file and to a file: as a writer and a reader we could be too
   * slow on a busy machine.
   */
  async function answersBehindBurst(...behind: object[]): Promise<Json[]> {
    const home = makeHome(NOTES);
    const [input = "", output = ""] = ["input", "output"].map((name) => join(home.workspace, "..", name));
    const hello = { id: "hello", method: "initialize", params: { ...home, watch: false } };
    const line = (message: object): string => JSON.stringify({ jsonrpc: "2.0", ...message });
    writeFileSync(input, `${[line(hello), burst, ...behind.map(line)].join("\n")}\n`);
    const streams = { stdin: Bun.file(input), stdout: Bun.file(output), stderr: "ignore" } as const;
    expect(await Bun.spawn(memqCommand("rpc"), { ...streams, env: childEnv() }).exited).toBe(0);
    const lines = readFileSync(output, "utf8").split("\n");
    return lines.filter((text) => text !== "").map((text): Json => JSON.parse(text));
  }

  test("a burst of searches holds up neither a ping nor a cancellation behind it", async () => {
    const cancel = { method: "$/cancelRequest", params: { id: "s3999" } };
    const answers = await answersBehindBurst(cancel, { id: "ping", method: "ping" });
    const answered = answers.slice(
      0,
      answers.findIndex(({ id }) => id === "ping"),
    );
    expect(answered.length).toBeLessThan(400);
    expect(answered).toContainEqual(expect.objectContaining({ id: "s3999", error: expect.anything() }));
  });

  test("a burst of searches does not hold up its own first answers", async () => {
    const { client } = await open();
    client.raw(`${burst}\n`);
    while (!client.messages.some(({ id }) => id === "s0")) await client.call("ping");
    expect(client.messages.length).toBeLessThan(2000);
  });

  test("the end of input waits for no burst of searches: what has not begun by then is cancelled", async () => {
    const answers = await answersBehindBurst();
    expect(answers).toContainEqual(expect.objectContaining({ id: "s3999", error: expect.anything() }));
  });

  test("a shutdown behind a burst of searches waited till all of them had begun", async () => {
    const answers = await answersBehindBurst({ id: "shutdown", method: "shutdown" });
    const at = answers.findIndex(({ id }) => id === "shutdown");
    expect(answers[at]).toMatchObject({ result: {} });
    expect(at).toBeLessThan(400);
  });

  test("what was asked before a shutdown is answered, and what comes after it is refused", async () => {
    const { client } = await open();
    // The first search of a process takes longer than the moment that is left to those under way.
    await client.call("memory.search", { query: "omada" });
    const [found, ended, refused] = [
      client.request("memory.search", { query: "omada router" }),
      client.request("shutdown"),
      client.request("memory.append", { text: "- late" }),
    ];
    expect(await ended).toMatchObject({ result: {} });
    expect(await refused).toMatchObject({ error: { code: -32600, message: "the session is ending" } });
    expect((await found).result.results).not.toBeEmpty();
    expect(await client.exited).toBe(0);
  });

  test("a search that hangs when the session is shut down is given up", async () => {
    const { server, asked, release } = slowServer();
    const client = start();
    await client.call("initialize", { ...makeHome(NOTES), config: slowConfig(server.url), watch: false });
    await asked;
    const hanging = client.request("memory.index", {}, "open");
    expect(await client.call("shutdown")).toEqual({});
    expect(await hanging).toMatchObject({ id: "open", error: { code: -32800 } });
    expect(await client.exited).toBe(0);
    release();
    await server.stop(true);
  });

  test("shutdown answers, and the process ends", async () => {
    const client = start();
    expect(await client.call("shutdown")).toEqual({});
    expect(await client.exited).toBe(0);
  });
});

test("notes embedded by the fallback are found through the fallback", async () => {
  const embed = (texts: string[]): number[][] =>
    texts.map((text) => (/router|network box/i.test(text) ? [1, 0] : [0, 1]));
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      if (new URL(request.url).pathname.startsWith("/v1")) return new Response("no such key", { status: 401 });
      const { input } = (await request.json()) as { input: string | string[] };
      return Response.json({ embeddings: embed([input].flat()) });
    },
  });
  const remote = { baseUrl: `${server.url.origin}/v1`, apiKey: "wrong" };
  const config = {
    models: { providers: { ollama: { baseUrl: server.url.origin } } },
    agents: { defaults: { memorySearch: { provider: "openai-compatible", model: "m", remote, fallback: "ollama" } } },
  };
  const client = start();
  await client.call("initialize", { ...makeHome(NOTES), config, watch: false });
  await client.call("memory.index");
  const found = await client.call("memory.search", { query: "network box" });
  expect(found).toMatchObject({
    mode: "hybrid",
    provider: "ollama",
    fallback: { from: "openai-compatible", reason: expect.any(String) },
  });
  expect(found.results[0].path).toBe("memory/2026-02-10.md");
  await server.stop(true);
});

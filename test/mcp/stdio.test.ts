import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, existsSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { childEnv, memqCommand } from "../cli/program.ts";
import { type Client, type Json, makeHome, startRpc } from "../gateway/client.ts";
import { hostsOf, models } from "../llama/models-folder.ts";
import { qmdHome } from "../qmd/homes.ts";

setDefaultTimeout(30_000);

const NOTES = {
  "MEMORY.md": "# Long-term\n\n- Zeb is Rod's manager.\n",
  "memory/2026-02-10.md": "# Network\nThe Omada router has VLAN 10 for the cameras.\n",
};
const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

const running: Client[] = [];
afterAll(() => Promise.all(running.map((client) => client.end())));

function start(options: Parameters<typeof startRpc>[0] = {}): Client {
  const client = startRpc({ command: "mcp", ...options });
  running.push(client);
  return client;
}
function agent(notes: Record<string, string> = NOTES, more: string[] = []) {
  const home = makeHome(notes);
  const args = ["--workspace", home.workspace, "--state-dir", home.stateDir, ...more];
  return { home, client: start({ args }) };
}
const call = (name: string, args: object, meta: object = {}) => ({ name, arguments: args, _meta: meta });

describe("the stateless revision", () => {
  const { client } = agent();

  test("is discovered, and every answer says that it is whole and who gives it", async () => {
    const { result } = await client.request("server/discover", { _meta: MODERN });
    expect(result).toMatchObject({
      resultType: "complete",
      supportedVersions: expect.arrayContaining(["2026-07-28", "2025-11-25"]),
      capabilities: { tools: {} },
      instructions: expect.stringContaining("memory_search"),
      ttlMs: expect.any(Number),
      cacheScope: "private",
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "memq" } },
    });
    const tools = await client.request("tools/list", { _meta: MODERN });
    expect(tools.result).toMatchObject({ resultType: "complete", ttlMs: 60_000, cacheScope: "private" });
    const found = await client.request("tools/call", call("memory_search", { query: "cameras" }, MODERN));
    expect(found.result).toMatchObject({ resultType: "complete", structuredContent: { mode: "keyword" } });
    expect(found.result.ttlMs).toBeUndefined();
  });

  test.each([
    [
      "an unknown version",
      "tools/list",
      { ...MODERN, "io.modelcontextprotocol/protocolVersion": "2031-01-01" },
      -32022,
    ],
    ["no capabilities", "tools/list", { "io.modelcontextprotocol/protocolVersion": "2026-07-28" }, -32602],
    ["no version", "tools/list", { "io.modelcontextprotocol/clientCapabilities": {} }, -32602],
    ["neither, before a handshake", "tools/list", {}, -32602],
    ["ping", "ping", MODERN, -32601],
    ["a log level", "logging/setLevel", MODERN, -32601],
    ["initialize", "initialize", MODERN, -32601],
    ["prompts", "prompts/list", MODERN, -32601],
  ])("refuses %s", async (_what, method, _meta, code) => {
    const { error } = await client.request(method, { _meta });
    expect(error.code).toBe(code);
    if (code === -32022)
      expect(error.data).toMatchObject({ supported: expect.arrayContaining(["2026-07-28"]), requested: "2031-01-01" });
  });

  test("and a session with a handshake share one pipe", async () => {
    const both = agent().client;
    const hello = await both.call("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "x", version: "1" },
    });
    expect(hello.protocolVersion).toBe("2025-06-18");
    const [older, newer] = await Promise.all([both.call("tools/list", {}), both.call("tools/list", { _meta: MODERN })]);
    expect(older.resultType).toBeUndefined();
    expect(newer.resultType).toBe("complete");
    expect(newer.tools).toEqual(older.tools);
    expect(await both.call("ping")).toEqual({});
  });
});

describe("older revisions", () => {
  const { client } = agent();

  test.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])("%s is agreed on", async (version) => {
    const hello = await client.call("initialize", { protocolVersion: version, capabilities: {} });
    expect(hello).toMatchObject({
      protocolVersion: version,
      serverInfo: { name: "memq" },
      capabilities: { tools: {} },
    });
  });

  test("an unknown one is answered with our newest", async () => {
    const { protocolVersion } = await client.call("initialize", { protocolVersion: "2019-01-01", capabilities: {} });
    expect(protocolVersion).toBe("2025-11-25");
  });

  const BATCH = [
    { jsonrpc: "2.0", id: "a", method: "ping" },
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", id: "b", method: "nope" },
  ];
  const said = (messages: object[]): Promise<Json> => {
    client.raw(`${JSON.stringify(messages)}\n`);
    return client.unasked();
  };

  test.each(["2024-11-05", "2025-03-26"])(
    "%s: several messages in one line are answered by one line",
    async (version) => {
      await client.call("initialize", { protocolVersion: version, capabilities: {} });
      expect(await said(BATCH)).toMatchObject([
        { id: "a", result: {} },
        { id: "b", error: { code: -32601 } },
      ]);
      expect(await said([{ ...BATCH[0], method: "initialize" }])).toMatchObject({
        error: { code: -32600, message: "initialize can't be part of a batch" },
      });
    },
  );

  test.each(["2025-06-18", "2025-11-25"])("%s: batches, which it no longer has, were taken", async (version) => {
    await client.call("initialize", { protocolVersion: version, capabilities: {} });
    const message = `protocol version ${version} has no batches; send one message at a time`;
    expect(await said(BATCH)).toMatchObject({ id: null, error: { code: -32600, message } });
    expect(await said([])).toMatchObject({ error: { code: -32600, message: "an empty batch is no request" } });
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
    const { error } = await said([{ ...BATCH[0], params: { _meta } }]);
    expect(error.message).toContain("protocol version 2026-07-28 has no batches");
  });

  test("what is no request is refused, and the next one is answered", async () => {
    client.raw("{nope\n");
    expect(await client.unasked()).toMatchObject({ id: null, error: { code: -32700 } });
    client.raw(new Uint8Array([0x5b, 0x22, 0xc3, 0x28, 0x22, 0x5d, 0x0a]));
    expect(await client.unasked()).toMatchObject({ id: null, error: { code: -32700 } });
    client.raw('{"jsonrpc":"2.0","id":null,"method":"ping"}\n');
    expect(await client.unasked()).toMatchObject({ id: null, error: { code: -32600 } });
    expect(await client.call("ping")).toEqual({});
  });
});

describe("requests in flight", () => {
  test("pain 20: a quick one answers before a slow one, and a cancelled one never", async () => {
    // A provider that takes a connection and says nothing.
    const silent = Bun.serve({ port: 0, idleTimeout: 0, fetch: () => new Promise<Response>(() => {}) });
    const home = makeHome(NOTES);
    const config = join(home.workspace, "../slow.json");
    const memorySearch = {
      provider: "openai",
      model: "m",
      remote: { baseUrl: `http://localhost:${silent.port}/v1`, apiKey: "k" },
    };
    await Bun.write(config, JSON.stringify({ agents: { defaults: { memorySearch } } }));
    const client = start({ args: ["--workspace", home.workspace, "--config", config] });
    await client.call("initialize", { protocolVersion: "2025-06-18", capabilities: {} });
    const heard: string[] = [];
    void client
      .request("tools/call", call("memory_search", { query: "cameras" }), "slow")
      .then(() => heard.push("slow"));
    void client
      .request("tools/call", call("memory_search", { query: "omada" }, { progressToken: "p" }), "gone")
      .then(() => heard.push("gone"));
    const read = await client.call("tools/call", call("memory_get", { path: "MEMORY.md" }));
    expect(read.structuredContent.text).toContain("Zeb");
    expect(heard).toEqual([]);
    client.notify("notifications/cancelled", { requestId: "gone", reason: "no need" });
    await client.call("ping");
    // Who waited for the provider would answer by keywords at last.
    expect((await client.end()).exitCode).toBe(0);
    expect(client.messages.filter(({ id }) => id === "gone" || id === "slow")).toEqual([]);
    await silent.stop(true);
  });

  test("pain 21, 91: nothing but messages is on stdout under load, with providers that fail and models that load", async () => {
    const failing = Bun.serve({ port: 0, fetch: () => new Response("boom\n", { status: 401 }) });
    const home = makeHome(NOTES);
    const config = join(home.workspace, "../failing.json");
    const remote = { baseUrl: `http://localhost:${failing.port}/v1`, apiKey: "k" };
    await Bun.write(
      config,
      JSON.stringify({ agents: { defaults: { memorySearch: { provider: "openai", model: "m", remote } } } }),
    );
    const notes = await qmdHome(
      Object.fromEntries(
        Array.from({ length: 30 }, (_, at) => [`n/${at}.md`, `# Note ${at}\n\nCoffee beans, lot ${at}.\n`]),
      ),
      {
        yaml: `models:\n  embed: ${models.embed}\n  rerank: ${models.rank}\n  generate: ${models.expand}\ncollections:\n  n:\n    path: $ROOT/n\n`,
        env: { MEMQ_MODEL_IDLE_MS: "20000", MEMQ_MODEL_THREADS: "1" },
      },
    );
    try {
      expect((await notes.run("embed")).exitCode).toBe(0);
      const sessions = [
        { client: start({ args: ["--workspace", home.workspace, "--config", config] }), tool: "memory_search" },
        { client: start({ env: notes.env, cwd: notes.root }), tool: "query" },
      ];
      for (const { client, tool } of sessions) {
        await client.call("initialize", { protocolVersion: "2025-06-18", capabilities: {} });
        const answers = await Promise.all(
          Array.from({ length: 12 }, (_, at) =>
            client.request("tools/call", call(tool, { query: `coffee lot ${at}` }, { progressToken: at })),
          ),
        );
        for (const { result } of answers) expect(result.isError).toBeUndefined();
        // The reader of the test fails on whatever is no message; these came as such.
        expect(client.messages.length).toBeGreaterThanOrEqual(13);
        expect((await client.end()).exitCode).toBe(0);
      }
    } finally {
      const modelsFolder = join(notes.env["XDG_CACHE_HOME"] ?? "", "qmd/models");
      for (const pid of hostsOf(modelsFolder)) process.kill(pid, "SIGTERM");
      await failing.stop(true);
      notes.remove();
    }
  });
});

describe("the end of input", () => {
  test("pain 22: ends the process, and leaves no child, no socket and no journal", async () => {
    const notes = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`memory/n${at}.md`, `Note ${at}.\n`]));
    for (const waits of [true, false]) {
      const { home, client } = agent(notes);
      await client.call("initialize", { protocolVersion: "2025-06-18", capabilities: {} });
      // Once with everything indexed, once in the middle of it.
      if (waits) await client.call("tools/call", call("memory_search", { query: "note 7" }));
      const children = readChildren(client.pid);
      expect((await client.end()).exitCode).toBe(0);
      expect(children).toEqual([]);
      const left = existsSync(join(home.stateDir, "memory")) ? readdirSync(join(home.stateDir, "memory")) : [];
      expect(left.filter((name) => !name.endsWith(".sqlite"))).toEqual([]);
    }
  });

  test("ends the process also where a large answer is never read", async () => {
    const lines = Array.from({ length: 110_000 }, (_, at) => `line ${at} of a note with some words in it\n`);
    const notes = await qmdHome({ "n/large.md": `# Large\n\n${lines.join("")}` });
    const [program = "", ...words] = memqCommand("mcp");
    const child = spawn(program, words, {
      env: childEnv(notes.env),
      cwd: notes.root,
      stdio: ["pipe", "pipe", "ignore"],
    });
    const send = (id: number, method: string, params: object): boolean =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    send(1, "initialize", { protocolVersion: "2025-06-18", capabilities: {} });
    await once(child.stdout, "data");
    send(2, "tools/call", call("get", { file: "n/large.md" }));
    // The answer is made when its beginning is here, and the rest of its megabytes fits into no pipe.
    await once(child.stdout, "data");
    child.stdout.pause();
    child.stdin.end();
    expect(await once(child, "exit")).toEqual([0, null]);
    notes.remove();
  });

  test("went unsaid on stderr, where qmd says it, and is no reason to stay where nobody reads that", async () => {
    const notes = await qmdHome({ "n/a.md": "# A\n\nA heron.\n" });
    const client = start({ env: notes.env, cwd: notes.root });
    expect(await client.end()).toMatchObject({ exitCode: 0, stderr: "Shutting down (stdin closed)...\n" });

    const pipe = join(notes.root, "pipe");
    expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
    const filled = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    const fill = (bytes: number): void => {
      for (;;) writeSync(filled, "x".repeat(bytes));
    };
    for (const bytes of [4096, 1]) expect(() => fill(bytes)).toThrow("EAGAIN");
    const stderr = openSync(pipe, constants.O_WRONLY);
    const child = Bun.spawn(memqCommand("mcp"), { env: childEnv(notes.env), cwd: notes.root, stdin: null, stderr });
    expect(await child.exited).toBe(0);
    for (const descriptor of [filled, stderr]) closeSync(descriptor);
    notes.remove();
  });

  test("of a session about notes leaves the index file alone behind", async () => {
    const notes = await qmdHome({ "n/a.md": "# A\n\nA heron.\n" });
    const client = start({ env: notes.env, cwd: notes.root });
    await client.call("initialize", { protocolVersion: "2025-06-18", capabilities: {} });
    await client.call("tools/call", call("query", { query: "heron" }));
    expect((await client.end()).exitCode).toBe(0);
    expect(readdirSync(join(notes.indexPath, "..")).sort()).toEqual(["index.sqlite"]);
  });
});

/** Process ids of the children, where the system tells them. */
function readChildren(pid: number): string[] {
  if (process.platform !== "linux") return [];
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .split(" ")
    .filter((child) => child !== "");
}

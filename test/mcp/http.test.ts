import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { startHttp } from "../../src/gateway/mcp/http.ts";
import type { McpSurface } from "../../src/gateway/mcp/surface.ts";
import { READ_ONLY, tool } from "../../src/gateway/mcp/surface.ts";
import { childEnv, memqCommand } from "../cli/program.ts";
import { makeHome } from "../gateway/client.ts";
import { qmdHome, type QmdTestHome } from "../qmd/homes.ts";
import { connectHttp, GENERATIONS } from "./clients.ts";

setDefaultTimeout(20_000);

const NOTES = { "docs/travel.md": "# Travel\n\nMarta approves every trip.\n", "docs/a b.md": "# Blank\n\nA quokka.\n" };
const BOTH = "application/json, text/event-stream";

type Server = { url: string; base: string; stop(): Promise<{ exitCode: number; stderr: string }> };
let home: QmdTestHome;
const servers: Server[] = [];
beforeAll(async () => {
  home = await qmdHome(NOTES);
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  home.remove();
});

/** Starts `memq mcp --http` on a free port and waits until it listens. */
async function serve(args: string[] = [], env: Record<string, string> = home.env): Promise<Server> {
  const child = Bun.spawn(memqCommand("mcp", "--http", "--port", "0", ...args), {
    env: childEnv(env),
    cwd: home.root,
    stdout: "pipe",
    stderr: "pipe",
  });
  let stderr = "";
  const listening = Promise.withResolvers<string>();
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) {
      stderr += decoder.decode(chunk, { stream: true });
      const url = /listening on (\S+)/.exec(stderr)?.[1];
      if (url !== undefined) listening.resolve(url);
    }
    listening.reject(new Error(stderr));
  })();
  const url = await listening.promise;
  const server = {
    url,
    base: url.replace(/\/mcp$/, ""),
    async stop() {
      child.kill("SIGTERM");
      const exitCode = await child.exited;
      await reading;
      return { exitCode, stderr };
    },
  };
  servers.push(server);
  return server;
}

function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return fetch(url, { method: "POST", body: text, headers: { "content-type": "application/json", ...headers } });
}

function modern(method: string, params: object = {}, meta: object = {}) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    ...meta,
  };
  return { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } };
}

describe("the server", () => {
  let server: Server;
  beforeAll(async () => {
    server = await serve();
  });

  test.each(GENERATIONS)("serves the official client (%s)", async (generation) => {
    const client = await connectHttp(generation, server.url);
    expect((await client.listTools()).tools).toHaveLength(4);
    const found = await client.callTool({ name: "query", arguments: { query: "quokka" } });
    const [{ file }] = found.structuredContent.results;
    expect(file).toBe("docs/a b.md");
    const read = await client.callTool({ name: "get", arguments: { file } });
    expect(read.content[0]?.resource?.uri).toBe("qmd://docs/a%20b.md");
    const { contents } = await client.readResource({ uri: "qmd://docs/a%20b.md" });
    expect(contents[0]?.text).toContain("3: A quokka.");
    await client.close();
  });

  test("answers about its health, and nothing else is there", async () => {
    const health = await fetch(`${server.base}/health`);
    expect(await health.json()).toEqual({ status: "ok", uptime: expect.any(Number) });
    expect((await fetch(`${server.base}/nothing`)).status).toBe(404);
    for (const method of ["GET", "DELETE"]) {
      const refused = await fetch(server.url, { method });
      expect(refused.status).toBe(405);
      expect(await refused.json()).toEqual({
        jsonrpc: "2.0",
        error: { code: -32000, message: "Method not allowed." },
        id: null,
      });
    }
  });

  test.each(["", "localhost, evil.example", "evil.example@localhost"])("turns away the Host %j", async (host) => {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write(`GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    let answer = "";
    for await (const chunk of socket) answer += String(chunk);
    expect(answer).toStartWith("HTTP/1.1 403 ");
    expect(answer).toContain("Forbidden: Host not allowed");
  });

  test.each(["/query", "/search"])("answers plain searches at %s, whose files open", async (path) => {
    const response = await post(`${server.base}${path}`, { searches: [{ type: "lex", query: "quokka" }] });
    const { results } = (await response.json()) as { results: { file: string }[] };
    expect(results.map(({ file }) => file)).toEqual(["qmd://docs/a%20b.md"]);
    const missing = await post(`${server.base}${path}`, { query: "quokka" });
    expect([missing.status, await missing.json()]).toEqual([
      400,
      { error: "Missing required field: searches (array)" },
    ]);
    expect(await (await post(`${server.base}${path}`, { searches: [] })).json()).toEqual({ results: [] });
    const wrong: [unknown, number][] = [
      ["{nope", 500],
      [{ searches: [{ type: "lex", query: 'open "quote' }] }, 500],
      [{ searches: [7] }, 400],
      [{ searches: [{ type: "lex", query: "x" }], limit: "many" }, 400],
    ];
    for (const [body, status] of wrong) expect((await post(`${server.base}${path}`, body)).status).toBe(status);
  });

  test("older clients get a stream, without a session and beginning with any method", async () => {
    const response = await post(server.url, { jsonrpc: "2.0", id: 5, method: "tools/list" }, { accept: BOTH });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(response.headers.get("mcp-session-id")).toBeNull();
    const data = /^:\n\nevent: message\ndata: (.*)\n\n$/.exec(await response.text())?.[1];
    expect(JSON.parse(data ?? "")).toMatchObject({ id: 5, result: { tools: expect.any(Array) } });
    const plain = await post(server.url, { jsonrpc: "2.0", id: 6, method: "ping" });
    expect(await plain.json()).toEqual({ jsonrpc: "2.0", id: 6, result: {} });
    const notified = await post(server.url, { jsonrpc: "2.0", method: "notifications/initialized" });
    expect([notified.status, await notified.text()]).toEqual([202, ""]);
    const batch = [
      { jsonrpc: "2.0", id: 1, method: "ping" },
      { jsonrpc: "2.0", id: 2, method: "ping" },
    ];
    expect(await (await post(server.url, batch)).json()).toMatchObject([{ id: 1 }, { id: 2 }]);
  });

  test.each([
    ["no JSON", "{nope", {}, 400, -32700],
    ["no request", '"x"', {}, 400, -32600],
    ["an empty batch", "[]", {}, 400, -32600],
    [
      "a batch without end",
      Array.from({ length: 101 }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" })),
      {},
      400,
      -32600,
    ],
    ["an id that is null", { jsonrpc: "2.0", id: null, method: "ping" }, {}, 400, -32600],
    [
      "an unknown version",
      modern("tools/list", {}, { "io.modelcontextprotocol/protocolVersion": "2031-01-01" }),
      {},
      400,
      -32022,
    ],
    [
      "an unknown version in the header",
      { jsonrpc: "2.0", id: 1, method: "tools/list" },
      { "mcp-protocol-version": "2031-01-01" },
      400,
      -32022,
    ],
    [
      "a newer version without its fields",
      { jsonrpc: "2.0", id: 1, method: "tools/list" },
      { "mcp-protocol-version": "2026-07-28" },
      400,
      -32602,
    ],
    ["no version header", modern("tools/list"), { "mcp-method": "tools/list" }, 400, -32020],
    [
      "another version header",
      modern("tools/list"),
      { "mcp-protocol-version": "2025-11-25", "mcp-method": "tools/list" },
      400,
      -32020,
    ],
    ["no method header", modern("tools/list"), { "mcp-protocol-version": "2026-07-28" }, 400, -32020],
    [
      "another method header",
      modern("tools/list"),
      { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call" },
      400,
      -32020,
    ],
    [
      "no name header",
      modern("tools/call", { name: "status" }),
      { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call" },
      400,
      -32020,
    ],
    [
      "another name header",
      modern("tools/call", { name: "status" }),
      { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "get" },
      400,
      -32020,
    ],
    [
      "an unknown method",
      modern("prompts/list"),
      { "mcp-protocol-version": "2026-07-28", "mcp-method": "prompts/list" },
      404,
      -32601,
    ],
  ] as [string, unknown, Record<string, string>, number, number][])(
    "refuses %s",
    async (_what, body, headers, status, code) => {
      const response = await post(server.url, body, { accept: BOTH, ...headers });
      expect(response.status).toBe(status);
      expect(await response.json()).toMatchObject({ jsonrpc: "2.0", error: { code } });
    },
  );

  test.each([
    ["text/event-stream;q=0, application/json", "application/json"],
    ["text/event-stream; q=0.000", "application/json"],
    ["text/event-streams", "application/json"],
    ["application/json, Text/Event-Stream;q=0.5", "text/event-stream"],
  ])("an Accept of %j was not read by its rules", async (accept, type) => {
    const response = await post(server.url, { jsonrpc: "2.0", id: 1, method: "ping" }, { accept });
    expect(response.headers.get("content-type")).toBe(type);
  });

  test.each(["9007199254740993", "1e400", "-1e17"])("an id that came back as another one: %s", async (id) => {
    const response = await post(server.url, `{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: null, error: { code: -32600 } });
  });

  test("health could not be asked by HEAD", async () => {
    expect((await fetch(`${server.base}/health`, { method: "HEAD" })).status).toBe(200);
  });

  test.each([
    ["application/json", 200],
    ["application/json; charset=utf-8", 200],
    ["Application/JSON ;charset=UTF-8", 200],
    ["application/json-patch+json", 415],
    ["application/json-seq", 415],
    ["application/jsonl", 415],
    ["application/json+x", 415],
    ["text/plain; application/json", 415],
    ["", 415],
  ])("what only begins like JSON passed for it: %j", async (type, status) => {
    const response = await post(server.url, { jsonrpc: "2.0", id: 1, method: "ping" }, { "content-type": type });
    expect(response.status).toBe(status);
  });

  test("a body that is not UTF-8 was read with signs put in", async () => {
    const bytes = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"p?ng"}');
    bytes[bytes.indexOf("?")] = 0xff;
    const send = (url: string): Promise<Response> =>
      fetch(url, { method: "POST", body: bytes, headers: { "content-type": "application/json" } });
    const refused = await send(server.url);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ id: null, error: { code: -32700 } });
    expect((await send(`${server.base}/query`)).status).toBe(400);
  });

  test.each([
    ["2025-03-26", 200],
    ["2025-06-18", 400],
    ["2025-11-25", 400],
    ["2026-07-28", 400],
  ])("batches were taken whatever version the client speaks: %s", async (version, status) => {
    const batch = [{ jsonrpc: "2.0", id: 1, method: "ping" }];
    const response = await post(server.url, batch, { "mcp-protocol-version": version });
    expect(response.status).toBe(status);
    const message = `Invalid Request: protocol version ${version} has no batches; send one message at a time`;
    if (status === 400) expect(await response.json()).toMatchObject({ id: null, error: { code: -32600, message } });
  });

  test("a name that ASCII can't hold may come encoded", async () => {
    const uri = "qmd://docs/ä.md";
    const response = await post(server.url, modern("resources/read", { uri }), {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "resources/read",
      "mcp-name": `=?base64?${Buffer.from(uri).toString("base64")}?=`,
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ error: { code: -32602, message: "Document not found: docs/ä.md" } });
  });

  test.each([
    ["a foreign host name, as after DNS rebinding", { host: "evil.example" }, "Host not allowed: evil.example"],
    ["a host name that only begins like ours", { host: "localhost.evil.example:80" }, "Host not allowed"],
    ["0.0.0.0", { host: "0.0.0.0" }, "Host not allowed"],
    ["another site's page", { origin: "https://evil.example" }, "Origin not allowed: https://evil.example"],
    ["a page without an origin of its own", { origin: "null" }, "Origin not allowed"],
    ["an origin with another scheme", { origin: "file://localhost" }, "Origin not allowed"],
  ])("pain 33: turns %s away before anything else", async (_what, headers, sentence) => {
    for (const path of ["/mcp", "/health", "/query", "/nothing"]) {
      const response = await fetch(`${server.base}${path}`, { headers: headers as Record<string, string> });
      expect(response.status).toBe(403);
      const { error } = (await response.json()) as { error: { code: number; message: string } };
      expect(error).toEqual({ code: -32003, message: expect.stringContaining(`Forbidden: ${sentence}`) });
    }
  });

  test.each(["http://localhost:3000", "https://app.localhost", "http://127.0.0.1:1", "http://[::1]"])(
    "lets a page of this machine in: %s",
    async (origin) => {
      expect((await fetch(`${server.base}/health`, { headers: { origin } })).status).toBe(200);
    },
  );

  test("takes no body that is too large, and no other kind of body", async () => {
    const large = "x".repeat(4 * 1024 * 1024 + 1);
    expect((await post(server.url, large)).status).toBe(413);
    const chunks = new ReadableStream({
      start(controller) {
        for (let at = 0; at < 5; at++) controller.enqueue(new Uint8Array(1024 * 1024));
        controller.close();
      },
    });
    const streamed = await fetch(server.url, {
      method: "POST",
      body: chunks,
      headers: { "content-type": "application/json" },
    });
    expect(streamed.status).toBe(413);
    expect((await post(server.url, "{}", { "content-type": "text/plain" })).status).toBe(415);
    expect((await fetch(`${server.base}/health`)).status).toBe(200);
  });
});

test("a server with a token answers nobody without it", async () => {
  const file = join(home.root, "../token");
  writeFileSync(file, "s3cret-w0rd\n", { mode: 0o600 });
  const server = await serve(["--token-file", file]);
  for (const headers of [{}, { authorization: "Bearer nope" }, { authorization: "s3cret-w0rd" }]) {
    const response = await post(
      server.url,
      { jsonrpc: "2.0", id: 1, method: "ping" },
      headers as Record<string, string>,
    );
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="memq"']);
  }
  const client = await connectHttp("modern", server.url, { authorization: "Bearer s3cret-w0rd" });
  expect((await client.callTool({ name: "status" })).structuredContent.totalDocuments).toBe(2);
  await client.close();
  const { exitCode, stderr } = await server.stop();
  expect(exitCode).toBe(0);
  expect(stderr).toContain("Shutting down (SIGTERM)...");
  expect(stderr).toMatch(/^\d\d:\d\d:\d\d\.\d{3} POST \/mcp \(\d+ms\)$/m);
  expect(stderr).not.toContain("s3cret");
});

test("the memory of an agent is served too, without the addresses of notes", async () => {
  const agent = makeHome({ "MEMORY.md": "- Zeb is Rod's manager.\n" });
  const server = await serve(["--workspace", agent.workspace, "--state-dir", agent.stateDir]);
  const client = await connectHttp("legacy", server.url);
  const heard: unknown[] = [];
  const found = await client.callTool(
    { name: "memory_search", arguments: { query: "manager" } },
    { onprogress: (progress) => heard.push(progress) },
  );
  expect(found.structuredContent.results[0].path).toBe("MEMORY.md");
  await client.close();
  expect((await post(`${server.base}/query`, { searches: [] })).status).toBe(404);
});

test("a port that is taken is said in a sentence", async () => {
  const first = await serve();
  const port = new URL(first.url).port;
  const outcome = await home.run("mcp", "--http", "--port", port);
  expect(outcome).toMatchObject({
    exitCode: 1,
    stdout: "",
    stderr: expect.stringContaining(`Port ${port} already in use. Try a different port with --port.`),
  });
});

describe("limits of time", () => {
  const slow = tool({
    name: "slow",
    title: "Slow",
    description: "Never ends by itself.",
    inputSchema: { type: "object", properties: {} },
    annotations: READ_ONLY,
    run: (_args, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          aborted.resolve();
          reject(new Error("aborted"));
        });
      }),
  });
  const soon = tool({
    name: "soon",
    title: "Soon",
    description: "Ends a moment after it was called.",
    inputSchema: { type: "object", properties: {} },
    annotations: READ_ONLY,
    run: async () => {
      called.resolve();
      await Bun.sleep(100);
      return { content: [{ type: "text", text: "done" }] };
    },
  });
  const called = Promise.withResolvers<void>();
  const surface: McpSurface = {
    tools: () => Promise.resolve([slow, soon]),
    instructions: () => Promise.resolve(""),
    close: () => Promise.resolve(),
  };
  const access = { host: "127.0.0.1", allowedHosts: [], allowedOrigins: [], token: null };
  let aborted = Promise.withResolvers<void>();
  const listening = (requestMs: number) =>
    startHttp({
      surface,
      identity: { name: "memq" },
      access,
      port: 0,
      log: () => {},
      limits: { bodyMs: 100, requestMs },
    });
  const server = listening(150);
  const patient = listening(60_000);
  afterAll(() => Promise.all([server.stop(), patient.stop()]));

  test("a body that does not come is not waited for", async () => {
    const { port } = new URL(server.url);
    const socket = connect(Number(port), "127.0.0.1");
    const answer = Promise.withResolvers<string>();
    socket.on("data", (data) => answer.resolve(data.toString()));
    socket.write(
      "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{",
    );
    expect(await answer.promise).toStartWith("HTTP/1.1 408");
    // The connection stood open for minutes, and took what came next for the rest of the body.
    await once(socket, "close");
  });

  test("a call on a stream was given up at once when the server stopped", async () => {
    const stopping = listening(60_000);
    const asked = (name: string): Promise<Response> =>
      post(stopping.url, { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name } }, { accept: BOTH });
    const answers = await Promise.all([asked("soon"), asked("slow")]);
    await called.promise;
    const [done, ended] = await Promise.all([...answers.map((answer) => answer.text()), stopping.stop()]);
    expect(done).toContain('"done"');
    expect(ended).toContain("The request was given up: the server is stopping.");
  });

  test("a call whose body was still coming when the server stopped was given up as soon as it began", async () => {
    const stopping = listening(60_000);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "soon" } });
    const socket = connect(Number(new URL(stopping.url).port), "127.0.0.1");
    const answer = Promise.withResolvers<string>();
    let text = "";
    await once(socket, "connect");
    socket.on("data", (bytes: Buffer) => (text += String(bytes)));
    socket.on("close", () => answer.resolve(text));
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: ${BOTH}\r\nContent-Length: ${body.length}\r\n\r\n{`,
    );
    // By then the first lines have come too.
    await fetch(new URL("/health", stopping.url));
    const stopped = stopping.stop();
    socket.write(body.slice(1));
    await stopped;
    expect(await answer.promise).toContain('"done"');
  });

  test("a call that takes too long is given up, and one whose caller has gone ends", async () => {
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "slow" } };
    const late = await post(server.url, call);
    expect(await late.json()).toMatchObject({ id: 1, error: { code: -32603 } });
    await aborted.promise;
    aborted = Promise.withResolvers<void>();
    const leaving = new AbortController();
    const gone = fetch(patient.url, {
      method: "POST",
      body: JSON.stringify(call),
      signal: leaving.signal,
      headers: { "content-type": "application/json", accept: BOTH },
    });
    const response = await gone;
    leaving.abort();
    await response.text().catch(() => {});
    await aborted.promise;
  });
});

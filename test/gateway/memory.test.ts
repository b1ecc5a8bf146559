// An agent's memory as a gateway sees it: recall, context, append, flush, transcripts, watching.
import { afterEach, describe, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withWriterLock } from "../../src/store/lock.ts";
import { type Client, type Json, makeHome, startRpc } from "./client.ts";

const clients: Client[] = [];
const homes: { workspace: string; stateDir: string }[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()));
  for (const { workspace, stateDir } of homes.splice(0)) {
    rmSync(workspace, { recursive: true, force: true });
    rmSync(stateDir, { recursive: true, force: true });
  }
});

async function open(
  notes: Record<string, string>,
  options: { config?: object; watch?: boolean; prepare?: (home: { workspace: string; stateDir: string }) => void } = {},
): Promise<{ client: Client; home: { workspace: string; stateDir: string } }> {
  const home = makeHome(notes);
  homes.push(home);
  options.prepare?.(home);
  const client = startRpc();
  clients.push(client);
  const { config, watch = false } = options;
  await client.call("initialize", { ...home, watch, ...(config === undefined ? {} : { config }) });
  await client.call("memory.index");
  return { client, home };
}

/** Waits for a sync that added, changed or removed so many files. */
async function change(client: Client, kind: "added" | "changed" | "removed", count: number): Promise<void> {
  for (;;) {
    const { method, params } = await client.unasked();
    if (method === "memory.changed" && params[kind] === count) return;
  }
}

const turn = (role: "user" | "assistant", content: string, at = "2026-03-01T10:00:00.000Z"): string =>
  `${JSON.stringify({ type: "message", timestamp: at, message: { role, content } })}\n`;

describe("recall and context", () => {
  const notes = {
    "MEMORY.md": "# Long-term\n- Keep the gateway on loopback. <!-- trigger: gateway setup -->\n- Likes tea.\n",
    "memory/2026-01-01.md": "- A daily entry. <!-- trigger: gateway setup -->\n",
  };
  test("only trusted entries are recalled, and never outside the main private session", async () => {
    const { client } = await open(notes);
    const answer = await client.call("memory.recall", { message: "please check the gateway setup" });
    expect(answer.entries).toMatchObject([
      { path: "MEMORY.md", startLine: 2, text: "- Keep the gateway on loopback." },
    ]);
    expect(answer.context).toBe("- Keep the gateway on loopback. (Source: MEMORY.md#L2)");
    const group = { message: "please check the gateway setup", sessionKey: "agent:main:discord:group:7" };
    expect(await client.call("memory.recall", group)).toEqual({ entries: [], context: "" });
    const paths = async (params: object): Promise<string[]> =>
      (await client.call("memory.context", params)).files.map((file: { path: string }) => file.path);
    expect(await paths({})).toEqual(["MEMORY.md"]);
    expect(await paths({ sessionKey: "agent:main:discord:group:7" })).toEqual([]);
  });

  test("an entry is recalled as it stands now, indexed or not, and a file that can't be read is named", async () => {
    const { client, home } = await open(notes);
    const recall = () => client.call("memory.recall", { message: "please check the gateway setup" });
    await recall();
    writeFileSync(join(home.workspace, "MEMORY.md"), "- Keep it on port 1234. <!-- trigger: gateway setup -->\n");
    expect((await recall()).entries).toMatchObject([{ startLine: 1, text: "- Keep it on port 1234." }]);
    rmSync(join(home.workspace, "MEMORY.md"));
    symlinkSync(join(home.workspace, "memory/2026-01-01.md"), join(home.workspace, "MEMORY.md"));
    expect(await recall()).toEqual({
      entries: [],
      context: "",
      warning: expect.stringContaining("MEMORY.md was not read"),
    });
  });

  test("appends that are asked for together stand in the order of the requests, whatever their locks do", async () => {
    const { client, home } = await open({});
    const texts = Array.from({ length: 30 }, (_, nth) => `- entry ${nth}`);
    await Promise.all(texts.map((text) => client.call("memory.append", { text, date: "2026-03-01" })));
    expect(readFileSync(join(home.workspace, "memory/2026-03-01.md"), "utf8")).toBe(
      ["# 2026-03-01", "", ...texts, ""].join("\n"),
    );
  });

  test("appends that the end of the input cuts short leave whole lines in order and no lock", async () => {
    const { client, home } = await open({});
    for (let nth = 0; nth < 600; nth++) client.notify("memory.append", { text: `- entry ${nth}`, date: "2026-03-01" });
    expect((await client.end()).exitCode).toBe(0);
    const lines = readFileSync(join(home.workspace, "memory/2026-03-01.md"), "utf8").split("\n").slice(2, -1);
    expect(lines).toEqual(lines.map((_, nth) => `- entry ${nth}`));
    expect(readdirSync(join(home.workspace, "memory"))).toEqual(["2026-03-01.md"]);
  });

  test("an append that was answered as cancelled while another process held the note was written all the same", async () => {
    const { client, home } = await open({ "memory/2026-03-01.md": "# 2026-03-01\n" });
    const note = join(home.workspace, "memory/2026-03-01.md");
    await withWriterLock(join(home.workspace, "memory/.2026-03-01.md"), async () => {
      const asked = client.request("memory.append", { text: "- given up", date: "2026-03-01" }, "given up");
      const behind = client.request("memory.append", { text: "- waits", date: "2026-03-01" }, "waits");
      await client.call("ping");
      client.notify("$/cancelRequest", { id: "given up" });
      expect(await asked).toMatchObject({ error: { code: -32800 } });
      client.notify("shutdown");
      expect(await behind).toMatchObject({ error: { code: -32800 } });
    });
    expect(await client.exited).toBe(0);
    expect(readFileSync(note, "utf8")).toBe("# 2026-03-01\n");
    expect(readdirSync(join(home.workspace, "memory"))).toEqual(["2026-03-01.md"]);
  });

  test("an append to one workspace does not wait for one to another whose note is held, nor fails with it", async () => {
    const other = makeHome({}).workspace;
    const config = {
      agents: {
        list: [
          { id: "main", default: true },
          { id: "other", workspace: other },
        ],
      },
    };
    const { client, home } = await open({ "memory/2026-03-01.md": "# 2026-03-01\n" }, { config });
    const append = (text: string, agentId: string) =>
      client.request("memory.append", { text, agentId, date: "2026-03-01" });
    const held = await withWriterLock(join(home.workspace, "memory/.2026-03-01.md"), async () => {
      const waiting = [append("- first", "main"), append("a NUL \0", "main"), append("- second", "main")];
      expect((await append("- elsewhere", "other")).result).toMatchObject({ startLine: 3 });
      return waiting;
    });
    expect(await Promise.all(held)).toMatchObject([
      { result: { startLine: 2 } },
      { error: { message: expect.stringContaining("NUL") } },
      { result: { startLine: 3 } },
    ]);
  });

  test("what is appended is found", async () => {
    const { client, home } = await open(notes);
    const appended = await client.call("memory.append", { text: "- The heron nests by the pond.", date: "2026-02-03" });
    expect(appended).toEqual({ path: "memory/2026-02-03.md", startLine: 3, endLine: 3 });
    await client.call("memory.index");
    const { results } = await client.call("memory.search", { query: "where does the heron nest?" });
    expect(results[0].path).toBe("memory/2026-02-03.md");
    expect(readFileSync(join(home.workspace, "memory/2026-02-03.md"), "utf8")).toBe(
      "# 2026-02-03\n\n- The heron nests by the pond.\n",
    );
    const refused = await client.request("memory.append", { text: "x", date: "2026-02-30" });
    expect(refused.error).toMatchObject({ code: -32602 });
    expect(refused.error.message).toContain("date");
  });
});

describe("flush", () => {
  const question = { sessionKey: "agent:main:main", contextTokens: 190_000, contextWindow: 200_000 };
  test("is due once per compaction cycle, by our record or the gateway's", async () => {
    const { client } = await open(
      { "MEMORY.md": "x" },
      {
        prepare: ({ stateDir }) => {
          const folder = join(stateDir, "agents/main/sessions");
          mkdirSync(folder, { recursive: true });
          const entry = { sessionId: "a", compactionCount: 3, memoryFlushCompactionCount: 3 };
          writeFileSync(join(folder, "sessions.json"), JSON.stringify({ "agent:main:main": entry }));
        },
      },
    );
    const due = await client.call("memory.flush", { ...question, compactionCount: 1 });
    expect(due).toMatchObject({ due: true, reason: "due" });
    expect(due.prompt).toContain("NO_REPLY");
    await client.call("memory.flushed", { sessionKey: "agent:main:main", compactionCount: 1 });
    const reason = async (compactionCount: number): Promise<string> =>
      (await client.call("memory.flush", { ...question, compactionCount })).reason;
    expect(await reason(1)).toBe("already-flushed");
    expect(await reason(2)).toBe("due");
    expect(await reason(3)).toBe("already-flushed");
  });
});

describe("transcripts", () => {
  const config = {
    agents: {
      defaults: {
        memorySearch: {
          experimental: { sessionMemory: true },
          sources: ["memory", "sessions"],
          sync: { sessions: { deltaBytes: 400, deltaMessages: 100 } },
        },
      },
    },
    tools: { sessions: { visibility: "tree" } },
  };
  const prepare = ({ stateDir }: { stateDir: string }): void => {
    const folder = join(stateDir, "agents/main/sessions");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "aaa.jsonl"), `{"type":"session"}\n${turn("user", "The walrus sleeps on the ice.")}`);
    writeFileSync(join(folder, "bbb.jsonl"), turn("assistant", "The walrus key is sk-abcdefghijklmnop1234."));
    writeFileSync(join(folder, "bbb.trajectory.jsonl"), turn("user", "walrus noise"));
    writeFileSync(
      join(folder, "sessions.json"),
      JSON.stringify({ "agent:main:main": { sessionId: "aaa" }, "agent:main:discord:direct:u": { sessionId: "bbb" } }),
    );
  };

  test("are found with their lines, by those who may see them, and never with a secret", async () => {
    const { client } = await open({ "MEMORY.md": "# Nothing here" }, { config, prepare });
    const found = async (sessionKey?: string): Promise<{ path: string; startLine: number; snippet: string }[]> =>
      (await client.call("memory.search", { query: "walrus", corpus: "sessions", sessionKey })).results;
    expect(await found("agent:main:main")).toMatchObject([{ path: "sessions/main/aaa.jsonl", startLine: 2 }]);
    const [other] = await found("agent:main:discord:direct:u");
    expect(other?.path).toBe("sessions/main/bbb.jsonl");
    expect(other?.snippet).not.toContain("abcdefghijklmnop");
    expect(await found()).toEqual([]);
    const read = await client.call("memory.get", { path: "sessions/main/aaa.jsonl" });
    expect(read).toMatchObject({ text: "", disabled: true });
  });

  test("whose folder is made after the start are found before they grow again", async () => {
    const memorySearch = { ...config.agents.defaults.memorySearch, sync: { watchDebounceMs: 100 } };
    const { client, home } = await open({}, { config: { agents: { defaults: { memorySearch } } }, watch: true });
    const folder = join(home.stateDir, "agents/main/sessions");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "first.jsonl"), turn("user", "The dugong came first."));
    const found = async (): Promise<Json[]> =>
      (await client.call("memory.search", { query: "dugong", corpus: "sessions" })).results;
    while ((await found()).length === 0) await change(client, "added", 1);
    expect(await found()).toMatchObject([{ path: "sessions/main/first.jsonl" }]);
  });

  test("that grow past the threshold are found", async () => {
    const { client, home } = await open({ "MEMORY.md": "# Nothing here" }, { config, prepare, watch: true });
    const file = join(home.stateDir, "agents/main/sessions/aaa.jsonl");
    appendFileSync(file, turn("user", `The narwhal arrived. ${"More words follow. ".repeat(30)}`));
    client.notify("session.updated", { sessionKey: "agent:main:main", sessionFile: file });
    await change(client, "changed", 1);
    const { results } = await client.call("memory.search", {
      query: "narwhal",
      corpus: "sessions",
      sessionKey: "agent:main:main",
    });
    expect(results[0]).toMatchObject({ path: "sessions/main/aaa.jsonl", startLine: 2, endLine: 3 });
  });

  test("of another agent are denied without tools.agentToAgent", async () => {
    const { client } = await open({ "MEMORY.md": "secret plans" }, { config, prepare });
    const answer = await client.call("memory.search", { query: "plans", sessionKey: "agent:other:main" });
    expect(answer).toMatchObject({ results: [], denied: true });
    expect(answer.reason).toContain("tools.agentToAgent");
  });

  test.each([
    { allow: ["*"], isDenied: undefined },
    { allow: ["ma*", "OTHER"], isDenied: undefined },
    { allow: ["m*n", "o*r"], isDenied: undefined },
    { allow: ["ma", "other"], isDenied: true },
    { allow: ["m.in", "other"], isDenied: true },
  ])("of another agent are searched where patterns allow both: $allow", async ({ allow, isDenied }) => {
    const agentToAgent = { enabled: true, allow };
    const { client } = await open({ "MEMORY.md": "secret plans" }, { config: { tools: { agentToAgent } } });
    const answer = await client.call("memory.search", { query: "plans", sessionKey: "agent:other:main" });
    expect(answer.denied).toBe(isDenied);
    expect(answer.results).toHaveLength(isDenied ? 0 : 1);
  });

  // Visibility "agent" once let another agent's session see all of them.
  test.each([
    { visibility: "all", seen: ["sessions/main/aaa.jsonl", "sessions/main/bbb.jsonl", "sessions/main/ccc.jsonl"] },
    { visibility: "agent", seen: ["sessions/main/ccc.jsonl"] },
    { visibility: "self", seen: [] },
  ])("are seen by another agent's session with visibility $visibility: $seen", async ({ visibility, seen }) => {
    const { client } = await open(
      { "MEMORY.md": "# Nothing here" },
      {
        config: { ...config, tools: { sessions: { visibility }, agentToAgent: { enabled: true } } },
        prepare(home) {
          prepare(home);
          const folder = join(home.stateDir, "agents/main/sessions");
          writeFileSync(join(folder, "ccc.jsonl"), turn("user", "The walrus was sent for."));
          const sessions = { "agent:main:sub": { sessionId: "ccc", spawnedBy: "agent:other:main" } };
          writeFileSync(join(folder, "sessions.json"), JSON.stringify(sessions));
        },
      },
    );
    const params = { query: "walrus", corpus: "sessions", sessionKey: "agent:other:main" };
    const { results } = await client.call("memory.search", params);
    expect(results.map(({ path }: { path: string }) => path).toSorted()).toEqual(seen);
  });
});

describe("a living process", () => {
  test("finds a note that another process wrote, and answers 20 sessions at once", async () => {
    const { client, home } = await open({ "MEMORY.md": "# Start", "memory/a.md": "alpha" }, { watch: true });
    const writer = Bun.spawn(["sh", "-c", 'printf "the osprey returned\\n" > memory/new.md'], { cwd: home.workspace });
    expect(await writer.exited).toBe(0);
    await change(client, "added", 1);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        client.call("memory.search", { query: "osprey", sessionKey: `agent:main:discord:direct:${n}` }),
      ),
    );
    for (const { results } of answers) expect(results[0].path).toBe("memory/new.md");
  });
});

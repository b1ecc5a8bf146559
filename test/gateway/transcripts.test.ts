import { afterAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "./client.ts";
import { makeHome, startRpc } from "./client.ts";

const running: Client[] = [];
afterAll(() => Promise.all(running.map((client) => client.end())));

const turn = (role: string, text: string): string =>
  JSON.stringify({
    type: "message",
    timestamp: "2026-02-10T10:00:00Z",
    message: { role, content: [{ type: "text", text }] },
  });

/** Two sessions of agent main that talked about hedgehogs, and a note about them. */
async function open(tools: object) {
  const home = makeHome({ "memory/a.md": "A hedgehog lives in the garden.\n" });
  const folder = join(home.stateDir, "agents/main/sessions");
  mkdirSync(folder, { recursive: true });
  for (const id of ["one", "two"])
    writeFileSync(join(folder, `${id}.jsonl`), `${turn("user", `The hedgehog ate ${id}.`)}\n`);
  const entry = (sessionId: string, spawnedBy?: string) => ({
    sessionId,
    ...(spawnedBy === undefined ? {} : { spawnedBy }),
  });
  const sessions = { "agent:main:main": entry("one"), "agent:main:subagent:x": entry("two", "agent:main:main") };
  writeFileSync(join(folder, "sessions.json"), JSON.stringify(sessions));
  const memorySearch = { experimental: { sessionMemory: true }, sources: ["memory", "sessions"] };
  const client = startRpc();
  running.push(client);
  await client.call("initialize", { ...home, watch: false, config: { agents: { defaults: { memorySearch } }, tools } });
  const ask = async (params: object): Promise<string[]> => {
    const { results } = await client.call("memory.search", { query: "hedgehog", ...params });
    return results.map(({ path }: { path: string }) => path.split("/").at(-1)).sort();
  };
  return { client, ask };
}

test("the corpus is chosen, and all of the agent's transcripts are open to it", async () => {
  const { ask } = await open({});
  expect(await ask({})).toEqual(["a.md", "one.jsonl", "two.jsonl"]);
  expect(await ask({ corpus: "memory" })).toEqual(["a.md"]);
  expect(await ask({ corpus: "sessions", sessionKey: "agent:main:subagent:x" })).toEqual(["one.jsonl", "two.jsonl"]);
});

test("visibility narrows them to the asking session, and those it spawned", async () => {
  const self = await open({ sessions: { visibility: "self" } });
  expect(await self.ask({ corpus: "sessions", sessionKey: "agent:main:main" })).toEqual(["one.jsonl"]);
  expect(await self.ask({ corpus: "all" })).toEqual(["a.md"]);
  const tree = await open({ sessions: { visibility: "tree" } });
  expect(await tree.ask({ corpus: "sessions", sessionKey: "agent:main:main" })).toEqual(["one.jsonl", "two.jsonl"]);
  expect(await tree.ask({ corpus: "sessions", sessionKey: "agent:main:subagent:x" })).toEqual(["two.jsonl"]);
});

test("another agent's session sees the notes, and the transcripts only where agents may ask each other", async () => {
  const closed = await open({});
  const sessionKey = "agent:other:main";
  expect(await closed.ask({ corpus: "all", sessionKey })).toEqual(["a.md"]);
  expect(
    await closed.client.call("memory.search", { query: "hedgehog", corpus: "sessions", sessionKey }),
  ).toMatchObject({
    results: [],
    denied: true,
    reason: expect.stringContaining("tools.agentToAgent"),
  });
  const opened = await open({ agentToAgent: { enabled: true, allow: ["oth*", "main"] } });
  expect(await opened.ask({ corpus: "sessions", sessionKey })).toEqual(["one.jsonl", "two.jsonl"]);
});

// What the README says of `memq rpc`'s methods, against what they answer.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Client, type Json, makeHome, startRpc } from "../gateway/client.ts";

const readme = readFileSync(join(resolve(import.meta.dir, "../.."), "README.md"), "utf8");
const documented = new Map(
  [...readme.matchAll(/^\| `([\w.$/]+)` \| [^|]+ \| [^|]* \| ([^|]*) \|$/gm)].map(([, name = "", answer = ""]) => [
    name,
    new Set([...answer.matchAll(/`(\w+)\??`/g)].map((match) => match[1] ?? "")),
  ]),
);

let client: Client;
let hello: Json;
beforeAll(async () => {
  client = startRpc();
  const notes = { "MEMORY.md": "- Never restart kestrel. <!-- trigger: restart kestrel --> <!-- importance: 9 -->\n" };
  hello = await client.call("initialize", { ...makeHome(notes), watch: false });
});
afterAll(() => client.end());

test("every method that is there is described", () => {
  for (const name of hello.capabilities.methods) expect([...documented.keys()]).toContain(name);
});

test("an answer holds nothing that its row does not name", async () => {
  const session = { sessionKey: "agent:main:main" };
  const numbers = { contextTokens: 150_000, contextWindow: 200_000, compactionCount: 1 };
  const searched = await client.call("memory.search", { query: "kestrel", explain: true });
  const recalled = await client.call("memory.recall", { message: "may I restart kestrel?" });
  const read = await client.call("memory.context", session);
  const answers: [method: string, answer: object][] = [
    ["initialize", hello],
    ["memory.search", searched],
    ["memory.search", searched.results[0]],
    ["memory.get", await client.call("memory.get", { path: "MEMORY.md", from: 1, lines: 1 })],
    ["memory.get", await client.call("memory.get", { path: "../x.md" })],
    ["memory.index", await client.call("memory.index")],
    ["memory.recall", recalled],
    ["memory.recall", recalled.entries[0]],
    ["memory.context", read],
    ["memory.context", read.files[0]],
    ["memory.append", await client.call("memory.append", { text: "- x" })],
    ["memory.flush", await client.call("memory.flush", { ...session, ...numbers })],
    ["memory.flushed", await client.call("memory.flushed", { ...session, compactionCount: 1 })],
    ["ping", await client.call("ping")],
  ];
  for (const [method, answer] of answers) {
    for (const key of Object.keys(answer)) expect([...(documented.get(method) ?? [])], method).toContain(key);
  }
});

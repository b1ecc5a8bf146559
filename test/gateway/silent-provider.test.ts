// What a gateway sees of an embedding server that stops to answer: one slow question, and quick ones after it.
import { expect, setDefaultTimeout, test } from "bun:test";
import { standIn } from "../embed/servers/stand-in.ts";
import { openAiWire } from "../embed/servers/wires.ts";
import { makeHome, startRpc } from "./client.ts";

setDefaultTimeout(20_000);

test("a provider that gives no answer slows one search and not the following ones, and is asked again in time", async () => {
  const server = standIn(openAiWire);
  const home = makeHome({
    "memory/a.md": "# Heron\nA heron stands by the pond.\n",
    "memory/b.md": "# Violin\nTuned.\n",
  });
  const client = startRpc();
  const memorySearch = {
    provider: "openai-compatible",
    model: "m",
    remote: { baseUrl: `${server.origin}/v1` },
    sync: { onSearch: false, onSessionStart: false },
  };
  await client.call("initialize", { ...home, watch: false, config: { agents: { defaults: { memorySearch } } } });
  await client.call("memory.index");
  const search = async (query: string) => {
    const started = performance.now();
    const answer = await client.call("memory.search", { query, deadlineMs: 900 });
    return { answer, ms: performance.now() - started };
  };
  expect((await search("heron")).answer).toMatchObject({ mode: "hybrid" });
  server.misbehave.hang = true;
  const slow = await search("the heron");
  expect(slow.answer).toMatchObject({ mode: "keyword", degraded: ["vector"], results: [{ path: "memory/a.md" }] });
  const asked = server.asked.length;
  for (const query of ["a heron", "heron pond", "which heron"]) {
    const { answer, ms } = await search(query);
    expect(answer).toMatchObject({ mode: "keyword", degraded: ["vector"], results: [{ path: "memory/a.md" }] });
    expect(ms).toBeLessThan(slow.ms / 2);
  }
  expect(server.asked.length).toBe(asked);
  server.misbehave.hang = false;
  while ((await search("heron again")).answer["mode"] !== "hybrid") await Bun.sleep(100);
  await client.end();
  await server.stop();
});

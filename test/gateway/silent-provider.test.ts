// What a gateway sees of an embedding server that stops to answer: one slow question, and quick ones after it.
import { expect, setDefaultTimeout, test } from "bun:test";
import { standIn } from "../embed/servers/stand-in.ts";
import { openAiWire } from "../embed/servers/wires.ts";
import { makeHome, startRpc } from "./client.ts";

setDefaultTimeout(20_000);

/** Longer than a test may take: who waits for what hangs never answers. */
const PATIENT_MS = 600_000;

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
  const search = (query: string, deadlineMs: number) => client.call("memory.search", { query, deadlineMs });
  expect(await search("heron", PATIENT_MS)).toMatchObject({ mode: "hybrid" });
  server.misbehave.hang = true;
  const slow = await search("the heron", 900);
  expect(slow).toMatchObject({ mode: "keyword", degraded: ["vector"], results: [{ path: "memory/a.md" }] });
  const asked = server.asked.length;
  for (const query of ["a heron", "heron pond", "which heron"]) {
    const answer = await search(query, PATIENT_MS);
    expect(answer).toMatchObject({ mode: "keyword", degraded: ["vector"], results: [{ path: "memory/a.md" }] });
  }
  expect(server.asked.length).toBe(asked);
  server.misbehave.hang = false;
  while ((await search("heron again", PATIENT_MS))["mode"] !== "hybrid") await Bun.sleep(100);
  await client.end();
  await server.stop();
});

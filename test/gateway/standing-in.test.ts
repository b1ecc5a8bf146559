// What people learn when the configured fallback embeds because the named provider failed at its work.
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { memq } from "../cli/program.ts";
import { standIn, type StandIn } from "../embed/servers/stand-in.ts";
import { openAiWire } from "../embed/servers/wires.ts";
import { type Json, makeHome, startRpc } from "./client.ts";

setDefaultTimeout(20_000);

let failing: StandIn;
let spare: StandIn;
let home: { workspace: string; stateDir: string };

beforeEach(() => {
  failing = standIn(openAiWire);
  spare = standIn(openAiWire);
  failing.misbehave.failFirst = {
    times: 1000,
    status: 401,
    body: '{"error":{"message":"that key is no longer valid"}}',
  };
  home = makeHome({ "memory/heron.md": "# Heron\nA heron stands by the pond.\n" });
  const provider = (server: StandIn): object => ({ apiKey: "k", baseUrl: `${server.origin}/v1` });
  const models = { providers: { openai: provider(spare) } };
  const remote = { apiKey: "k", baseUrl: `${failing.origin}/v1` };
  const memorySearch = { provider: "mistral", fallback: "openai", remote };
  const config = { models, agents: { defaults: { memorySearch } } };
  mkdirSync(home.stateDir, { recursive: true });
  writeFileSync(join(home.stateDir, "openclaw.json"), JSON.stringify(config));
});
afterEach(async () => {
  await Promise.all([failing.stop(), spare.stop()]);
});

const index = (...more: string[]) =>
  memq(["memory", "index", ...more, "--workspace", home.workspace, "--state-dir", home.stateDir]);

async function search(): Promise<{ answer: Json; status: Json }> {
  const client = startRpc();
  await client.call("initialize", { ...home, watch: false });
  const answer = await client.call("memory.search", { query: "heron" });
  const status = await client.call("memory.status", { deep: true });
  await client.end();
  return { answer, status };
}

test("a fallback that stood in for a provider that failed to embed did so in silence, and the reason was lost", async () => {
  const { exitCode, stderr } = await index();
  expect(exitCode).toBe(0);
  expect(stderr).toContain("that key is no longer valid");
  expect(stderr).toContain("The fallback stands in.");
  const { answer, status } = await search();
  expect(answer).toMatchObject({ provider: "openai", mode: "hybrid", fallback: { from: "mistral" } });
  expect(answer.fallback.reason).toContain("that key is no longer valid");
  expect(status.fallback).toEqual(answer.fallback);
  expect(status.custom.providerOrigin).toBe(
    "named by agents.defaults.memorySearch.fallback, in place of mistral; key from models.providers.openai.apiKey",
  );

  // The named provider takes over when it works again.
  failing.misbehave = {};
  expect((await index()).stderr).not.toContain("fallback");
  const recovered = await search();
  expect(recovered.answer).toMatchObject({ provider: "mistral", mode: "hybrid" });
  expect(recovered.answer.fallback).toBeUndefined();
  expect(recovered.status.fallback).toBeUndefined();
});

test("a fallback could not take over from a provider that had worked before", async () => {
  failing.misbehave = {};
  expect((await index()).exitCode).toBe(0);
  failing.misbehave.failFirst = { times: 1000, status: 401, body: '{"error":{"message":"no longer valid"}}' };
  expect((await search()).answer).toMatchObject({ unavailable: true });
  writeFileSync(join(home.workspace, "memory/violin.md"), "# Violin\nTuned.\n");
  const asked = await index();
  expect(asked.exitCode).toBe(1);
  expect(asked.stderr).toContain("'memory index --force' lets openai take over until mistral is back.");
  const forced = await index("--force");
  expect(forced.exitCode).toBe(0);
  expect(forced.stderr).toContain("The fallback stands in.");
  expect((await search()).answer).toMatchObject({ provider: "openai", mode: "hybrid", fallback: { from: "mistral" } });

  // Back again, it embeds what is new; the rest was kept.
  failing.misbehave = {};
  failing.embedded.length = 0;
  expect((await index()).stderr).not.toContain("fallback");
  expect(failing.embedded).toEqual(["# Violin\nTuned.\n"]);
  expect((await search()).answer).toMatchObject({ provider: "mistral", mode: "hybrid" });

  // Nothing is new, so that only the force asks it.
  failing.misbehave.failFirst = { times: 1000, status: 401, body: "{}" };
  expect((await index("--force")).stderr).toContain("The fallback stands in.");
  expect((await search()).answer).toMatchObject({ provider: "openai", mode: "hybrid" });
});

test("a fallback gave way to the provider that still failed, whose vectors were kept, at the next sync", async () => {
  failing.misbehave = {};
  await index();
  const broken = { times: 1000, status: 401, body: '{"error":{"message":"no longer valid"}}' };
  failing.misbehave.failFirst = broken;
  expect((await index("--force")).stderr).toContain("The fallback stands in.");
  // Once its vectors come from the cache, then they wait in the index.
  for (let sync = 0; sync < 2; sync++) {
    expect((await index()).stderr).toContain("no longer valid");
    const { answer } = await search();
    expect(answer).toMatchObject({ provider: "openai", mode: "hybrid", fallback: { from: "mistral" } });
  }

  failing.misbehave = {};
  expect((await index()).stderr).not.toContain("fallback");
  expect((await search()).answer).toMatchObject({ provider: "mistral", mode: "hybrid" });
  // Those of the notes were kept: one text was asked for to see that it is back.
  expect(failing.embedded.filter((text) => text.includes("heron"))).toHaveLength(2);
});

test("when provider and fallback failed to embed, only the fallback's reason was told", async () => {
  spare.misbehave.failFirst = { times: 1000, status: 401, body: '{"error":{"message":"nor is this one"}}' };
  const { exitCode, stderr } = await index();
  expect(exitCode).toBe(1);
  expect(stderr).toContain("that key is no longer valid");
  expect(stderr).toContain("Fallback to openai failed:");
  expect(stderr).toContain("nor is this one");
});

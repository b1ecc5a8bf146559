// What a gateway sees while an agent's embedding model changes: the old answers go on until the new vectors are complete.
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { standIn, type StandIn } from "../embed/servers/stand-in.ts";
import { openAiWire } from "../embed/servers/wires.ts";
import { memq } from "../cli/program.ts";
import { type Client, type Json, makeHome, startRpc } from "./client.ts";

// Several processes start in turn, perhaps on a busy machine.
setDefaultTimeout(20_000);

const NOTES = Object.fromEntries(
  ["heron", "lighthouse", "orchard", "violin", "glacier", "harvest"].map((word) => [
    `memory/${word}.md`,
    `# ${word}\nWhat is known of the ${word}.\n`,
  ]),
);
const QUERY = "what of the heron?";
const COUNT = Object.keys(NOTES).length;

let first: StandIn;
let second: StandIn;
let home: { workspace: string; stateDir: string };
const clients: Client[] = [];

beforeEach(() => {
  first = standIn(openAiWire);
  second = standIn(openAiWire);
  second.length = 12;
  home = makeHome(NOTES);
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()));
  await Promise.all([first.stop(), second.stop()]);
});

const memorySearch = (server: StandIn, model: string): object => ({
  provider: "openai-compatible",
  model,
  remote: { baseUrl: `${server.origin}/v1` },
  sync: { onSearch: false, onSessionStart: false },
});

async function open(settings: object): Promise<Client> {
  const client = startRpc();
  clients.push(client);
  const config = { agents: { defaults: { memorySearch: settings } } };
  await client.call("initialize", { ...home, watch: false, config });
  return client;
}

async function closeAll(): Promise<void> {
  await Promise.all(clients.splice(0).map((client) => client.end()));
}

const search = (client: Client, query = QUERY): Promise<Json> =>
  client.call("memory.search", { query, deadlineMs: 20_000 });

/** Indexes with the first server, and ends. */
async function indexedByFirst(): Promise<void> {
  const client = await open(memorySearch(first, "one"));
  expect(await client.call("memory.index")).toMatchObject({ files: COUNT });
  expect(await search(client)).toMatchObject({ mode: "hybrid", model: "one" });
  await closeAll();
}

test.each([8192, 8193, 12_288])("vectors of %i numbers are indexed and searched", async (length) => {
  await indexedByFirst();
  first.lengthOf = { two: length };
  const client = await open(memorySearch(first, "two"));
  await client.call("memory.index");
  const found = await search(client);
  expect(found).toMatchObject({ mode: "hybrid", model: "two" });
  expect(found.results[0]).toMatchObject({ path: "memory/heron.md", vectorScore: expect.any(Number) });
  await closeAll();
  await indexedByFirst();
});

describe("another model of the same server", () => {
  test("the former answers until the new vectors are complete, also after a restart", async () => {
    await indexedByFirst();
    const before = first.embedded.length;
    first.misbehave = { maxItems: 1, hangFor: "known of the violin" };
    const client = await open(memorySearch(first, "two"));
    for (let missing = COUNT; missing > 1;) {
      const { vector } = await client.call("memory.status");
      missing = vector.next?.missing ?? COUNT;
      expect(vector).toMatchObject({ available: true, missing: 0 });
    }
    const during = await search(client);
    expect(during).toMatchObject({ mode: "hybrid", model: "one" });
    expect(during.results[0].path).toBe("memory/heron.md");
    expect((await client.call("memory.status")).vector.next).toMatchObject({ model: "two", missing: 1 });
    await closeAll();

    first.misbehave = {};
    const later = await open(memorySearch(first, "two"));
    await later.call("memory.index");
    expect(await search(later)).toMatchObject({ mode: "hybrid", model: "two" });
    const { vector } = await later.call("memory.status");
    expect(vector).toMatchObject({ missing: 0 });
    expect(vector.next).toBeUndefined();
    // Each note once, and the questions.
    expect(first.embedded.slice(before).filter((text) => text.includes("known of")).length).toBe(COUNT);
  });
});

describe("another model with other dimensions, in a process that goes on", () => {
  test("the former answers, then without a restart the new one", async () => {
    first.lengthOf = { two: 12 };
    await indexedByFirst();
    first.misbehave = { maxItems: 1, hangFor: "known of the violin" };
    const client = await open(memorySearch(first, "two"));
    for (let missing = COUNT; missing > 1;) {
      missing = (await client.call("memory.status")).vector.next?.missing ?? COUNT;
    }
    expect(await search(client)).toMatchObject({ mode: "hybrid", model: "one" });
    first.release();
    let answer = await search(client);
    while (answer.model === "one") answer = await search(client);
    expect(answer).toMatchObject({ mode: "hybrid", model: "two" });
    expect(answer.results[0].path).toBe("memory/heron.md");
    expect((await client.call("memory.status")).vector).toMatchObject({ dims: 12, missing: 0 });
  });
});

describe("a model of other dimensions at another address", () => {
  test("keywords answer, status tells what is being made, then the new vectors serve", async () => {
    await indexedByFirst();
    second.misbehave = { hang: true };
    const client = await open(memorySearch(second, "one"));
    const during = await search(client);
    expect(during.results[0].path).toBe("memory/heron.md");
    expect(during).toMatchObject({ mode: "keyword", degraded: ["vector"] });
    expect(during.warning).toContain(`embeddings of one at ${first.origin}/v1, not at ${second.origin}/v1`);
    expect(first.asked.filter(({ text }) => text.includes("what of"))).toHaveLength(1);
    const status = await client.call("memory.status");
    expect(status.vector.dims).toBe(8);
    expect(status.custom.indexIdentity).toMatchObject({ endpoint: `${first.origin}/v1` });
  });

  test("the old vectors serve a process that still has the old settings while the new ones are made beside", async () => {
    await indexedByFirst();
    second.misbehave = { maxItems: 1, hangFor: "known of the violin" };
    const changed = await open(memorySearch(second, "one"));
    for (let missing = COUNT; missing > 1;) {
      missing = (await changed.call("memory.status")).vector.next?.missing ?? COUNT;
    }
    const old = await open(memorySearch(first, "one"));
    const answer = await search(old);
    expect(answer.mode).toBe("hybrid");
    expect(answer.results[0].path).toBe("memory/heron.md");
  });

  test("a service that is gone after the change costs the vector leg and nothing else", async () => {
    await indexedByFirst();
    await second.stop();
    const client = await open(memorySearch(second, "one"));
    expect(await client.call("memory.index")).toMatchObject({ files: COUNT, embedded: 0 });
    const answer = await search(client);
    expect(answer.results[0].path).toBe("memory/heron.md");
    expect(answer).toMatchObject({ mode: "keyword", degraded: ["vector"] });
    await closeAll();
    // Going back costs nothing: the vectors are still there.
    const before = first.embedded.length;
    const back = await open(memorySearch(first, "one"));
    await back.call("memory.index");
    expect(await search(back)).toMatchObject({ mode: "hybrid" });
    expect(first.embedded.length).toBe(before + 1);
  });

  test("when they are complete, they serve with their own length", async () => {
    await indexedByFirst();
    const client = await open(memorySearch(second, "one"));
    await client.call("memory.index");
    expect(await search(client)).toMatchObject({ mode: "hybrid" });
    expect((await client.call("memory.status")).vector).toMatchObject({ dims: 12, missing: 0 });
    writeFileSync(join(home.workspace, "memory/new.md"), "# new\nAn otter by the river.\n");
    expect(await client.call("memory.index")).toMatchObject({ added: 1, embedded: 1 });
    expect((await search(client, "the otter")).results[0].path).toBe("memory/new.md");
  });
});

describe("a service that fails", () => {
  test("is left alone for a minute, and asked again once it has embedded something", async () => {
    const client = await open(memorySearch(first, "one"));
    await client.call("memory.index");
    first.misbehave = { failFirst: { times: 100, status: 401, body: "no" } };
    expect(await search(client)).toMatchObject({ unavailable: true });
    const asked = first.asked.length;
    expect(await search(client, "what of the violin?")).toMatchObject({ unavailable: true });
    expect(first.asked.length).toBe(asked);
    first.misbehave = {};
    writeFileSync(join(home.workspace, "memory/new.md"), "# new\nAn otter by the river.\n");
    await client.call("memory.index");
    expect(await search(client)).toMatchObject({ mode: "hybrid" });
  });

  test("a deep status asks it whatever happened before, and says why it was chosen", async () => {
    const client = await open(memorySearch(first, "one"));
    await client.call("memory.index");
    first.misbehave = { failFirst: { times: 1, status: 401, body: "no" } };
    expect(await search(client)).toMatchObject({ unavailable: true });
    const status = await client.call("memory.status", { deep: true });
    expect(status.embeddingProbe).toMatchObject({ ok: true, dims: 8 });
    expect(status.embeddingProbe.textsPerSecond).toBeGreaterThan(0);
    expect(status.custom.providerOrigin).toContain("named by agents.defaults.memorySearch");
    expect(await search(client)).toMatchObject({ mode: "hybrid" });
  });
});

test("the home's own environment holds for syncs, and the debug variable prints requests but no key", async () => {
  const variables = { TEST_EMBED_KEY: "secret-key-0123456789", OPENCLAW_DEBUG_MEMORY_EMBEDDINGS: "1" };
  mkdirSync(home.stateDir);
  writeFileSync(
    join(home.stateDir, ".env"),
    Object.entries(variables)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(""),
  );
  const settings = {
    ...memorySearch(first, "one"),
    remote: { baseUrl: `${first.origin}/v1`, apiKey: "${TEST_EMBED_KEY}" },
  };
  const client = await open(settings);
  await client.call("memory.index");
  first.misbehave = { failFirst: { times: 1, status: 401, body: `the key ${variables.TEST_EMBED_KEY} is bad` } };
  await search(client);
  clients.pop();
  const { stderr } = await client.end();
  const lines = stderr.split("\n").filter((line) => line.startsWith("memory embeddings:"));
  expect(lines[0]).toMatch(/^memory embeddings: openai-compatible POST http:\S+\/v1\/embeddings \d+ B: 200 in \d+ ms$/);
  expect(lines.at(-1)).toContain(": 401 in");
  expect(first.asked[0]?.headers["authorization"]).toBe(`Bearer ${variables.TEST_EMBED_KEY}`);
  expect(stderr).not.toContain("secret-key");
});

describe("status of an index that was made before the model was changed", () => {
  const said = async (settings: object, ...words: string[]): Promise<string> => {
    mkdirSync(home.stateDir, { recursive: true });
    const config = join(home.stateDir, "changed.json");
    writeFileSync(config, JSON.stringify({ agents: { defaults: { memorySearch: settings } } }));
    const at = ["--workspace", home.workspace, "--state-dir", home.stateDir, "--config", config];
    return (await memq(["memory", ...words, ...at], { env: { MEMQ_MODEL_IDLE_MS: "0" } })).stdout;
  };

  test("kept silent about the vectors that are still to be made", async () => {
    await indexedByFirst();
    const text = await said(memorySearch(first, "two"), "status");
    expect(text).toContain("\nModel: one\n");
    expect(text).toContain(`\nTo be made: vectors of two for ${COUNT} passages; 'memory index' makes them\n`);
    expect(await said(memorySearch(first, "one"), "status")).not.toContain("To be made");
  });

  test("kept silent about a configured service that does not answer, even with --deep", async () => {
    await indexedByFirst();
    await second.stop();
    const text = await said(memorySearch(second, "two"), "status", "--deep");
    expect(text).toContain("can't be used: ");
  });

  test("kept silent about a configured model that is not on this machine", async () => {
    const local = (modelPath: string): object => ({ provider: "local", local: { modelPath } });
    const model = resolve(import.meta.dir, "../fixtures/models/wink20k-q8.gguf");
    expect(await said(local(model), "index")).toContain(`${COUNT} embedded`);
    expect(await said(local(model), "status")).not.toContain("Issues:");
    const text = await said(local("/nowhere/model.gguf"), "status");
    expect(text).toContain(`\nModel: ${model}\n`);
    expect(text).toContain("can't be used: ");
    expect(text).toContain("The model /nowhere/model.gguf is not on this machine.");
  });
});

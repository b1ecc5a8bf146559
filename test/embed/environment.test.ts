// What the environment says of keys and servers.
import { afterEach, describe, expect, test } from "bun:test";
import { openProvider } from "../../src/embed/registry.ts";
import { failure, fakeClock, never, opened, settingsFor } from "./harness.ts";
import { standIn, type StandIn } from "./servers/stand-in.ts";
import * as wires from "./servers/wires.ts";

const servers: StandIn[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

describe("several keys of gemini", () => {
  const credentials = { gemini: { apiKey: "key-first-1", otherKeys: ["key-second-2", "key-third-3"] } };
  const keysAsked = (server: StandIn) => server.asked.map(({ headers }) => headers["x-goog-api-key"]);
  const limited = { status: 429, body: "RESOURCE_EXHAUSTED" };

  test("take turns when one has reached its limit", async () => {
    const server = standIn(wires.geminiWire);
    servers.push(server);
    server.misbehave.failFirst = { times: 1, ...limited };
    const options = { fetch: server.fetch, clock: fakeClock() };
    const provider = await opened(settingsFor({ provider: "gemini", credentials }), options);
    await provider.embedQuery("who?", never());
    await provider.embedDocuments([{ text: "Marta." }], never());
    expect(keysAsked(server)).toEqual(["key-first-1", "key-second-2", "key-second-2"]);
    server.misbehave.failFirst = { times: 1, status: 401 };
    const error = await failure(provider.embedQuery("where?", never()));
    expect(error.message).not.toContain("key-");
    expect(keysAsked(server)).toHaveLength(4);
  });

  test("are not used where the configuration names one", async () => {
    const server = standIn(wires.geminiWire);
    servers.push(server);
    server.misbehave.failFirst = { times: 1, ...limited };
    const settings = settingsFor({ provider: "gemini", apiKey: "key-named-0", credentials });
    const provider = await opened(settings, { fetch: server.fetch, clock: fakeClock() });
    await provider.embedQuery("who?", never());
    expect(keysAsked(server)).toEqual(["key-named-0", "key-named-0"]);
  });
});

describe("the server that OLLAMA_HOST names", () => {
  test.each([
    ["box", "http://box:11434"],
    ["box:7000", "http://box:7000"],
    [":7000", "http://127.0.0.1:7000"],
    ["0.0.0.0", "http://127.0.0.1:11434"],
    ["http://box/ollama/", "http://box/ollama"],
    ["https://box.example", "https://box.example"],
    ["::nonsense::", "http://127.0.0.1:11434"],
    ["", "http://127.0.0.1:11434"],
  ])("%p is %s", async (host, endpoint) => {
    const provider = await opened(settingsFor({ provider: "ollama" }), { env: { OLLAMA_HOST: host } });
    expect(provider.endpoint).toBe(endpoint);
  });

  test("is passed over where a base URL is configured, and in a sync stands in the home's own environment", async () => {
    const env = { OLLAMA_HOST: "box" };
    const configured = settingsFor({ provider: "ollama", baseUrl: "http://other:1" });
    expect((await opened(configured, { env })).endpoint).toBe("http://other:1");
    const { provider } = await openProvider(settingsFor({ provider: "ollama", env }), { kind: "agent" });
    expect(provider?.endpoint).toBe("http://box:11434");
  });
});

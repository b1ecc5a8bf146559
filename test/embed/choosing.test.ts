import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EmbeddingSettings } from "../../src/home/types.ts";
import { openFallback, openProvider } from "../../src/embed/registry.ts";
import { parseModelSpec } from "../../src/embed/spec.ts";
import { temporaryFolder } from "../temporary.ts";
import { fakeClock, KEY, never, settingsFor } from "./harness.ts";
import { standIn, type StandIn } from "./servers/stand-in.ts";
import { openAiWire } from "./servers/wires.ts";

let server: StandIn;
beforeEach(() => {
  server = standIn(openAiWire);
});
afterEach(() => server.stop());

const open = (changes: Partial<EmbeddingSettings>, kind: "agent" | "qmd" = "agent") =>
  openProvider(settingsFor(changes), { kind, fetch: server.fetch, env: {}, clock: fakeClock() });
const keys = (...ids: string[]) => Object.fromEntries(ids.map((id) => [id, { apiKey: KEY }]));

describe("unset or auto", () => {
  test("takes the first of openai, gemini, voyage and mistral that has a key", async () => {
    const chosen = async (...ids: string[]) =>
      (await open({ provider: "auto", explicit: false, credentials: keys(...ids) })).provider?.id;
    expect(await chosen("mistral", "voyage", "google", "openai")).toBe("openai");
    expect(await chosen("mistral", "voyage", "google")).toBe("gemini");
    expect(await chosen("mistral", "voyage")).toBe("voyage");
    expect(await chosen("mistral")).toBe("mistral");
    expect(await chosen("ollama", "deepinfra", "lmstudio")).toBeUndefined();
  });

  test("none of them: keywords only, with every reason", async () => {
    const result = await open({ provider: "auto", explicit: false });
    expect(result.provider).toBeUndefined();
    expect(result.explicit).toBe(false);
    expect(result.reason?.split("\n\n").length).toBe(4);
    for (const id of ["openai", "gemini", "voyage", "mistral"]) expect(result.reason).toContain(`"${id}"`);
    expect(server.all.length).toBe(0);
  });

  test("a local model file that exists comes first, one to be downloaded does not count", async () => {
    const modelPath = join(temporaryFolder("model-"), "small.gguf");
    writeFileSync(modelPath, "not really");
    const settings = { provider: "auto", explicit: false, credentials: keys("openai") };
    const local = await open({ ...settings, local: { modelPath } });
    expect(local.provider?.id).toBe("local");
    await local.provider?.close();
    const download = await open({ ...settings, local: { modelPath: "hf:org/repo/small.gguf" } });
    expect(download.provider?.id).toBe("openai");
    const missing = await open({ ...settings, local: { modelPath: `${modelPath}.missing` } });
    expect(missing.provider?.id).toBe("openai");
  });
});

describe("named", () => {
  test("none is deliberate", async () => {
    expect(await open({ provider: "none" })).toEqual({ explicit: false });
  });

  test("without a key it is missing, in the words that clients know", async () => {
    const result = await open({ provider: "openai", authStore: "/home/a/agent/auth-profiles.json" });
    expect(result.explicit).toBe(true);
    expect(result.reason).toBe(
      'No API key found for provider "openai". Auth store: /home/a/agent/auth-profiles.json (agentDir: /home/a/agent).',
    );
  });

  test("a key that could not be looked up is the reason", async () => {
    const result = await open({ provider: "openai", credentials: { openai: { problem: "The vault is locked." } } });
    expect(result.reason).toBe("The vault is locked.");
    expect((await open({ provider: "openai", problem: "No variable." })).reason).toBe("No variable.");
  });

  test("a provider's key does not go to another address than its own", async () => {
    const credentials = { openai: { apiKey: KEY, headers: { "X-Secret": "of openai" } } };
    const other = await open({ provider: "openai", baseUrl: "https://mirror.example.net/v1", credentials });
    expect(other.reason).toBe(
      "openai embedding credentials are not configured for https://mirror.example.net/v1. Set memory.search.remote.apiKey or an Authorization header for this destination.",
    );
    const baseUrl = "https://mirror.example.net/v1";
    const withHeader = { provider: "openai", baseUrl, credentials, headers: { Authorization: "Bearer mine" } };
    await (await open(withHeader)).provider?.embedQuery("x", never());
    expect(server.asked[0]?.headers["authorization"]).toBe("Bearer mine");
    expect(server.asked[0]?.headers["x-secret"]).toBeUndefined();
  });

  test("the same address in another spelling is its own", async () => {
    const baseUrl = "HTTPS://API.openai.com:443/v1/";
    expect((await open({ provider: "openai", baseUrl, credentials: keys("openai") })).provider?.endpoint).toBe(
      "https://api.openai.com/v1",
    );
  });

  test("a user name and password in the address are sent as a header and not kept in the identity", async () => {
    const baseUrl = "https://me:pass-word-1@gate.example.net/v1";
    const { provider } = await open({ provider: "openai", baseUrl });
    await provider?.embedQuery("x", never());
    expect(server.asked[0]?.headers["authorization"]).toBe(`Basic ${btoa("me:pass-word-1")}`);
    expect(JSON.stringify(provider)).not.toContain("pass-word-1");
  });

  test("an unknown provider and an address that is none are reasons, not crashes", async () => {
    expect((await open({ provider: "constructor" })).reason).toBe('Unknown embedding provider "constructor".');
    expect((await open({ provider: "openai", baseUrl: "ftp://x/v1", apiKey: KEY })).reason).toContain("not an http");
    expect((await open({ provider: "openai-compatible", apiKey: KEY })).reason).toContain("No base URL");
    expect((await open({ provider: "openai-compatible", baseUrl: "https://x.example.net" })).reason).toContain(
      "No model",
    );
  });

  test("custom entries are served by the adapter that their api names", async () => {
    const entry = (api: string) => ({ box: { baseUrl: "https://box.example.net/v1", apiKey: KEY, api } });
    const ollama = await open({ provider: "box", credentials: entry("ollama") });
    expect([ollama.provider?.id, ollama.provider?.model]).toEqual(["box", "nomic-embed-text"]);
    const openai = await open({ provider: "box", model: "m", credentials: entry("openai-responses") });
    expect(openai.provider?.endpoint).toBe("https://box.example.net/v1");
    expect((await open({ provider: "box", credentials: entry("smoke-signals") })).reason).toContain("Unknown");
  });

  test("pictures and sounds need a model for them", async () => {
    const result = await open({ provider: "openai", credentials: keys("openai"), multimodal: true });
    expect(result.reason).toContain('requires memorySearch.provider = "gemini"');
  });
});

describe("fallback", () => {
  test("stands in with its own model and nothing that was meant for the other", async () => {
    const result = await open({
      provider: "openai",
      model: "text-embedding-3-large",
      outputDimensionality: 256,
      headers: { "X-For": "openai" },
      fallback: "voyage",
      credentials: keys("voyage"),
    });
    expect(result.provider?.model).toBe("voyage-4-large");
    expect(result.provider?.dimensions).toBeNull();
    expect(result.fallback?.from).toBe("openai");
    expect(result.fallback?.reason).toStartWith('No API key found for provider "openai".');
    await result.provider?.embedQuery("x", never());
    expect(server.asked[0]?.headers["x-for"]).toBeUndefined();
  });

  test("both fail: both reasons", async () => {
    const { provider, reason } = await open({ provider: "openai", fallback: "mistral" });
    expect(provider).toBeUndefined();
    expect(reason).toContain('"openai"');
    expect(reason).toContain('Fallback to mistral failed: No API key found for provider "mistral".');
  });

  test("none, or the same again, is no fallback", async () => {
    for (const fallback of ["none", "openai"]) {
      const settings = settingsFor({ provider: "openai", fallback });
      const result = await openFallback(settings, { kind: "agent" }, "It failed.");
      expect(result).toEqual({ reason: "It failed.", explicit: true });
    }
  });
});

describe("a qmd home's model string", () => {
  test.each([
    ["openai:text-embedding-3-small", { provider: "openai", model: "text-embedding-3-small" }],
    ["ollama:nomic-embed-text:v1.5", { provider: "ollama", model: "nomic-embed-text:v1.5" }],
    ["Voyage", { provider: "voyage" }],
    [
      "http://127.0.0.1:8080/v1#nomic%20embed",
      { provider: "openai-compatible", baseUrl: "http://127.0.0.1:8080/v1", model: "nomic embed" },
    ],
    ["https://host/models/small.gguf", { provider: "local", model: "https://host/models/small.gguf" }],
    ["hf:org/repo/file.gguf", { provider: "local", model: "hf:org/repo/file.gguf" }],
    ["/models/a.gguf", { provider: "local", model: "/models/a.gguf" }],
    ["C:\\models\\a.gguf", { provider: "local", model: "C:\\models\\a.gguf" }],
    ["none", { provider: "none" }],
  ] as [string, object][])("%s", (text, spec) => {
    expect(parseModelSpec(text)).toEqual(spec as ReturnType<typeof parseModelSpec>);
  });

  test("opens the provider it names, which then counts as named", async () => {
    const result = await open(
      { provider: "local", explicit: false, model: "mistral:mistral-embed", credentials: keys("mistral") },
      "qmd",
    );
    expect([result.provider?.id, result.explicit]).toEqual(["mistral", true]);
    const server = await open({ provider: "auto", explicit: false, model: "http://127.0.0.1:1/v1#e5" }, "qmd");
    expect([server.provider?.id, server.provider?.model]).toEqual(["openai-compatible", "e5"]);
  });

  test("unset is a model on this machine, whatever keys lie about", async () => {
    const result = await open({ provider: "auto", explicit: false, credentials: keys("openai") }, "qmd");
    expect(result.provider?.id ?? "local").toBe("local");
    await result.provider?.close();
    expect(server.all.length).toBe(0);
  });
});

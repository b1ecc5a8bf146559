import { describe, expect, test } from "bun:test";
import { chmodSync, readFileSync } from "node:fs";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import { secretOf } from "../../src/home/secrets.ts";
import { sandbox } from "./workspace.ts";

const KEY = "sk-do-not-print-me";

describe("one secret", () => {
  const box = sandbox();
  box.write("keys.json", JSON.stringify({ a: { "b/c~d": [KEY] }, n: 5 }));
  const single = box.write("key.txt", `${KEY}\n`);
  const answer = box.write(
    "bin/answer",
    `#!/bin/sh\nread -r request\ncase "$request" in *'"ids":["team/key"]'*) echo '{"protocolVersion":1,"values":{"team/key":"'$PASSED'"}}';; *) echo '{"values":{},"errors":{}}';; esac\n`,
  );
  const plain = box.write("bin/plain", `#!/bin/sh\necho "$0" >&2\necho ${KEY}\n`);
  const broken = box.write("bin/broken", `#!/bin/sh\necho ${KEY}\nexit 3\n`);
  for (const path of [answer, plain, broken]) chmodSync(path, 0o755);
  const config: JsonObject = {
    secrets: {
      providers: {
        f: { source: "file", path: "~/keys.json" },
        one: { source: "file", path: single, mode: "singleValue" },
        vault: { source: "exec", command: answer, passEnv: ["PATH", "PASSED"] },
        word: { source: "exec", command: plain, jsonOnly: false },
        strict: { source: "exec", command: plain },
        broken: { source: "exec", command: broken, jsonOnly: false },
        slow: { source: "exec", command: "/bin/sleep", args: ["30"], timeoutMs: 50 },
        relative: { source: "exec", command: "bin/plain" },
      },
      defaults: { file: "f" },
    },
  };
  const env = { HOME: box.home, PATH: process.env["PATH"], OPENAI_API_KEY: ` ${KEY} `, PASSED: KEY, HIDDEN: "x" };
  const secret = (input: JsonValue): Promise<string | undefined> =>
    secretOf(input, "memory.search.remote.apiKey", { config, env, stateDir: box.state });

  test.each<[string, JsonValue, string | undefined]>([
    ["a text", ` ${KEY}\n`, KEY],
    ["a blank text", "  ", undefined],
    ["$NAME", "$OPENAI_API_KEY", KEY],
    ["a variable", { source: "env", provider: "default", id: "OPENAI_API_KEY" }, KEY],
    ["a place in a file", { source: "file", provider: "f", id: "/a/b~1c~0d/0" }, KEY],
    ["the default file", { source: "file", id: "/a/b~1c~0d/0" }, KEY],
    ["a whole file", { source: "file", provider: "one", id: "value" }, KEY],
    ["a command that speaks JSON", { source: "exec", provider: "vault", id: "team/key" }, KEY],
    ["a command that prints it", { source: "exec", provider: "word", id: "value" }, KEY],
  ])("%s", async (_name, input, expected) => {
    expect(await secret(input)).toBe(expected);
  });

  test.each<[string, JsonValue]>([
    ["an unset variable", { source: "env", provider: "default", id: "NOT_SET" }],
    ["a variable in small letters", { source: "env", provider: "default", id: "home" }],
    ["an unset $NAME", "$NOT_SET"],
    ["no id", { source: "env", provider: "default" }],
    ["a strange source", { source: "cloud", provider: "x", id: "y" }],
    ["a strange provider", { source: "file", provider: "../x", id: "/a" }],
    ["an undeclared provider", { source: "file", provider: "nope", id: "/a" }],
    ["a provider of another source", { source: "exec", provider: "f", id: "a" }],
    ["a pointer to nothing", { source: "file", provider: "f", id: "/a/x" }],
    ["a pointer to a number", { source: "file", provider: "f", id: "/n" }],
    ["no pointer", { source: "file", provider: "f", id: "a" }],
    ["an id that leaves its folder", { source: "exec", provider: "vault", id: "a/../b" }],
    ["a command without that id", { source: "exec", provider: "vault", id: "other" }],
    ["a command that must speak JSON", { source: "exec", provider: "strict", id: "value" }],
    ["a command that fails", { source: "exec", provider: "broken", id: "value" }],
    ["a command that hangs", { source: "exec", provider: "slow", id: "value" }],
    ["a command by a relative path", { source: "exec", provider: "relative", id: "value" }],
    ["an inherited property", { source: "file", provider: "constructor", id: "/a" }],
  ])("%s is an error that names the key and prints no secret", async (_name, input) => {
    const error = (await secret(input).catch((thrown: unknown) => thrown)) as { code: string; message: string };
    expect(error.code).toBe("SECRET_UNRESOLVED");
    expect(error.message).toStartWith("memory.search.remote.apiKey ");
    expect(`${error.message} ${JSON.stringify(error)}`).not.toContain(KEY);
  });
});

test("a key was waited for until all that its command had left in the background was gone", async () => {
  const box = sandbox();
  const command = box.write("bin/agent", `#!/bin/sh\nsleep 60 & echo $! > "$0.pid"\necho ${KEY}\n`);
  chmodSync(command, 0o755);
  const agent = { source: "exec", command, jsonOnly: false, timeoutMs: 60_000, passEnv: ["PATH"] };
  const config: JsonObject = { secrets: { providers: { agent } } };
  const env = { HOME: box.home, PATH: process.env["PATH"] };
  const reference = { source: "exec", provider: "agent", id: "value" };
  expect(await secretOf(reference, "memory.search.remote.apiKey", { config, env, stateDir: box.state })).toBe(KEY);
  process.kill(Number(readFileSync(`${command}.pid`, "utf8")));
});

describe("a provider's key", () => {
  const profiles = (own: object, more: object = {}): string => JSON.stringify({ version: 1, profiles: own, ...more });
  const store = ".openclaw/agents/main/agent/auth-profiles.json";

  async function keyOf(options: { config?: object; env?: Record<string, string>; store?: string; provider?: string }) {
    const box = sandbox();
    const provider = options.provider ?? "openai";
    box.config({ memory: { search: { provider } }, ...options.config });
    if (options.store !== undefined) box.write(store, options.store);
    const { home } = await box.resolve({ env: { ...box.env, ...options.env } });
    return { ...home.embedding.credentials[provider], settings: home.embedding, issues: home.issues };
  }

  const inConfig = {
    models: {
      providers: {
        openai: { apiKey: "from-config", baseUrl: "https://o/v1", headers: { "X-A": "b" }, api: "openai-completions" },
      },
    },
  };
  const inEnv = { OPENAI_API_KEY: "from-env" };
  const inStore = profiles({ "openai:default": { type: "api_key", provider: "openai", key: "from-store" } });

  test("comes from the auth profiles, then the environment, then models.providers", async () => {
    expect(await keyOf({ config: inConfig, env: inEnv, store: inStore })).toMatchObject({
      apiKey: "from-store",
      baseUrl: "https://o/v1",
      headers: { "X-A": "b" },
      api: "openai-completions",
    });
    expect((await keyOf({ config: inConfig, env: inEnv })).apiKey).toBe("from-env");
    expect((await keyOf({ config: inConfig })).apiKey).toBe("from-config");
    expect((await keyOf({})).apiKey).toBeUndefined();
  });

  test("remote.apiKey is kept apart, so that it beats all of them", async () => {
    const config = {
      memory: {
        search: { provider: "openai", remote: { apiKey: { source: "env", provider: "default", id: "MINE" } } },
      },
    };
    const found = await keyOf({ config, env: { ...inEnv, MINE: "mine" } });
    expect(found.settings.apiKey).toBe("mine");
  });

  test("profiles go by the stored order, then the last good one; cool-downs come last; expired and OAuth ones are passed over", async () => {
    const three = {
      "openai:a": { type: "api_key", provider: "openai", key: "a" },
      "openai:b": { type: "api_key", provider: "openai", keyRef: { source: "env", provider: "default", id: "B_KEY" } },
      "openai:c": { type: "token", provider: "openai", token: "c" },
      "openai:o": { type: "oauth", provider: "openai", access: "o" },
      "google:a": { type: "api_key", provider: "google", key: "g" },
    };
    const env = { B_KEY: "b" };
    const first = async (more: object, own: object = three) =>
      (await keyOf({ env, store: profiles(own, more) })).apiKey;
    expect(await first({})).toBe("a");
    expect(await first({ lastGood: { openai: "openai:c" } })).toBe("c");
    expect(await first({ order: { openai: ["openai:o", "openai:b"] }, lastGood: { openai: "openai:c" } })).toBe("b");
    expect(await first({ usageStats: { "openai:a": { cooldownUntil: Date.now() + 60_000 } } })).toBe("b");
    expect(await first({ usageStats: { "openai:a": { disabledUntil: Date.now() - 1 } } })).toBe("a");
    expect(await first({}, { "openai:c": { ...three["openai:c"], expires: 1 } })).toBeUndefined();
    expect((await keyOf({ provider: "gemini", env, store: profiles(three) })).apiKey).toBe("g");
    expect(
      (
        await keyOf({
          config: { memory: { search: { provider: "openai" } }, auth: { order: { openai: ["openai:c"] } } },
          env,
          store: profiles(three),
        })
      ).apiKey,
    ).toBe("c");
  });

  test("OAuth alone says that it does not cover embeddings", async () => {
    const only = profiles({ "openai-codex:me": { type: "oauth", provider: "openai-codex", access: "x" } });
    expect((await keyOf({ store: only })).problem).toStartWith(
      'No API key found for provider "openai". You are authenticated with OpenAI Codex OAuth',
    );
  });

  test.each([
    ["gemini", { GOOGLE_API_KEY: "2", GEMINI_API_KEY: "1" }],
    ["voyage", { VOYAGE_API_KEY: "1" }],
    ["mistral", { MISTRAL_API_KEY: "1" }],
    ["deepinfra", { DEEPINFRA_API_KEY: "1" }],
    ["github-copilot", { GITHUB_TOKEN: "3", GH_TOKEN: "2", COPILOT_GITHUB_TOKEN: "1" }],
    ["ollama", { OLLAMA_API_KEY: "1" }],
    ["lmstudio", { LM_API_TOKEN: "1" }],
    ["bedrock", { AWS_BEARER_TOKEN_BEDROCK: "1" }],
  ] as [string, Record<string, string>][])("of %s by its own variable", async (provider, env) => {
    expect((await keyOf({ provider, env: { ...env, OPENAI_API_KEY: "no" } })).apiKey).toBe("1");
  });

  test("an openai-compatible server and a custom provider inherit nobody's key", async () => {
    expect((await keyOf({ provider: "openai-compatible", env: inEnv })).apiKey).toBeUndefined();
    const config = {
      memory: { search: { provider: "ollama-5080" } },
      models: { providers: { "ollama-5080": { api: "ollama", baseUrl: "http://gpu:11434" } } },
    };
    expect(await keyOf({ provider: "ollama-5080", config, env: inEnv })).toMatchObject({
      api: "ollama",
      baseUrl: "http://gpu:11434",
    });
  });

  test("what can't be looked up is a problem and an issue, and the home resolves all the same", async () => {
    const config = { models: { providers: { openai: { apiKey: "${NO_SUCH}" } } } };
    const found = await keyOf({ config });
    expect(found.problem).toContain("models.providers.openai.apiKey needs the environment variable NO_SUCH");
    expect(found.issues).toEqual([found.problem ?? ""]);
    const remote = await keyOf({
      config: { memory: { search: { provider: "openai", remote: { apiKey: "$NO_SUCH" } } } },
    });
    expect(remote.settings.problem).toStartWith(
      "memory.search.remote.apiKey refers to the environment variable NO_SUCH",
    );
    expect((await keyOf({ store: "{ broken" })).issues).toEqual([
      expect.stringContaining("auth-profiles.json can't be read"),
    ]);
  });

  test("only the keys that may be needed are looked up", async () => {
    const box = sandbox();
    const env = { ...box.env, GEMINI_API_KEY: "g", VOYAGE_API_KEY: "v", MISTRAL_API_KEY: "m" };
    const names = async (search: object, withKeys = true) => {
      box.config({ memory: { search } });
      return Object.keys((await box.resolve({ env, withKeys })).home.embedding.credentials);
    };
    expect(await names({})).toEqual(["openai", "gemini"]);
    expect(await names({ provider: "AUTO", fallback: "mistral" })).toEqual(["mistral", "openai", "gemini"]);
    expect(await names({ provider: "voyage", fallback: "local" })).toEqual(["voyage"]);
    expect(await names({ provider: "none" })).toEqual([]);
    expect(await names({ provider: "local" })).toEqual([]);
    expect(await names({ enabled: false })).toEqual([]);
    expect(await names({}, false)).toEqual([]);
  });
});

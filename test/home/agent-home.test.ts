import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { assert, constantFrom, pre, property, string } from "fast-check";
import { escapedGlob } from "../../src/home/paths.ts";
import { anyOf, writtenOut } from "../../src/sync/globs.ts";
import { sandbox } from "./workspace.ts";

test("without any configuration file the documented defaults apply", async () => {
  const box = sandbox();
  const { home, memory } = await box.resolve();
  expect(home.workspace).toBe(box.workspace);
  expect(home.indexPath).toBe(join(box.state, "memory", "main.sqlite"));
  expect(home.collections.map((collection) => collection.name)).toEqual(["memory"]);
  expect(home.cutting).toEqual({ kind: "lines", maxWeight: 1600, overlapWeight: 320 });
  expect(home.search).toMatchObject({
    maxResults: 6,
    minScore: 0.35,
    fusion: "relative",
    vectorWeight: 0.5,
    textWeight: 0.5,
    pool: 200,
    mmr: { enabled: true, lambda: 0.7 },
    recency: { mode: "nudge", floor: 0.97, halfLifeDays: 30, undated: "evergreen" },
  });
  expect(home.embedding).toMatchObject({
    provider: "auto",
    explicit: false,
    fallback: "none",
    onFailure: "unavailable",
  });
  expect(memory).toMatchObject({ enabled: true, backend: "builtin", citations: "auto", visibility: "all" });
  expect(memory.scope).toBeUndefined();
  expect(home.issues).toEqual([]);
});

test("the other workspace gets an index of its own, by whatever path it is reached", async () => {
  const box = sandbox();
  const other = join(box.home, "other");
  mkdirSync(other);
  symlinkSync(other, join(box.home, "link"));
  symlinkSync(box.workspace, join(box.home, "same"));
  const one = await box.resolve({ workspace: other });
  expect(one.home.indexPath).toMatch(/\/memory\/main-[0-9a-f]{8}\.sqlite$/);
  expect((await box.resolve({ workspace: "link" })).home.indexPath).toBe(one.home.indexPath);
  expect((await box.resolve({ workspace: "~/same" })).home.indexPath).toBe(join(box.state, "memory", "main.sqlite"));
});

test("a missing workspace is an error that says what to do", async () => {
  const box = sandbox();
  const error = await box.resolve({ workspace: "/nowhere/at/all" }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "WORKSPACE_MISSING", hint: expect.stringContaining("--workspace") });
});

describe("collections", () => {
  test("extra files, folders and patterns, with names that do not depend on their order", async () => {
    const box = sandbox();
    box.write("team/a.md", "# a");
    box.write(".openclaw/workspace/notes/over[1].md", "# o");
    symlinkSync(join(box.home, "team"), join(box.home, "linked"));
    const extraPaths = [
      "~/team",
      "notes/over[1].md",
      { path: join(box.home, "team"), pattern: "**/*.{txt,md}" },
      "../../linked",
      "gone",
      "notes",
    ];
    box.config({ agents: { defaults: { memorySearch: { extraPaths } } } });
    const { home } = await box.resolve();
    expect(
      home.collections.map(({ root, patterns, pathPrefix }) => [root.replace(box.home, "H"), patterns, pathPrefix]),
    ).toEqual([
      ["H/.openclaw/workspace", ["MEMORY.md", "memory.md", "USER.md", "memory/**/*.md"], ""],
      ["H/team", ["**/*.md"], "../../team/"],
      ["H/.openclaw/workspace/notes", [String.raw`over\[1\].md`], "notes/"],
      ["H/team", ["**/*.{txt,md}"], "../../team/"],
      ["H/.openclaw/workspace/gone", ["**/*.md"], "gone/"],
      ["H/.openclaw/workspace/notes", ["**/*.md"], "notes/"],
    ]);
    expect(home.issues.map((issue) => issue.replace(box.home, "H"))).toEqual([
      "The extra path H/linked is a symbolic link and is not indexed.",
      "The extra path H/.openclaw/workspace/gone does not exist; what the index holds of it stays.",
    ]);
    const names = home.collections.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z0-9-]+$/);
    box.config({ agents: { defaults: { memorySearch: { extraPaths: [...extraPaths].reverse() } } } });
    const again = (await box.resolve()).home.collections.map(({ name }) => name);
    expect([...again].sort()).toEqual([...names].sort());
  });

  test("a single file counts when it is Markdown, or media that is asked for", async () => {
    const box = sandbox();
    const extraPaths = ["a.md", "b.txt", "c.PNG"].map((name) => box.write(name, ""));
    box.config({ memory: { search: { extraPaths } } });
    const patterns = async () => (await box.resolve()).home.collections.slice(1).map((one) => one.patterns[0]);
    expect(await patterns()).toEqual(["a.md"]);
    expect((await box.resolve()).home.issues).toEqual([
      expect.stringContaining("b.txt is no Markdown file"),
      expect.stringContaining("c.PNG is no Markdown file"),
    ]);
    box.config({ memory: { search: { extraPaths, multimodal: { enabled: true } } } });
    expect(await patterns()).toEqual(["a.md", "c.PNG"]);
  });

  test("an escaped file name is a pattern for that file alone (property)", () => {
    const name = string({ unit: constantFrom(..."ab.-_ *?[]{}()!+@,#é漢".split("")), minLength: 1 });
    assert(
      property(name, name, (one, other) => {
        pre(!one.startsWith("./") && one.trim() !== "" && one !== "." && one !== "..");
        const matches = anyOf(writtenOut(escapedGlob(one)), { dot: true });
        expect(matches(one)).toBe(true);
        if (other !== one) expect(matches(other)).toBe(false);
      }),
    );
  });

  test("media of extra paths only, of the modalities asked for", async () => {
    const box = sandbox();
    box.write("pics/a.png", "");
    const search = { extraPaths: ["~/pics"], multimodal: { enabled: true, modalities: ["image"], maxFileBytes: 9 } };
    box.config({ memory: { search } });
    const [memory, pics] = (await box.resolve()).home.collections;
    expect(memory?.media).toBeUndefined();
    expect(pics?.media).toEqual({
      extensions: [".jpg", ".jpeg", ".png", ".webp", ".gif", ".heic", ".heif"],
      maxFileBytes: 9,
    });
    box.config({ memory: { search: { ...search, multimodal: { enabled: true } } } });
    expect((await box.resolve()).home.collections[1]?.media?.extensions).toContain(".flac");
    box.config({ memory: { search: { ...search, multimodal: { modalities: ["all"] } } } });
    expect((await box.resolve()).home.collections[1]?.media).toBeUndefined();
  });

  test.each<[object, string[], boolean, boolean]>([
    [{}, ["memory"], true, false],
    [{ experimental: { sessionMemory: true }, sources: ["memory", "sessions"] }, ["memory", "sessions"], true, true],
    [{ experimental: { sessionMemory: true } }, ["memory", "sessions"], true, false],
    [{ experimental: { sessionMemory: true }, sources: ["sessions"] }, ["memory", "sessions"], false, true],
    [{ sources: ["sessions"] }, ["memory"], true, false],
    [{ rememberAcrossConversations: true, sources: ["memory", "sessions"] }, ["memory", "sessions"], true, true],
  ])("transcripts are opt-in: %j", async (search, names, notes, sessions) => {
    const box = sandbox();
    box.config({ memory: { search } });
    const { home, memory } = await box.resolve();
    expect(home.collections.map(({ name }) => name)).toEqual(names);
    expect(home.collections[0]?.includeByDefault).toBe(notes);
    expect(memory.sessions).toMatchObject({ searched: sessions, directory: join(box.state, "agents/main/sessions") });
    if (names.includes("sessions")) {
      expect(home.collections.at(-1)).toMatchObject({
        source: "sessions",
        includeByDefault: sessions,
        pathPrefix: "sessions/main/",
      });
    } else expect(home.issues).toHaveLength("sources" in search ? 1 : 0);
  });
});

describe("agents and workspaces", () => {
  const roster = {
    agents: {
      list: [{ id: "Home" }, { id: "work", default: true, workspace: "~/w" }, { id: "lab", workspace: "rel" }],
    },
  };

  test("the default agent is the marked one, else the first, else main", async () => {
    const box = sandbox();
    box.write("w/x", "");
    box.config(roster);
    const { memory, home } = await box.resolve();
    expect(memory).toMatchObject({ agentId: "work", agents: ["home", "work", "lab"] });
    expect(home.workspace).toBe(join(box.home, "w"));
    expect(home.indexPath).toBe(join(box.state, "memory/work.sqlite"));
  });

  test("an agent that the configuration does not name is an error that lists those it does", async () => {
    const box = sandbox();
    box.config(roster);
    const error = await box.resolve({ agentId: "hme" }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "AGENT_UNKNOWN", hint: "Configured agents: home, work, lab." });
  });

  test.each<[string, object, string, Record<string, string>]>([
    ["its own", { list: [{ id: "a", workspace: "~/own" }], defaults: { workspace: "~/shared" } }, "own", {}],
    [
      "the default agent: that of the defaults",
      { list: [{ id: "a" }], defaults: { workspace: "~/shared" } },
      "shared",
      {},
    ],
    ["the default agent: the variable", { list: [{ id: "a" }] }, "var", { OPENCLAW_WORKSPACE_DIR: "~/var" }],
    ["the default agent: the state folder's", { list: [{ id: "a" }] }, ".openclaw/workspace", {}],
    [
      "another agent: a folder of its own",
      { list: [{ id: "m", default: true }, { id: "a" }], defaults: { workspace: "~/shared" } },
      "shared/a",
      {},
    ],
    ["another agent, nothing said", { list: [{ id: "m", default: true }, { id: "a" }] }, ".openclaw/workspace-a", {}],
    [
      "entries beat the list",
      { entries: { a: { workspace: "~/entry" } }, list: [{ id: "a", workspace: "~/row" }] },
      "entry",
      {},
    ],
  ])("the workspace is %s", async (_name, agents, expected, env) => {
    const box = sandbox();
    mkdirSync(join(box.home, expected), { recursive: true });
    box.config({ agents });
    const { home } = await box.resolve({ agentId: "A", env: { ...box.env, ...env } });
    expect(home.workspace).toBe(join(box.home, expected));
    expect(home.indexPath).toBe(join(box.state, "memory/a.sqlite"));
  });

  test("a workspace given as an option beats the configured one; without any file the index still goes to the state folder", async () => {
    const box = sandbox();
    mkdirSync(join(box.home, "proj"));
    const { home } = await box.resolve({ workspace: "proj", stateDir: "~/elsewhere" });
    expect(home.indexPath).toMatch(new RegExp(`^${box.home}/elsewhere/memory/main-[0-9a-f]{8}\\.sqlite$`));
  });

  test("a file in place of a workspace", async () => {
    const box = sandbox();
    const error = await box.resolve({ workspace: box.write("f", "") }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "WORKSPACE_MISSING", message: expect.stringContaining("is not a folder") });
  });
});

describe("the index file", () => {
  test("store.path, with the agent's id and the user's home", async () => {
    const box = sandbox();
    box.config({ memory: { search: { store: { path: "~/idx/{agentId}/{agentId}.db" } } } });
    expect((await box.resolve()).home.indexPath).toBe(join(box.home, "idx/main/main.db"));
    mkdirSync(join(box.home, "other"));
    expect((await box.resolve({ workspace: "~/other" })).home.indexPath).toMatch(/\/idx\/main\/main-[0-9a-f]{8}\.db$/);
  });

  test("OpenClaw's own index is left alone: ours lies beside it", async () => {
    const box = sandbox();
    const path = box.write(".openclaw/memory/main.sqlite", "");
    const db = new Database(path);
    db.run("CREATE TABLE chunks(id); CREATE TABLE files(path); CREATE TABLE meta(key)");
    db.close();
    expect((await box.resolve()).home.indexPath).toBe(join(box.state, "memory/main.memq.sqlite"));
  });
});

describe("search settings", () => {
  const profileOf = async (query: object) => {
    const box = sandbox();
    box.config({ memory: { search: { query } } });
    return (await box.resolve()).home.search;
  };

  test.each<[object, number, number]>([
    [{}, 0.5, 0.5],
    [{ fusion: "weighted" }, 0.7, 0.3],
    [{ fusion: "weighted", vectorWeight: 0.5, textWeight: 0.5 }, 0.5, 0.5],
    [{ vectorWeight: 0.9, textWeight: 0.3 }, 0.75, 0.25],
    [{ vectorWeight: 0, textWeight: 0 }, 0.5, 0.5],
    [{ fusion: "weighted", vectorWeight: 0, textWeight: 0 }, 0.7, 0.3],
    [{ vectorWeight: 1, textWeight: 0 }, 1, 0],
  ])("weights of %j sum to 1", async (hybrid, vector, text) => {
    const profile = await profileOf({ hybrid });
    expect(profile.vectorWeight).toBeCloseTo(vector, 10);
    expect(profile.textWeight).toBeCloseTo(text, 10);
  });

  test.each<[object, string, number]>([
    [{}, "nudge", 0.97],
    [{ enabled: true }, "documented", 0],
    [{ enabled: false }, "off", 0],
    [{ enabled: true, floor: 0.2 }, "documented", 0.2],
    [{ floor: 0.5 }, "nudge", 0.5],
  ])("recency of %j", async (temporalDecay, mode, floor) => {
    expect((await profileOf({ hybrid: { temporalDecay } })).recency).toMatchObject({ mode, floor });
  });

  test("the pool is 200 unless a multiplier is set", async () => {
    expect((await profileOf({ hybrid: { candidateMultiplier: 4 } })).pool).toBe(24);
    expect((await profileOf({ maxResults: 100, hybrid: { candidateMultiplier: 20 } })).pool).toBe(200);
    expect((await profileOf({ hybrid: { mmr: { enabled: false } } })).mmr.enabled).toBe(false);
  });

  test("passages in characters; the overlap stays below their length", async () => {
    const box = sandbox();
    box.config({ memory: { search: { chunking: { tokens: 100, overlap: 100 } } } });
    const { home } = await box.resolve();
    expect(home.cutting).toEqual({ kind: "lines", maxWeight: 400, overlapWeight: 396 });
    expect(home.issues).toEqual(["chunking.overlap must stay below chunking.tokens: 99 is used."]);
  });
});

describe("embedding settings", () => {
  const settingsOf = async (search: object) => {
    const box = sandbox();
    box.config({ memory: { search } });
    return (await box.resolve()).home.embedding;
  };

  test.each<[object, string, boolean]>([
    [{}, "auto", false],
    [{ provider: "Auto" }, "auto", false],
    [{ provider: " " }, "auto", false],
    [{ provider: "openai" }, "openai", true],
    [{ provider: "none" }, "none", true],
  ])("%j", async (search, provider, explicit) => {
    expect(await settingsOf(search)).toMatchObject({ provider, explicit });
  });

  test("input types, dimensions, time limits and the local model", async () => {
    const found = await settingsOf({
      provider: "local",
      inputType: "text",
      queryInputType: "query",
      outputDimensionality: 256,
      sync: { embeddingBatchTimeoutSeconds: 5 },
      local: { modelCacheDir: "~/models", contextSize: "auto", threads: 2 },
    });
    expect(found).toMatchObject({
      queryInputType: "query",
      documentInputType: "text",
      outputDimensionality: 256,
      batchTimeoutMs: 5000,
    });
    expect(found.local.modelPath).toStartWith("hf:ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/");
    expect(found.local.modelCacheDir).toEndWith("/models");
    expect(found.local).toMatchObject({ threads: 2 });
    expect(found.local.contextSize).toBeUndefined();
    expect((await settingsOf({ local: { modelPath: "m/x.gguf" } })).local.modelPath).toEndWith("/workspace/m/x.gguf");
    expect((await settingsOf({})).local.modelPath).toBeUndefined();
  });
});

describe("memory's other settings", () => {
  const memoryOf = async (config: object) => {
    const box = sandbox();
    box.config(config);
    const { memory, home } = await box.resolve();
    return { ...memory, issues: home.issues };
  };

  test("switched off, in words", async () => {
    expect(await memoryOf({ memory: { search: { enabled: false } } })).toMatchObject({
      enabled: false,
      disabledReason: expect.stringContaining("enabled is false"),
    });
    expect(await memoryOf({ plugins: { slots: { memory: "none" } } })).toMatchObject({
      enabled: false,
      disabledReason: expect.stringContaining("plugins.slots.memory"),
    });
    expect(await memoryOf({ plugins: { slots: { memory: "memory-core" } } })).toMatchObject({ enabled: true });
  });

  test("the scope: as configured, else direct chats only with the qmd backend, else nobody is denied", async () => {
    expect((await memoryOf({})).scope).toBeUndefined();
    expect((await memoryOf({ memory: { backend: "qmd" } })).scope).toEqual({
      default: "deny",
      rules: [{ action: "allow", match: { chatType: "direct" } }],
    });
    const rules = [
      { action: "deny", match: { keyPrefix: "Discord:Channel:", rawKeyPrefix: "agent:MAIN:" } },
      { action: "allow" },
    ];
    expect((await memoryOf({ memory: { qmd: { scope: { rules } } } })).scope).toEqual({
      default: "allow",
      rules: [
        { action: "deny", match: { keyPrefix: "discord:channel:", rawKeyPrefix: "agent:main:" } },
        { action: "allow", match: {} },
      ],
    });
  });

  test.each([
    [{ default: "maybe" }, "memory.qmd.scope.default"],
    [{ rules: {} }, "memory.qmd.scope.rules"],
    [{ rules: [{ match: {} }] }, "memory.qmd.scope.rules[0].action"],
    [{ rules: [{ action: "deny", match: { channel: 5 } }] }, "memory.qmd.scope.rules[0].match.channel"],
  ])("a broken scope %j is an error, never an open door", async (scope, path) => {
    const error = await memoryOf({ memory: { qmd: { scope } } }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "CONFIG_TYPE", message: expect.stringContaining(path) });
  });

  test.each<[object, string]>([
    [{ agents: 5 }, "agents must be an object"],
    [{ agents: { defaults: [] } }, "agents.defaults must be an object"],
    [{ agents: { list: {} } }, "agents.list must be a list"],
    [{ agents: { list: [5] } }, "agents.list[0] must be an object"],
    [{ agents: { entries: { main: { workspace: 5 } } } }, "agents.entries.main.workspace must be a text"],
    [{ models: { providers: [] } }, "models.providers must be an object"],
  ])("settings that hide behind a wrong structure %j are an error", async (config, sentence) => {
    const error = await memoryOf(config).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "CONFIG_TYPE", message: expect.stringContaining(sentence) });
  });

  test("times longer than a timer can run do not make it run at once, again and again", async () => {
    const longest = 2 ** 31 - 1;
    const found = await memoryOf({
      memory: { qmd: { update: { interval: "60d" }, limits: { timeoutMs: 1e12 } } },
      agents: { defaults: { memorySearch: { sync: { watchDebounceMs: 1e15, intervalMinutes: 1e9 } } } },
    });
    expect(found.qmd.update.intervalMs).toBe(longest);
    expect(found.qmd.limits.timeoutMs).toBe(longest);
    expect(found.sync.watchDebounceMs).toBe(longest);
    expect(found.sync.intervalMinutes * 60_000).toBeLessThanOrEqual(longest);
  });

  test("flush, sync, limits, time zone, visibility", async () => {
    const found = await memoryOf({
      agents: {
        defaults: {
          userTimezone: "Europe/Madrid",
          contextLimits: { memoryGetMaxChars: 500 },
          compaction: {
            reserveTokensFloor: 1,
            postIndexSync: "await",
            memoryFlush: { enabled: false, forceFlushTranscriptBytes: "3mb", prompt: "p" },
          },
        },
      },
      tools: { sessions: { visibility: "tree" }, agentToAgent: { enabled: true, allow: ["work", "*"] } },
      memory: {
        search: { sync: { watch: false, intervalMinutes: 5 } },
        qmd: { update: { interval: "90s", embedInterval: 0 } },
      },
    });
    expect(found).toMatchObject({
      timeZone: "Europe/Madrid",
      limits: { maxResults: 6, getChars: 500 },
      flush: {
        enabled: false,
        softThresholdTokens: 4000,
        reserveTokensFloor: 1,
        forceTranscriptBytes: 3 * 1024 * 1024,
        prompt: "p",
      },
      sessions: { deltaBytes: 100_000, deltaMessages: 50 },
      sync: { watch: false, watchDebounceMs: 1500, intervalMinutes: 5 },
      visibility: "tree",
      agentToAgent: { enabled: true, allow: ["work", "*"] },
      qmd: {
        update: { intervalMs: 90_000, embedIntervalMs: 0, debounceMs: 15_000 },
        limits: { maxResults: 6, timeoutMs: 4000 },
      },
      issues: [],
    });
  });

  test("a time zone that is none is an issue", async () => {
    const found = await memoryOf({ agents: { defaults: { userTimezone: "Mars/Olympus" } } });
    expect(found.issues).toEqual([expect.stringContaining('"Mars/Olympus" is no time zone')]);
    expect(found.timeZone).toBeUndefined();
  });
});

test("nothing of the process's own environment is read", async () => {
  const box = sandbox();
  process.env["OPENAI_API_KEY"] = "leak";
  process.env["OPENCLAW_STATE_DIR"] = "/leak";
  try {
    const { home } = await box.resolve();
    expect(JSON.stringify(home)).not.toContain("leak");
  } finally {
    delete process.env["OPENAI_API_KEY"];
    delete process.env["OPENCLAW_STATE_DIR"];
  }
});

import { describe, expect, test } from "bun:test";
import { keyReference } from "../../src/home/key-reference.ts";
import { KEYS, KEY_GROUPS } from "../../src/home/keys.ts";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import { explainKeys, resolveKeys } from "../../src/home/resolve-keys.ts";

/** `{a: {b: value}}` for `a.b`. */
function nested(path: string, value: JsonValue): JsonObject {
  const [first = "", ...rest] = path.split(".");
  return { [first]: rest.length === 0 ? value : nested(rest.join("."), value) };
}

function valueOf(config: JsonObject, key: string, agentId = "main"): { value: JsonValue | undefined; origin: string } {
  const { value, origin } = resolveKeys(config, agentId).get(key);
  return { value, origin };
}

describe("the table of keys", () => {
  test("names each key once and describes it in one sentence", () => {
    const names = KEYS.map((key) => key.path);
    expect(new Set(names).size).toBe(names.length);
    for (const key of KEYS) expect(key.description).toMatch(/^[^\s].*\.$/);
    expect(KEY_GROUPS.flatMap((group) => group.keys)).toEqual([...KEYS]);
  });

  test("has defaults of the type and within the range that it demands", () => {
    for (const key of KEYS.filter((row) => row.default !== undefined)) {
      const config =
        key.section === "search"
          ? { memory: { search: nested(key.path, key.default ?? null) } }
          : nested(key.path, key.default ?? null);
      const resolved = resolveKeys(config, "main");
      expect(resolved.issues).toEqual([]);
      expect(resolved.get(key.path).value).toEqual(key.default);
    }
  });
});

describe("where a key is read", () => {
  const search = { query: { maxResults: 1 } };
  const layers: [string, JsonObject, string][] = [
    [
      "the agent's entry, new spelling",
      { agents: { entries: { main: { memory: { search } } } } },
      "agents.entries.main.memory.search.query.maxResults",
    ],
    [
      "the agent's entry, old spelling",
      { agents: { entries: { main: { memorySearch: search } } } },
      "agents.entries.main.memorySearch.query.maxResults",
    ],
    [
      "the agent's row of the list",
      { agents: { list: [{ id: "Main", memorySearch: search }] } },
      "agents.list[0].memorySearch.query.maxResults",
    ],
    ["memory.search", { memory: { search } }, "memory.search.query.maxResults"],
    [
      "agents.defaults.memorySearch",
      { agents: { defaults: { memorySearch: search } } },
      "agents.defaults.memorySearch.query.maxResults",
    ],
    ["the old top level", { memorySearch: search }, "memorySearch.query.maxResults"],
  ];

  test.each(layers)("%s", (_name, config, origin) => {
    expect(valueOf(config, "query.maxResults")).toEqual({ value: 1, origin });
  });

  test("each place beats those after it, key by key", () => {
    const places = (at: number): JsonObject => ({ query: { maxResults: at + 1 }, [`model`]: `m${at}` });
    const config: JsonObject = {
      agents: {
        entries: {
          main: {
            memory: { search: { query: { maxResults: 1 } } },
            memorySearch: { query: { maxResults: 2, minScore: 0.2 } },
          },
        },
        list: [{ id: "main", memorySearch: { query: { minScore: 0.3 }, provider: "openai" } }],
        defaults: { memorySearch: { ...places(4), fallback: "local" } },
      },
      memory: { search: { ...places(3), provider: "voyage" } },
      memorySearch: { fallback: "gemini", cache: { maxEntries: 5 } },
    };
    expect(valueOf(config, "query.maxResults").value).toBe(1);
    expect(valueOf(config, "query.minScore").value).toBe(0.2);
    expect(valueOf(config, "provider").value).toBe("openai");
    expect(valueOf(config, "model")).toEqual({ value: "m3", origin: "memory.search.model" });
    expect(valueOf(config, "fallback").value).toBe("local");
    expect(valueOf(config, "cache.maxEntries").value).toBe(5);
    expect(valueOf(config, "query.maxResults", "other").value).toBe(4);
    expect(resolveKeys(config, "main").issues).toEqual([expect.stringContaining("memorySearch at the top level")]);
  });

  test("extra paths of the defaults come first, then the agent's, each once", () => {
    const config: JsonObject = {
      agents: {
        defaults: { memorySearch: { extraPaths: ["a", " b ", ""] } },
        list: [{ id: "main", memorySearch: { extraPaths: ["b", { path: "c", pattern: "*.txt" }] } }],
      },
    };
    expect(valueOf(config, "extraPaths").value).toEqual([
      { path: "a" },
      { path: "b" },
      { path: "c", pattern: "*.txt" },
    ]);
    expect(valueOf(config, "extraPaths", "other").value).toEqual([{ path: "a" }, { path: "b" }]);
  });

  test("settings of agents.defaults may stand in the agent's own entry", () => {
    const config: JsonObject = {
      agents: {
        defaults: { userTimezone: "Europe/Rome", contextLimits: { memoryGetMaxChars: 1 } },
        list: [{ id: "main", userTimezone: "Asia/Tokyo" }],
      },
    };
    expect(valueOf(config, "agents.defaults.userTimezone").value).toBe("Asia/Tokyo");
    expect(valueOf(config, "agents.defaults.userTimezone", "other").value).toBe("Europe/Rome");
    expect(valueOf(config, "agents.defaults.contextLimits.memoryGetMaxChars").value).toBe(1);
  });
});

describe("values out of range are moved, with an issue", () => {
  test.each([
    ["query.maxResults", 0, 1],
    ["query.maxResults", 4.9, 4],
    ["query.minScore", 7, 1],
    ["query.minScore", -1, 0],
    ["query.hybrid.candidateMultiplier", 99, 20],
    ["query.hybrid.mmr.lambda", Infinity, 1],
    ["query.hybrid.temporalDecay.halfLifeDays", 0.5, 1],
    ["sync.watchDebounceMs", -5, 0],
    ["sync.sessions.deltaMessages", -1, 0],
    ["remote.batch.concurrency", 0, 1],
    ["multimodal.maxFileBytes", 0, 1],
    ["cache.maxEntries", 0, 1],
  ])("%s %p becomes %p", (key, given, used) => {
    const resolved = resolveKeys({ memory: { search: nested(key, given) } }, "main");
    expect(resolved.get(key).value).toBe(used);
    expect(resolved.issues).toEqual([expect.stringContaining(`memory.search.${key} is ${given}`)]);
  });

  test("unknown citations count as auto", () => {
    const resolved = resolveKeys({ memory: { citations: "sometimes" } }, "main");
    expect(resolved.get("memory.citations").value).toBe("auto");
    expect(resolved.issues).toEqual(['memory.citations must be one of auto, on, off: "auto" is used.']);
  });
});

describe("values of the wrong type are errors that name the path and never the value", () => {
  test.each<[string, JsonValue, string]>([
    ["query.maxResults", "6", "memory.search.query.maxResults must be a whole number, not a text."],
    ["enabled", "yes", "memory.search.enabled must be true or false, not a text."],
    ["query", 3, "memory.search.query must be an object, not 3."],
    ["remote.headers", { "X-Key": 5 }, "memory.search.remote.headers.X-Key must be a text, not 5."],
    ["remote.apiKey", 12, "memory.search.remote.apiKey must be a text or {source, provider, id}, not 12."],
    ["extraPaths", "a", "memory.search.extraPaths must be a list of paths or {path, pattern}, not a text."],
    ["extraPaths", [{ pattern: "*" }], "memory.search.extraPaths[0].path must be a text, not null."],
    ["extraPaths", [3], "memory.search.extraPaths[0] must be a path or {path, pattern}, not 3."],
    ["sources", ["memory", "mail"], 'memory.search.sources must be a list of memory, sessions, not "mail".'],
    ["query.hybrid.fusion", "rrf", 'memory.search.query.hybrid.fusion must be one of relative, weighted, not "rrf".'],
    ["enabled", null, "memory.search.enabled must be true or false, not null."],
    ["local.contextSize", "big", 'memory.search.local.contextSize must be a number above 0 or "auto", not "big".'],
  ])("%s: %j", (key, value, message) => {
    expect(() => resolveKeys({ memory: { search: nested(key, value) } }, "main")).toThrow(message);
  });

  test("durations and sizes", () => {
    const update = (interval: JsonValue): JsonObject => ({ memory: { qmd: { update: { interval } } } });
    expect(() => resolveKeys(update("soon"), "main")).toThrow(/memory\.qmd\.update\.interval must be a duration/);
    for (const fine of ["5m", "90s", 0, 5, "1.5h", "250ms"])
      expect(() => resolveKeys(update(fine), "main")).not.toThrow();
  });

  test("another agent's mistakes are its own", () => {
    const config: JsonObject = { agents: { list: [{ id: "main" }, { id: "x", memorySearch: { enabled: 1 } }] } };
    expect(() => resolveKeys(config, "main")).not.toThrow();
    expect(() => resolveKeys(config, "x")).toThrow("agents.list[1].memorySearch.enabled");
  });
});

describe("an unknown key is an issue that names the nearest known one", () => {
  test.each([
    ["query.maxResult", "query.maxResults"],
    ["maxResults", "query.maxResults"],
    ["query.minscore", "query.minScore"],
    ["query.hybrid.temporalDecy.enabled", "query.hybrid.temporalDecay"],
    ["extrapaths", "extraPaths"],
    ["modle", "model"],
  ])("%s: did you mean %s?", (wrong, right) => {
    const { issues } = resolveKeys({ agents: { defaults: { memorySearch: nested(wrong, 1) } } }, "main");
    expect(issues).toHaveLength(1);
    expect(issues[0]).toStartWith("Unknown key agents.defaults.memorySearch.");
    expect(issues[0]).toEndWith(`did you mean ${right}?`);
  });

  test("below memory and memory.qmd too, and nothing is guessed for what resembles no key", () => {
    const { issues } = resolveKeys({ memory: { citation: "on", qmd: { limit: {} }, zebra: 1 } }, "main");
    expect(issues).toEqual([
      "Unknown key memory.citation: did you mean memory.citations?",
      "Unknown key memory.qmd.limit: did you mean memory.qmd.limits?",
      "Unknown key memory.zebra.",
    ]);
  });
});

test("explaining names value and place of every key and shows no secret", () => {
  const config: JsonObject = {
    memory: { search: { remote: { apiKey: "sk-very-secret", headers: { Authorization: "Bearer zzz" } } } },
  };
  const rows = explainKeys(config, "main");
  expect(rows).toHaveLength(KEYS.length);
  expect(rows.find((row) => row.key === "remote.apiKey")).toEqual({
    key: "remote.apiKey",
    value: "(set)",
    origin: "memory.search.remote.apiKey",
  });
  expect(rows.find((row) => row.key === "query.maxResults")).toMatchObject({ value: 6, origin: "default" });
  expect(JSON.stringify(rows)).not.toMatch(/secret|zzz/);
});

test("headers that nobody set were shown as set", () => {
  const rows = explainKeys({}, "main");
  expect(rows.find((row) => row.key === "remote.headers")).toMatchObject({ value: {}, origin: "default" });
});

test("the reference has a row of four cells for each key", () => {
  const rows = keyReference()
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  expect(rows).toHaveLength(KEYS.length);
  for (const row of rows) expect(row.split(/(?<!\\)\|/)).toHaveLength(6);
  expect(keyReference()).toContain("| `query.maxResults` | whole number, 1 to 200 | `6` | ");
});

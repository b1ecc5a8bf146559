// What `memory.backend: "qmd"` serves an agent from: its home, collections, paths, transcripts, and when it can't be used.
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { withWriterLock } from "../../src/store/lock.ts";
import { temporaryFolder } from "../temporary.ts";
import { memq, type Outcome } from "../cli/program.ts";
import { type AgentOptions, endAgents, NOTES, openAgent, type Place, type QmdAgent, turn } from "./qmd-agent.ts";

setDefaultTimeout(20_000);
afterEach(endAgents);

/** Writes a library beside the workspace, and names it as a further path. */
async function open(qmd: object = {}, options: AgentOptions = {}): Promise<QmdAgent> {
  let library = "";
  const agent = await openAgent({
    ...options,
    qmd: { paths: [{ path: "../library", name: "library" }], ...qmd },
    prepare(place) {
      library = join(dirname(place.workspace), "library");
      mkdirSync(library);
      writeFileSync(join(library, "book.md"), "A book about the hedgehog.\n");
      options.prepare?.(place);
    },
  });
  return agent;
}

const ymlOf = ({ stateDir }: Place, agent = "main"): string =>
  readFileSync(join(stateDir, "agents", agent, "qmd/xdg-config/qmd/index.yml"), "utf8");

/** Runs a command of `memq memory` for the same agent. */
function onCommandLine({ workspace, stateDir }: Place, ...args: string[]): Promise<Outcome> {
  return configuredOnCommandLine({ workspace, stateDir }, {}, ...args);
}

function configuredOnCommandLine({ workspace, stateDir }: Place, qmd: object, ...args: string[]): Promise<Outcome> {
  writeFileSync(join(stateDir, "openclaw.json"), JSON.stringify({ memory: { backend: "qmd", qmd } }));
  return memq(["memory", ...args, "--workspace", workspace, "--state-dir", stateDir]);
}

const writeTranscripts = ({ stateDir }: Place, texts: Record<string, string>, agent = "main"): string => {
  const folder = join(stateDir, "agents", agent, "sessions");
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
  return folder;
};

describe("the home", () => {
  test("answers with one row per document, under the names of that home", async () => {
    const agent = await open();
    expect(await agent.search()).toMatchObject({ provider: "none", mode: "keyword" });
    expect(await agent.paths()).toEqual(["MEMORY.md", "memory/2026-02-10.md", "qmd/library/book.md"]);
    expect(await agent.client.call("memory.get", { path: "qmd/library/book.md" })).toEqual({
      path: "qmd/library/book.md",
      text: "A book about the hedgehog.\n",
    });
    expect(await agent.client.call("memory.status")).toMatchObject({ backend: "qmd", files: 3 });
    for (const name of ["memory-root-main", "memory-dir-main", "library"]) expect(ymlOf(agent)).toContain(`${name}:`);
    expect(existsSync(join(agent.stateDir, "agents/main/qmd/xdg-cache/qmd/index.sqlite"))).toBe(true);
    expect(existsSync(join(agent.stateDir, "memory/main.sqlite"))).toBe(false);
  });

  test("is the one that qmd's commands find by its folders", async () => {
    const agent = await open();
    await agent.client.call("memory.index");
    const qmd = join(agent.stateDir, "agents/main/qmd");
    const env = {
      XDG_CONFIG_HOME: join(qmd, "xdg-config"),
      QMD_CONFIG_DIR: join(qmd, "xdg-config/qmd"),
      XDG_CACHE_HOME: join(qmd, "xdg-cache"),
    };
    const update = await memq(["update"], { env, cwd: agent.workspace });
    expect(update.stdout).toContain("0 new, 0 updated, 1 unchanged");
    const { stdout } = await memq(["search", "hedgehog", "--json", "-c", "library"], { env, cwd: agent.workspace });
    expect(JSON.parse(stdout)).toMatchObject([{ collection: "library", path: "book.md" }]);
  });

  test("names further paths as a gateway does", async () => {
    const paths = [
      { path: "../library", name: "The Library!" },
      { path: "../library", name: "the library", pattern: "*.md" },
      { path: "notes", name: "notes" },
      { path: "../library/book.md" },
    ];
    const memorySearch = {
      extraPaths: ["../library/deep"],
      qmd: { extraCollections: [{ path: "../library", name: "texts", pattern: "*.txt" }] },
    };
    const agent = await open({ paths }, { memorySearch });
    await agent.client.call("memory.index");
    const names = [...ymlOf(agent).matchAll(/^ {2}([\w-]+):$/gm)].map(([, name]) => name);
    expect(names).toEqual([
      "memory-root-main",
      "memory-dir-main",
      "the-library",
      "the-library-2",
      "notes-main",
      "custom-4-main",
      "custom-5-main",
      "texts",
    ]);
    expect(ymlOf(agent)).toContain("pattern: book.md");
  });

  test("includeDefaultMemory: false leaves the further paths", async () => {
    const agent = await open({ includeDefaultMemory: false });
    expect(await agent.paths()).toEqual(["qmd/library/book.md"]);
  });

  test("keeps its limits, however much is asked for", async () => {
    const few = await open({ limits: { maxResults: 2, maxSnippetChars: 30 } });
    const { results } = await few.search({ maxResults: 50 });
    expect(results).toHaveLength(2);
    for (const { snippet } of results) expect(snippet.replace(/\n\nSource: .*$/, "").length).toBeLessThanOrEqual(30);
    const short = await open({ limits: { maxInjectedChars: 40 } });
    const snippets = (await short.search()).results.map(({ snippet }: { snippet: string }) => snippet);
    expect(snippets.length).toBeGreaterThan(0);
    expect(snippets.join("").length).toBeLessThanOrEqual(40);
    const footer = "\n\nSource: memory/2026-02-10.md#L1-L6";
    const cut = await open({ limits: { maxInjectedChars: footer.length + 5 } });
    expect((await cut.search({ query: "garden" })).results[0].snippet).toBe(`# Gar${footer}`);
  });

  test("says which settings mean nothing to it", async () => {
    const { hello } = await open({ mcporter: { enabled: true }, searchTool: "deep_search" });
    const issues = hello.status.issues.join("\n");
    expect(issues).toContain("memory.qmd.mcporter.enabled has no effect");
    expect(issues).toContain("memory.qmd.searchTool has no effect");
  });

  test("serves the command line too", async () => {
    const agent = await open();
    await endAgents();
    const run = (...args: string[]) => onCommandLine(agent, ...args);
    expect(JSON.parse((await run("index", "--json")).stdout)).toMatchObject({ files: 2 });
    const found = JSON.parse((await run("search", "figs", "--json")).stdout);
    expect(found.results).toMatchObject([{ path: "memory/2026-02-10.md" }]);
    expect(JSON.parse((await run("status", "--json")).stdout)).toMatchObject([{ status: { backend: "qmd" } }]);
  });
});

describe("who may search", () => {
  test("groups are denied unless the scope allows them", async () => {
    const agent = await open();
    expect(await agent.search({ chatType: "group" })).toMatchObject({ results: [], denied: true });
    expect(await agent.search({ sessionKey: "agent:main:discord:channel:9" })).toMatchObject({ denied: true });
    const scope = {
      default: "deny",
      rules: [
        { action: "deny", match: { keyPrefix: "discord:channel:7" } },
        { action: "allow", match: { channel: "discord", chatType: "channel" } },
      ],
    };
    const scoped = await open({ scope });
    expect((await scoped.search({ sessionKey: "agent:main:discord:channel:9" })).results).toHaveLength(3);
    expect(await scoped.search({ sessionKey: "agent:main:discord:channel:7" })).toMatchObject({ denied: true });
    expect(await scoped.search()).toMatchObject({ denied: true });
  });

  test("each agent has a home of its own", async () => {
    const config = {
      agents: { entries: { main: {}, ops: {} } },
      memory: { backend: "qmd", qmd: { sessions: { enabled: true } } },
    };
    const agent = await openAgent({
      config,
      agentId: "main",
      prepare(place) {
        mkdirSync(join(place.stateDir, "workspace-ops"), { recursive: true });
        writeFileSync(join(place.stateDir, "workspace-ops/MEMORY.md"), "- The hedgehog of ops.\n");
        writeTranscripts(place, { "m.jsonl": turn("The hedgehog of main.") });
        writeTranscripts(place, { "o.jsonl": turn("The hedgehog spoke to ops.") }, "ops");
      },
    });
    expect(await agent.paths({ corpus: "sessions" })).toEqual(["qmd/sessions-main/m.md"]);
    expect(await agent.paths({ agentId: "ops", sessionKey: "agent:ops:main" })).toEqual([
      "MEMORY.md",
      "qmd/sessions-ops/o.md",
    ]);
    expect(ymlOf(agent, "ops")).toContain("memory-root-ops:");
    expect(await agent.search({ agentId: "ops", sessionKey: "agent:main:main" })).toMatchObject({ denied: true });
  });

  test("transcripts, archives too, keep to tools.sessions.visibility", async () => {
    const agent = await openAgent({
      qmd: { sessions: { enabled: true } },
      config: { tools: { sessions: { visibility: "self" } } },
      prepare(place) {
        const folder = writeTranscripts(place, {
          "a.jsonl": turn("A hedgehog."),
          "a.jsonl.reset.2026-01-01T10-00-00.000Z": turn("An earlier hedgehog."),
          "b.jsonl": turn("Another's hedgehog."),
        });
        const sessions = { "agent:main:main": { sessionId: "a" }, "agent:main:other": { sessionId: "b" } };
        writeFileSync(join(folder, "sessions.json"), JSON.stringify(sessions));
      },
    });
    expect(await agent.paths({ corpus: "sessions", sessionKey: "agent:main:main" })).toEqual([
      "qmd/sessions-main/a-reset-2026-01-01T10-00-00.000Z.md",
      "qmd/sessions-main/a.md",
    ]);
    expect(await agent.paths({ corpus: "sessions" })).toEqual([]);
  });
});

test("a pipe for sessions.json stopped the whole process: nothing is known of any session then", async () => {
  const agent = await openAgent({
    qmd: { sessions: { enabled: true } },
    config: { tools: { sessions: { visibility: "self" } } },
    prepare(place) {
      const folder = writeTranscripts(place, { "a.jsonl": turn("A hedgehog.") });
      Bun.spawnSync(["mkfifo", join(folder, "sessions.json")]);
    },
  });
  expect(await agent.paths({ corpus: "sessions", sessionKey: "agent:main:main" })).toEqual([]);
  expect(await agent.client.call("memory.index")).toMatchObject({ files: 3 });
});

describe("transcripts", () => {
  test("are not there unless they are exported, and then are dated as the sessions were", async () => {
    const off = await open();
    const refused = await off.search({ corpus: "sessions" });
    expect(refused).toMatchObject({ unavailable: true, action: "Set memory.qmd.sessions.enabled to true." });

    const month = 30 * 86_400;
    const now = Date.now() / 1000;
    const agent = await openAgent({
      qmd: { sessions: { enabled: true, retentionDays: 60, exportDir: "../exported" } },
      prepare(place) {
        const folder = writeTranscripts(place, {
          "new.jsonl": turn("The hedgehog asked for milk."),
          "older.jsonl": turn("The hedgehog asked for water."),
          "oldest.jsonl": turn("The hedgehog asked for nothing."),
        });
        utimesSync(join(folder, "older.jsonl"), now - month, now - month);
        utimesSync(join(folder, "oldest.jsonl"), now - 3 * month, now - 3 * month);
      },
    });
    const corpus = { corpus: "sessions" };
    expect(await agent.paths(corpus)).toEqual(["qmd/sessions-main/new.md", "qmd/sessions-main/older.md"]);
    expect(await agent.paths({ ...corpus, since: "7d" })).toEqual(["qmd/sessions-main/new.md"]);
    expect(readdirSync(join(dirname(agent.workspace), "exported")).toSorted()).toEqual(["new.md", "older.md"]);
    // Found by search, and never read whole.
    expect(await agent.client.call("memory.get", { path: "qmd/sessions-main/new.md" })).toMatchObject({
      disabled: true,
    });
  });

  test("of several agents in one exportDir were mixed up and removed by each other: each agent has a folder of its own", async () => {
    const shared = temporaryFolder("shared-");
    const exportDir = join(shared, "exported");
    const sessions = Array.from({ length: 12 }, (_, n) => `${n}`);
    const agent = await openAgent({
      agentId: "a",
      config: {
        agents: { list: [{ id: "a" }, { id: "b" }] },
        memory: {
          backend: "qmd",
          qmd: { paths: [{ path: shared }], sessions: { enabled: true, exportDir }, update: { waitForBootSync: true } },
        },
      },
      prepare(place) {
        mkdirSync(join(place.stateDir, "workspace-b"), { recursive: true });
        for (const [id, fruit] of Object.entries({ a: "papaya", b: "mango" })) {
          // Long enough for an export to be interrupted by that of the other agent.
          const text = `${turn(`A ${fruit}.`)}${turn("Word.").repeat(5_000)}`;
          writeTranscripts(place, Object.fromEntries(sessions.map((name) => [`${name}.jsonl`, text])), id);
        }
      },
    });
    const found = async (id: string, query: string): Promise<number> => {
      const params = { agentId: id, sessionKey: `agent:${id}:main`, query, maxResults: 50 };
      return (await agent.search(params)).results.length;
    };
    await Promise.all([found("a", "papaya"), found("b", "mango")]);
    for (const agentId of ["a", "b", "a"]) await agent.client.call("memory.index", { agentId });
    expect(readdirSync(exportDir).toSorted()).toEqual(["a", "b"]);
    for (const [id, own, other] of [
      ["a", "papaya", "mango"],
      ["b", "mango", "papaya"],
    ] as const) {
      const texts = readdirSync(join(exportDir, id)).map((name) => readFileSync(join(exportDir, id, name), "utf8"));
      expect(texts.filter((text) => text.includes(own))).toHaveLength(sessions.length);
      expect([await found(id, own), await found(id, other)]).toEqual([6, 0]);
    }
  });

  test("that can't be exported keep no note from being found, and that is said", async () => {
    const agent = await openAgent({
      qmd: { sessions: { enabled: true, exportDir: "../file/exported" } },
      prepare(place) {
        writeFileSync(join(dirname(place.workspace), "file"), "");
        writeTranscripts(place, { "a.jsonl": turn("A hedgehog.") });
      },
    });
    expect(await agent.paths()).toHaveLength(2);
    expect((await agent.client.end()).stderr).toContain("The transcripts were not exported");
  });

  test("are no notes where they are exported into a folder of notes", async () => {
    const agent = await openAgent({
      qmd: { sessions: { enabled: true, exportDir: "memory/talks (all)" }, update: { waitForBootSync: true } },
      config: { tools: { sessions: { visibility: "self" } } },
      prepare: (place) => void writeTranscripts(place, { "a.jsonl": turn("A hedgehog of a group.") }),
    });
    expect(await agent.paths()).toEqual(["MEMORY.md", "memory/2026-02-10.md"]);
    expect(await agent.paths({ corpus: "memory" })).toHaveLength(2);
    expect(readdirSync(join(agent.workspace, "memory/talks (all)"))).toEqual(["a.md"]);
    expect(await agent.client.call("memory.index")).toMatchObject({ files: 3 });
  });

  test("that should be exported into the folder of the notes itself were dropped silently: none is written, and that is said", async () => {
    const sessions = { enabled: true, exportDir: "memory" };
    const agent = await openAgent({
      qmd: { sessions, update: { waitForBootSync: true } },
      prepare: (place) => void writeTranscripts(place, { "a.jsonl": turn("A hedgehog of a group.") }),
    });
    expect(await agent.paths()).toEqual(["MEMORY.md", "memory/2026-02-10.md"]);
    expect(readdirSync(join(agent.workspace, "memory"))).toEqual(["2026-02-10.md"]);
    expect(await agent.search({ corpus: "sessions" })).toMatchObject({
      action: "Set memory.qmd.sessions.exportDir to a folder that is none of the notes'.",
    });
    const problem = "whose notes are the collection memory-dir-main: transcripts are not exported";
    expect((await agent.client.call("memory.status")).issues).toEqual([expect.stringContaining(problem)]);
    expect((await agent.client.end()).stderr).toContain(problem);
    for (const command of ["status", "index"]) {
      const { stderr } = await configuredOnCommandLine(agent, { sessions }, command);
      expect(stderr).toContain(problem);
    }
  });

  test("that are exported into a folder around the notes are apart from them, and nothing is indexed twice", async () => {
    const agent = await openAgent({
      qmd: {
        sessions: { enabled: true, exportDir: "." },
        paths: [{ path: "team", name: "team", pattern: "**/*.{md,txt}" }],
        update: { waitForBootSync: true },
      },
      notes: { ...NOTES, "team/a.md": "A hedgehog of the team.\n" },
      prepare: (place) => void writeTranscripts(place, { "a.jsonl": turn("A hedgehog of a group.") }),
    });
    expect(await agent.paths({ corpus: "memory" })).toEqual(["MEMORY.md", "memory/2026-02-10.md", "team/a.md"]);
    expect(await agent.paths({ corpus: "sessions" })).toEqual(["a.md"]);
    expect(await agent.client.call("memory.index")).toMatchObject({ files: 4 });
  });

  test("that can't be exported are said by memory.index too", async () => {
    const agent = await openAgent({
      qmd: { sessions: { enabled: true }, update: { onBoot: false } },
      prepare(place) {
        writeTranscripts(place, { "a.jsonl": turn("A hedgehog."), "b.jsonl": turn("Another hedgehog.") });
        mkdirSync(join(place.stateDir, "agents/main/qmd/sessions/a.md"), { recursive: true });
      },
    });
    expect(await agent.client.call("memory.index")).toMatchObject({ added: 3 });
    expect(await agent.paths({ corpus: "sessions" })).toEqual(["qmd/sessions-main/b.md"]);
    expect((await agent.client.end()).stderr).toContain("a.jsonl was not exported");
  });
});

describe("trigger recall and session start", () => {
  const notes = {
    "MEMORY.md": [
      "# Long-term",
      "",
      "- Restart the database only at night. <!-- trigger: restart database --> <!-- importance: 9 -->",
      "- Atlas deploys from release branches. <!-- trigger: deploy --> <!-- project: atlas -->",
      "",
    ].join("\n"),
    "USER.md": "- Ana likes short answers. <!-- trigger: style -->\n",
    "memory/2026-02-10.md": "- Not trusted. <!-- trigger: style -->\n",
  };
  test("read the root files as they are, entry by entry", async () => {
    const agent = await open({}, { notes });
    const recall = (message: string, more: object = {}) => agent.client.call("memory.recall", { message, ...more });
    const { entries, context } = await recall("may I restart the database now?");
    expect(entries).toMatchObject([{ path: "MEMORY.md", startLine: 3, text: "- Restart the database only at night." }]);
    expect(entries[0].matchScore).toBeGreaterThan(0.8);
    expect(context).toBe("- Restart the database only at night. (Source: MEMORY.md#L3)");
    expect((await recall("which style?")).entries).toMatchObject([{ path: "USER.md", startLine: 1 }]);
    expect((await recall("deploy")).entries).toEqual([]);
    expect((await recall("deploy", { projectKeys: ["atlas"] })).entries).toHaveLength(1);
    expect((await recall("which style?", { chatType: "group" })).entries).toEqual([]);

    agent.write({ "USER.md": "- Ana likes long answers.\n- In Spanish. <!-- trigger: style -->\n" });
    expect((await recall("which style?")).entries).toMatchObject([{ text: "- In Spanish.", startLine: 2 }]);
    const { stdout } = await onCommandLine(agent, "recall", "which style?", "--json");
    expect(JSON.parse(stdout).entries).toMatchObject([{ text: "- In Spanish." }]);
  });

  test("annotations are no part of what is found", async () => {
    const agent = await open({}, { notes });
    const { results } = await agent.search({ query: "restart database" });
    expect(results[0]).toMatchObject({ path: "MEMORY.md" });
    expect(results[0].snippet).not.toContain("<!--");
  });

  test("memory.context gives long-term memory to the main private session alone", async () => {
    const agent = await open({}, { notes });
    const files = async (params: object): Promise<string[]> =>
      (await agent.client.call("memory.context", params)).files.map(({ path }: { path: string }) => path);
    expect(await files({})).toEqual(["MEMORY.md", "USER.md"]);
    expect(await files({ chatType: "group" })).toEqual([]);
  });
});

describe("a home that can't be used leaves the built-in index, and says why", () => {
  const cases: [string, (qmd: string) => void][] = [
    [
      "an unreadable configuration",
      (qmd) => {
        mkdirSync(join(qmd, "xdg-config/qmd"), { recursive: true });
        writeFileSync(join(qmd, "xdg-config/qmd/index.yml"), "collections: [oops");
      },
    ],
    [
      "a file where its folder should be",
      (qmd) => {
        mkdirSync(dirname(qmd), { recursive: true });
        writeFileSync(qmd, "");
      },
    ],
    [
      "a folder where its index should be",
      (qmd) => mkdirSync(join(qmd, "xdg-cache/qmd/index.sqlite"), { recursive: true }),
    ],
  ];
  test.each(cases)("%s", async (_, spoil) => {
    const agent = await open({}, { prepare: ({ stateDir }) => spoil(join(stateDir, "agents/main/qmd")) });
    expect(agent.hello.status).toMatchObject({
      backend: "builtin",
      fallback: { from: "qmd", reason: expect.stringMatching(/./) },
    });
    const found = await agent.search();
    expect(found.fallback.from).toBe("qmd");
    expect(found.results).toHaveLength(2);
  });

  test("until it can be used", async () => {
    let yml = "";
    const agent = await open(
      {},
      {
        prepare({ stateDir }) {
          yml = join(stateDir, "agents/main/qmd/xdg-config/qmd/index.yml");
          mkdirSync(dirname(yml), { recursive: true });
          writeFileSync(yml, "collections: [oops");
        },
      },
    );
    expect((await agent.search()).fallback.from).toBe("qmd");
    writeFileSync(yml, "collections: {}\n");
    const answers = await Promise.all([agent.search(), agent.search()]);
    for (const { fallback, results } of answers) {
      expect(fallback).toBeUndefined();
      expect(results).toHaveLength(3);
    }
    expect(await agent.client.call("memory.status")).toMatchObject({ backend: "qmd", files: 3 });
    expect(await agent.client.call("memory.index")).toMatchObject({ files: 3, added: 0 });
  });
});

test("a home that can be used again, but is not filled in time, holds up no search", async () => {
  let qmd = "";
  const agent = await open(
    { update: { waitForBootSync: true }, limits: { timeoutMs: 60_000 } },
    {
      prepare({ stateDir }) {
        qmd = join(stateDir, "agents/main/qmd");
        mkdirSync(join(qmd, "xdg-config/qmd"), { recursive: true });
        mkdirSync(join(qmd, "xdg-cache/qmd"), { recursive: true });
        writeFileSync(join(qmd, "xdg-config/qmd/index.yml"), "collections: [oops");
      },
    },
  );
  expect((await agent.search()).fallback.from).toBe("qmd");
  writeFileSync(join(qmd, "xdg-config/qmd/index.yml"), "collections: {}\n");
  const held = await withWriterLock(join(qmd, "xdg-cache/qmd/index.sqlite"), () => agent.search());
  expect(held.fallback.from).toBe("qmd");
  expect(held.results).toHaveLength(2);
  while ((await agent.search()).fallback !== undefined) continue;
  expect(await agent.paths()).toHaveLength(3);
});

test("an index that is taken away is made anew once for all who search", async () => {
  const agent = await open({ update: { interval: "0", debounceMs: 0, waitForBootSync: true } });
  await agent.changed();
  rmSync(join(agent.stateDir, "agents/main/qmd/xdg-cache/qmd"), { recursive: true });
  const found = await Promise.all(Array.from({ length: 20 }, () => agent.search()));
  for (const { results } of found) expect(results).toHaveLength(3);
  expect(await agent.changed()).toMatchObject({ added: 3 });
  agent.write({ "memory/later.md": "A later hedgehog.\n" });
  expect(await agent.client.call("memory.index")).toMatchObject({ added: 1 });
  const changes = agent.client.messages.filter(({ method }) => method === "memory.changed");
  expect(changes).toHaveLength(2);
});

test("a home that breaks later is stood in for until it can be used again", async () => {
  const agent = await open({ update: { interval: "0", debounceMs: 0 } });
  expect(await agent.paths()).toHaveLength(3);
  const cache = join(agent.stateDir, "agents/main/qmd/xdg-cache");
  rmSync(cache, { recursive: true });
  writeFileSync(cache, "");
  const found = await agent.search();
  expect(found.results.map(({ path }: { path: string }) => path).toSorted()).toEqual([
    "MEMORY.md",
    "memory/2026-02-10.md",
  ]);
  expect(found.fallback).toMatchObject({ from: "qmd", reason: expect.stringContaining("xdg-cache") });
  expect(await agent.client.call("memory.status")).toMatchObject({ backend: "builtin", fallback: { from: "qmd" } });
  rmSync(cache);
  const again = await agent.search();
  expect(again.fallback).toBeUndefined();
  expect(again.results).toHaveLength(3);
  expect(await agent.client.call("memory.status")).toMatchObject({ backend: "qmd", files: 3 });
});

describe("memory that is switched off stays off", () => {
  test.each([
    ["memorySearch.enabled is false", { memorySearch: { enabled: false } }],
    ['plugins.slots.memory is "none"', { config: { plugins: { slots: { memory: "none" } } } }],
  ])("%s", async (reason, options) => {
    const agent = await open({}, options);
    expect(await agent.search()).toMatchObject({ disabled: true, results: [], error: expect.stringContaining(reason) });
    expect(existsSync(join(agent.stateDir, "agents/main/qmd"))).toBe(false);
  });
});

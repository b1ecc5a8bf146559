// When the qmd backend updates and embeds: each key of `memory.qmd.update`, seen from outside.
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withWriterLock } from "../../src/store/lock.ts";
import { childEnv, memqCommand } from "../cli/program.ts";
import { startRpc } from "./client.ts";
import { type Embedder, endAgents, NOTES, openAgent, type QmdAgent, startEmbedder, turn } from "./qmd-agent.ts";

// Processes start in turn, perhaps on a busy machine.
setDefaultTimeout(20_000);

/** Nothing by itself: what a test wants it asks for. */
const QUIET = { interval: "0", debounceMs: 0, embedInterval: "1h" };

let embedder: Embedder | null = null;
afterEach(async () => {
  await endAgents();
  await embedder?.stop();
  embedder = null;
});

const statusOf = ({ client }: QmdAgent) => client.call("memory.status");

describe("the first update", () => {
  test("runs with the process, and the start waits for it when it shall", async () => {
    const { hello } = await openAgent({ qmd: { update: { ...QUIET, waitForBootSync: true } } });
    expect(hello.status).toMatchObject({ backend: "qmd", files: 2 });
    const agent = await openAgent({ qmd: { update: { ...QUIET, startup: "immediate" } } });
    expect(await agent.changed()).toMatchObject({ added: 2 });
  });

  test("does not run without onBoot; the first search on an empty index does without it", async () => {
    const agent = await openAgent({ qmd: { update: { ...QUIET, onBoot: false, waitForBootSync: true } } });
    expect(agent.hello.status.files).toBe(0);
    expect(await agent.paths()).toHaveLength(2);
  });

  test("comes with the first search, and timers with it, where startup is off", async () => {
    const update = { ...QUIET, interval: "100ms" };
    const agent = await openAgent({ qmd: { update: { ...update, startup: "off" } } });
    agent.client.notify("session.started", { sessionKey: "agent:main:main" });
    // That nothing happens can't be awaited, but what happens to another agent at such intervals can.
    const other = await openAgent({ qmd: { update } });
    await other.changed();
    for (const name of ["first", "second", "third"]) {
      other.write({ [`memory/${name}.md`]: `The ${name} hedgehog.\n` });
      expect(await other.changed()).toMatchObject({ added: 1 });
    }
    expect(await statusOf(agent)).toMatchObject({ files: 0 });
    expect(await agent.paths()).toHaveLength(2);
    await agent.changed();
    agent.write({ "memory/later.md": "A hedgehog of later.\n" });
    expect(await agent.changed()).toMatchObject({ added: 1 });
  });

  test("is waited for by the first search where that was not the start", async () => {
    const agent = await openAgent({
      qmd: { update: { ...QUIET, startup: "off", waitForBootSync: true } },
      prepare({ workspace, stateDir }) {
        mkdirSync(stateDir);
        writeFileSync(join(stateDir, "openclaw.json"), JSON.stringify({ memory: { backend: "qmd" } }));
        Bun.spawnSync(memqCommand("memory", "index", "--workspace", workspace, "--state-dir", stateDir), {
          env: childEnv(),
        });
        writeFileSync(join(workspace, "memory/since.md"), "A hedgehog since then.\n");
      },
    });
    expect(agent.hello.status).toMatchObject({ backend: "qmd", files: 2 });
    expect(await agent.paths()).toContain("memory/since.md");
  });

  test("waits for startupDelayMs where startup is idle, and for nobody to ask", async () => {
    const started = performance.now();
    const agent = await openAgent({ qmd: { update: { ...QUIET, startup: "idle", startupDelayMs: 1500 } } });
    expect(agent.hello.status.files).toBe(0);
    expect(await agent.changed()).toMatchObject({ added: 2 });
    expect(performance.now() - started).toBeGreaterThan(1490);
  });
});

describe("further updates", () => {
  test("come at the interval", async () => {
    const agent = await openAgent({ qmd: { update: { ...QUIET, interval: "150ms" } } });
    await agent.changed();
    agent.write({ "memory/new.md": "A new hedgehog.\n" });
    expect(await agent.changed()).toMatchObject({ added: 1 });
  });

  test("come debounceMs after the one before for what is written meanwhile", async () => {
    const agent = await openAgent({
      qmd: { update: { ...QUIET, debounceMs: 200 } },
      memorySearch: { sync: { watchDebounceMs: 20 } },
      watch: true,
    });
    expect(agent.hello.capabilities.watch).toBe(true);
    await agent.changed();
    for (const name of ["a", "b"]) {
      agent.write({ [`memory/${name}.md`]: `Hedgehog ${name}.\n` });
      expect(await agent.changed()).toMatchObject({ added: 1 });
    }
  });

  test("wait for nothing where a gateway asks for one, or wrote through us", async () => {
    // Longer than the test may take.
    const agent = await openAgent({ qmd: { update: { ...QUIET, debounceMs: 600_000 } } });
    await agent.changed();
    agent.write({ "memory/c.md": "Hedgehog c.\n" });
    expect(await agent.client.call("memory.index")).toMatchObject({ added: 1 });
    await agent.client.call("memory.append", { text: "The hedgehog was weighed." });
    expect(await agent.changed()).toMatchObject({ added: 1 });
  });

  test("take in the first note of an agent that had none, of which nothing is said", async () => {
    const agent = await openAgent({
      notes: { "MEMORY.md": "- A hedgehog.\n" },
      qmd: { update: { ...QUIET, waitForBootSync: true } },
      memorySearch: { sync: { watchDebounceMs: 20 } },
      watch: true,
    });
    await agent.changed();
    agent.write({ "memory/first.md": "The hedgehog's first note.\n" });
    expect(await agent.changed()).toMatchObject({ added: 1 });
    expect(await agent.paths()).toEqual(["MEMORY.md", "memory/first.md"]);
    expect((await agent.client.end()).stderr).toBe("");
  });

  test("say once what is wrong with all of them", async () => {
    const agent = await openAgent({ qmd: { paths: ["../nowhere"], update: { ...QUIET, interval: "100ms" } } });
    await agent.changed();
    for (const name of ["a", "b"]) {
      agent.write({ [`memory/${name}.md`]: `Hedgehog ${name}.\n` });
      await agent.changed();
    }
    expect((await agent.client.end()).stderr.match(/nowhere of .* was not read/g)).toHaveLength(1);
  });

  test("come with the start of a session, unless that is switched off", async () => {
    const agent = await openAgent({ qmd: { update: QUIET, sessions: { enabled: true } } });
    await agent.changed();
    mkdirSync(agent.sessions, { recursive: true });
    writeFileSync(join(agent.sessions, "s1.jsonl"), turn("The hedgehog asked for milk."));
    agent.client.notify("session.started", { sessionKey: "agent:main:main" });
    expect(await agent.changed()).toMatchObject({ added: 1 });
    expect(await agent.paths({ corpus: "sessions" })).toEqual(["qmd/sessions-main/s1.md"]);

    const off = await openAgent({ qmd: { update: QUIET }, memorySearch: { sync: { onSessionStart: false } } });
    await off.changed();
    off.write({ "memory/new.md": "A new hedgehog.\n" });
    off.client.notify("session.started", { sessionKey: "agent:main:main" });
    for (let n = 0; n < 20; n++) await off.client.call("ping");
    // An update by itself would be under way by now, would be joined, and told of.
    expect(await off.client.call("memory.index")).toMatchObject({ added: 1 });
    await off.client.call("memory.status");
    expect(off.client.messages.filter(({ method }) => method === "memory.changed")).toHaveLength(1);
  });

  test("come when a transcript has grown by its threshold, and not before", async () => {
    const agent = await openAgent({
      qmd: { update: { ...QUIET, waitForBootSync: true }, sessions: { enabled: true } },
      memorySearch: { sync: { sessions: { deltaMessages: 3, deltaBytes: 1_000_000 } } },
      prepare({ stateDir }) {
        mkdirSync(join(stateDir, "agents/main/sessions"), { recursive: true });
        writeFileSync(join(stateDir, "agents/main/sessions/s1.jsonl"), turn("Hello.").repeat(20));
      },
    });
    await agent.changed();
    const file = join(agent.sessions, "s1.jsonl");
    const grow = (text: string): void => {
      appendFileSync(file, turn(text));
      agent.client.notify("session.updated", { sessionKey: "agent:main:main", sessionFile: file });
    };
    const found = async () => (await agent.search({ query: "milk", corpus: "sessions" })).results.length;
    for (const text of ["The hedgehog wants milk.", "Warm milk."]) {
      grow(text);
      // The search stands behind it in the queue.
      expect(await found()).toBe(0);
    }
    // Without a path, the gateway's list of sessions tells which transcript it is.
    writeFileSync(join(agent.sessions, "sessions.json"), JSON.stringify({ "agent:main:main": { sessionId: "s1" } }));
    appendFileSync(file, turn("Or cold milk."));
    agent.client.notify("session.updated", { sessionKey: "agent:main:main" });
    expect(await agent.changed()).toMatchObject({ changed: 1 });
    expect(await found()).toBe(1);
  });

  test("that are asked for at once don't get into each other's way", async () => {
    const agent = await openAgent({ qmd: { update: QUIET, sessions: { enabled: true } } });
    mkdirSync(agent.sessions, { recursive: true });
    for (let n = 0; n < 20; n++) writeFileSync(join(agent.sessions, `s${n}.jsonl`), turn("hello there"));
    const reports = await Promise.all(Array.from({ length: 8 }, () => agent.client.call("memory.index")));
    for (const report of reports) expect(report).toMatchObject({ files: 22 });
    expect(await statusOf(agent)).toMatchObject({ files: 22 });
  });
});

describe("embedding", () => {
  const VSEARCH = { searchMode: "vsearch" };

  test("has a rhythm of its own: once at the start, then every embedInterval, and whenever it is asked for", async () => {
    embedder = startEmbedder();
    const agent = await openAgent({
      env: embedder.env,
      qmd: { ...VSEARCH, update: { ...QUIET, interval: "100ms" } },
    });
    await embedder.asked("figs");
    await agent.changed();
    agent.write({ "memory/new.md": "A new hedgehog.\n" });
    expect(await agent.changed()).toMatchObject({ added: 1 });
    agent.write({ "memory/newer.md": "A newer hedgehog.\n" });
    expect(await agent.changed()).toMatchObject({ added: 1 });
    expect(embedder.texts.join()).not.toContain("new");
    expect(await agent.client.call("memory.index")).toMatchObject({ embedded: 2 });

    const often = await openAgent({
      env: embedder.env,
      qmd: { ...VSEARCH, update: { ...QUIET, embedInterval: "500ms" } },
    });
    await often.changed();
    often.write({ "memory/often.md": "A hedgehog that comes often.\n" });
    await often.client.call("ping");
    often.client.notify("session.started", { sessionKey: "agent:main:main" });
    expect(await often.changed()).toMatchObject({ added: 1 });
    await embedder.asked("comes often");
  });

  test("comes with every update where embedInterval is 0", async () => {
    embedder = startEmbedder();
    const agent = await openAgent({
      env: embedder.env,
      qmd: { ...VSEARCH, update: { ...QUIET, interval: "100ms", embedInterval: "0" } },
    });
    await agent.changed();
    agent.write({ "memory/new.md": "A new hedgehog.\n" });
    await embedder.asked("new hedgehog");
  });

  test("never happens where keywords alone are searched", async () => {
    embedder = startEmbedder();
    const agent = await openAgent({ env: embedder.env, qmd: { update: QUIET } });
    expect(await agent.client.call("memory.index")).toMatchObject({ embedded: 0 });
    expect(embedder.requests).toBe(0);
  });

  test("holds up no update", async () => {
    embedder = startEmbedder();
    embedder.mood = "hanging";
    const agent = await openAgent({
      env: embedder.env,
      qmd: { searchMode: "query", update: { ...QUIET, interval: "100ms" }, limits: { timeoutMs: 500 } },
    });
    await embedder.asked("hedgehog");
    await agent.changed();
    agent.write({ "memory/new.md": "A new hedgehog.\n" });
    expect(await agent.changed()).toMatchObject({ added: 1 });
    expect(await agent.paths()).toContain("memory/new.md");
  });

  test("takes embedTimeoutMs at a time for as long as it gets on, and gives up when it does not", async () => {
    embedder = startEmbedder();
    embedder.delayMs = 200;
    const long = Object.fromEntries(
      Array.from({ length: 12 }, (_, n) => [`memory/${n}.md`, `Note ${n}. ${"hedgehog words ".repeat(160)}\n`]),
    );
    const agent = await openAgent({
      notes: long,
      env: embedder.env,
      qmd: { ...VSEARCH, update: { ...QUIET, onBoot: false, embedTimeoutMs: 1500 } },
    });
    const { passages, embedded } = await agent.client.call("memory.index");
    expect(embedded).toBeGreaterThanOrEqual(passages);
    expect((await statusOf(agent)).vector.missing).toBe(0);

    embedder.mood = "hanging";
    agent.write({ "memory/new.md": "A new hedgehog.\n" });
    expect(await agent.client.call("memory.index")).toMatchObject({ added: 1, embedded: 0 });
    embedder.mood = "well";
    expect(await agent.client.call("memory.index")).toMatchObject({ embedded: 1 });
  });

  test("is not tried again at once by itself when it failed, and keywords answer meanwhile", async () => {
    embedder = startEmbedder();
    embedder.mood = "failing";
    const agent = await openAgent({
      env: embedder.env,
      qmd: { searchMode: "query", update: { ...QUIET, interval: "100ms", embedInterval: "0" } },
    });
    expect(await agent.client.call("memory.index")).toMatchObject({ embedded: 0 });
    const before = embedder.requests;
    expect(before).toBeGreaterThan(0);
    await agent.changed();
    for (const name of ["a", "b"]) {
      agent.write({ [`memory/${name}.md`]: `Hedgehog ${name}.\n` });
      await agent.changed();
    }
    expect(embedder.requests).toBe(before);
    expect(await agent.search()).toMatchObject({ mode: "keyword", degraded: ["vector"] });
    embedder.mood = "well";
    expect(await agent.client.call("memory.index")).toMatchObject({ embedded: 4 });
  });
});

describe("what takes too long", () => {
  const failure = async (agent: QmdAgent) => (await agent.client.request("memory.index", {})).error;

  test("an update ends at updateTimeoutMs, and the next one goes on", async () => {
    const agent = await openAgent({ qmd: { update: { ...QUIET, onBoot: false, updateTimeoutMs: 3000 } } });
    await agent.client.call("memory.index");
    agent.write({ "memory/new.md": "A new hedgehog.\n" });
    const index = join(agent.stateDir, "agents/main/qmd/xdg-cache/qmd/index.sqlite");
    const error = await withWriterLock(index, () => failure(agent));
    expect(error).toMatchObject({ code: -32001, data: { code: "UPDATE_TIMEOUT" } });
    expect(error.message).toContain("memory.qmd.update.updateTimeoutMs");
    expect(await agent.client.call("memory.index")).toMatchObject({ added: 1 });
  });

  test("a change of collections ends at commandTimeoutMs", async () => {
    const agent = await openAgent({ qmd: { update: { ...QUIET, onBoot: false, commandTimeoutMs: 1000 } } });
    const yml = join(agent.stateDir, "agents/main/qmd/xdg-config/qmd/index.yml");
    const error = await withWriterLock(yml, () => failure(agent));
    expect(error).toMatchObject({ data: { code: "COMMAND_TIMEOUT" } });
    expect(await agent.client.call("memory.index")).toMatchObject({ added: Object.keys(NOTES).length });
  });
});

test("passages of collections that the configuration had left were counted, beside no files", async () => {
  const agent = await openAgent({ qmd: { update: { ...QUIET, onBoot: false } } });
  expect(await agent.client.call("memory.index")).toMatchObject({ files: 2, passages: 2 });
  await agent.client.end();
  const client = startRpc();
  const config = { memory: { backend: "qmd", qmd: { includeDefaultMemory: false, update: { onBoot: false } } } };
  const { workspace, stateDir } = agent;
  await client.call("initialize", { workspace, stateDir, watch: false, config });
  expect(await client.call("memory.index")).toMatchObject({ files: 0, passages: 0, removed: 0 });
  expect(await client.call("memory.status")).toMatchObject({ files: 0, chunks: 0 });
  await client.end();
});

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withWriterLock } from "../../src/store/lock.ts";
import { type Client, type Json, makeHome, startRpc } from "./client.ts";

const running: Client[] = [];
afterAll(() => Promise.all(running.map((client) => client.end())));

async function open(config: object = {}, params: object = {}, env: Record<string, string> = {}) {
  const home = makeHome({
    "MEMORY.md": "# Long-term\n\n- Zeb is Rod's manager.\n",
    "memory/plan.md": "The plan is old.\n",
  });
  const client = startRpc({ env });
  running.push(client);
  const hello = await client.call("initialize", { ...home, config, ...params });
  await client.call("memory.index");
  const changed = async (): Promise<object> => {
    for (;;) {
      const { method, params } = await client.unasked();
      if (method === "memory.changed") return params;
    }
  };
  return { client, home, hello, changed };
}

describe("a living process", () => {
  test("pain 42: finds a note that somebody else wrote, and tells of it", async () => {
    const { client, home, hello, changed } = await open();
    expect(hello.capabilities.watch).toBe(true);
    expect(await changed()).toMatchObject({ added: 2 });
    writeFileSync(join(home.workspace, "memory/new.md"), "Hedgehogs hibernate in the garage.\n");
    expect(await changed()).toMatchObject({ added: 1, changed: 0, removed: 0 });
    expect((await client.call("memory.search", { query: "hedgehogs" })).results[0].path).toBe("memory/new.md");
  });

  test("an extra folder that is made after the start is found, and no longer said to be missing", async () => {
    const memorySearch = { extraPaths: ["late"], sync: { watchDebounceMs: 100 } };
    const { client, home } = await open({ agents: { defaults: { memorySearch } } });
    const issues = async (): Promise<string[]> => (await client.call("memory.status")).issues;
    expect(await issues()).toEqual([expect.stringContaining("late does not exist")]);
    mkdirSync(join(home.workspace, "late"));
    writeFileSync(join(home.workspace, "late/new.md"), "Hedgehogs hibernate in the garage.\n");
    const found = async (): Promise<Json[]> => (await client.call("memory.search", { query: "hedgehogs" })).results;
    while ((await found()).length === 0) await client.unasked();
    expect(await found()).toMatchObject([{ path: "late/new.md" }]);
    expect(await issues()).toEqual([]);
  });

  test("a link to itself that had the name of a note ended the process", async () => {
    const { client, home, changed } = await open({ memory: { search: { sync: { watchDebounceMs: 100 } } } });
    expect(await changed()).toMatchObject({ added: 2 });
    for (const name of ["itself.md", "itself"])
      symlinkSync(join(home.workspace, "memory", name), join(home.workspace, "memory", name));
    writeFileSync(join(home.workspace, "memory/new.md"), "Hedgehogs hibernate in the garage.\n");
    expect(await changed()).toMatchObject({ added: 1 });
    expect((await client.call("memory.search", { query: "hedgehogs" })).results).toHaveLength(1);
  });

  test("what is left out of one collection was said again after each sync of another", async () => {
    const sync = { watchDebounceMs: 50 };
    const { client, home, changed } = await open({
      agents: { defaults: { memorySearch: { extraPaths: ["x"], sync } } },
    });
    writeFileSync(join(home.workspace, "memory/binary.md"), new Uint8Array(2000));
    await client.call("memory.index");
    for (const path of ["x/1.md", "memory/1.md", "x/2.md", "memory/2.md"]) {
      mkdirSync(join(home.workspace, "x"), { recursive: true });
      const before = client.messages.length;
      writeFileSync(join(home.workspace, path), "A hedgehog.\n");
      while (client.messages.length === before) await changed();
    }
    const { stderr } = await client.end();
    expect(stderr.match(/Skipped .*binary\.md/g)).toHaveLength(1);
  });

  test.each(["builtin", "qmd"])("a transcript that was deleted stayed in the index (%s)", async (backend) => {
    const said = { type: "message", message: { role: "user", content: "The hedgehog asked for milk." } };
    const transcript = "../state/agents/main/sessions/s1.jsonl";
    const home = makeHome({ "MEMORY.md": "# Long-term\n", [transcript]: `${JSON.stringify(said)}\n` });
    const sessions = { experimental: { sessionMemory: true }, sync: { watchDebounceMs: 100 } };
    const qmd = { sessions: { enabled: true }, update: { interval: "0", debounceMs: 100 } };
    const client = startRpc();
    running.push(client);
    await client.call("initialize", {
      ...home,
      config: { memory: { backend, qmd }, agents: { defaults: { memorySearch: sessions } } },
    });
    expect((await client.call("memory.index")).files).toBe(2);
    const removals = (): Json[] =>
      client.messages.filter(({ method, params }) => method === "memory.changed" && params.removed > 0);
    rmSync(join(home.workspace, transcript));
    while (removals().length === 0) await client.unasked();
    expect(removals()).toMatchObject([{ params: { added: 0, removed: 1 } }]);
  });

  test("without watching finds it after the next search", async () => {
    const { client, home, hello, changed } = await open({}, { watch: false });
    expect(hello.capabilities.watch).toBe(false);
    expect(await changed()).toMatchObject({ added: 2 });
    writeFileSync(join(home.workspace, "memory/plan.md"), "The plan is new and has a hedgehog.\n");
    const found = await client.call("memory.search", { query: "plan" });
    expect(found.results[0].snippet).toContain("new and has a hedgehog");
    expect(await changed()).toMatchObject({ changed: 1 });
    expect((await client.call("memory.search", { query: "hedgehog" })).results[0].path).toBe("memory/plan.md");
  });

  test("a session's start looks for changes", async () => {
    const { client, home, changed } = await open({ memory: { search: { sync: { watch: false } } } });
    expect(await changed()).toMatchObject({ added: 2 });
    writeFileSync(join(home.workspace, "memory/other.md"), "Another one.\n");
    client.notify("session.started", { sessionKey: "agent:main:main" });
    expect(await changed()).toMatchObject({ added: 1 });
  });
});

test("while syncs in the background fail, every answer says that the index may be out of date, and why", async () => {
  const { client, home } = await open({}, {}, { QMD_SQLITE_BUSY_TIMEOUT: "50" });
  const search = () => client.call("memory.search", { query: "plan" });
  expect(await search()).not.toHaveProperty("warning");
  // The engine keeps asking, since what is found has changed.
  const until = async (isWanted: (warning: string | undefined) => boolean): Promise<Json> => {
    for (;;) {
      const answer = await search();
      if (isWanted(answer.warning)) return answer;
    }
  };
  const indexPath = (await client.call("memory.status")).dbPath;
  await withWriterLock(indexPath, async () => {
    writeFileSync(join(home.workspace, "memory/plan.md"), "The plan is newer.\n");
    const { warning, results, degraded } = await until((said) => said !== undefined);
    expect(warning).toContain("The index may be out of date, its last sync failed: Another process");
    expect(results[0].snippet).toContain("newer");
    expect(degraded).toBeUndefined();
    expect(await client.call("memory.status")).toMatchObject({
      lastSyncError: expect.stringContaining("Another process"),
    });
  });
  await until((said) => said === undefined);
  expect(await client.call("memory.status")).not.toHaveProperty("lastSyncError");
});

test("twenty sessions ask at once", async () => {
  const { client } = await open();
  const asked = Array.from({ length: 20 }, (_, at) =>
    client.call("memory.search", {
      query: at % 2 === 0 ? "who is the manager" : "the plan",
      sessionKey: `agent:main:s${at}`,
    }),
  );
  const paths = (await Promise.all(asked)).map(({ results }) => results[0].path);
  expect(paths).toEqual(asked.map((_, at) => (at % 2 === 0 ? "MEMORY.md" : "memory/plan.md")));
});

test("an index that somebody deletes under a living process is made again", async () => {
  const { client, home } = await open();
  rmSync(join(home.stateDir, "memory"), { recursive: true });
  expect((await client.call("memory.index")).added).toBe(2);
  expect((await client.call("memory.search", { query: "manager" })).results).toHaveLength(1);
});

test.each([
  ["emptied where it is", (path: string) => truncateSync(path)],
  ["replaced by an empty file", (path: string) => [rmSync(path), writeFileSync(path, "")]],
])(
  "an index that is %s under a living process is made again, and no search finds nothing meanwhile",
  async (_, harm) => {
    const { client, home } = await open();
    expect((await client.call("memory.search", { query: "manager" })).results).toHaveLength(1);
    const folder = join(home.stateDir, "memory");
    harm(join(folder, readdirSync(folder).find((name) => name.endsWith(".sqlite")) ?? ""));
    expect((await client.call("memory.search", { query: "manager" })).results).toHaveLength(1);
    expect((await client.call("memory.index")).files).toBe(2);
    expect((await client.call("memory.search", { query: "manager" })).results).toHaveLength(1);
  },
);

// The plug in a stand-in for the gateway, drawn from its published types, against real `memq rpc` processes.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../src/integrations/openclaw/plug/openclaw.plugin.json";
import { pauseAfter } from "../../src/integrations/openclaw/plug/rpc-child.ts";
import type { Gateway } from "./gateway.ts";
import { isRunning, plugFolder, startGateway, until } from "./gateway.ts";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function gateway(
  config: (place: ReturnType<typeof plugFolder>) => Record<string, unknown>,
  options?: { service?: boolean },
): Promise<{ place: ReturnType<typeof plugFolder>; host: Gateway }> {
  const place = plugFolder();
  cleanups.push(() => place.remove());
  const host = await startGateway(config(place), place, options);
  cleanups.push(() => host.stop());
  return { place, host };
}

describe("a gateway with the plug", () => {
  let place: ReturnType<typeof plugFolder>;
  let host: Gateway;
  beforeAll(async () => {
    place = plugFolder();
    host = await startGateway({ command: place.memq }, place);
  });
  afterAll(async () => {
    await host.stop();
    place.remove();
  });

  test("finds a passage and reads it", async () => {
    const answer = await host.search({ query: "which VLAN do the smart lights use?", maxResults: 1 });
    expect(answer).toMatchObject({
      results: [{ path: "memory/2026-02-10.md", source: "memory", citation: expect.any(String) }],
      provider: "none",
      mode: "keyword",
    });
    const read = await host.tool("memory_get").execute("call", { path: "memory/people/marta.md", from: 3, lines: 1 });
    expect(read.details).toMatchObject({ path: "memory/people/marta.md", text: expect.stringContaining("walnuts") });
    expect(JSON.parse(read.content[0]?.text ?? "")).toEqual(read.details);
  });

  test("tells memq of sessions", async () => {
    await host.search({ query: "router" });
    host.sessionStarted("agent:main:main");
    host.sessionUpdated({ target: { agentId: "main", sessionKey: "agent:main:main" } });
    await until(() => place.sent().includes("session.updated"));
    const notes = place
      .sent()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { method: string; [key: string]: unknown })
      .filter(({ method }) => method.startsWith("session."));
    const params = { sessionKey: "agent:main:main", agentId: "main" };
    expect(notes).toEqual([
      { jsonrpc: "2.0", method: "session.started", params },
      { jsonrpc: "2.0", method: "session.updated", params },
    ]);
  });

  test("shows the model how to use the tools that it has", async () => {
    expect(host.prompt(["memory_search", "memory_get"]).join("\n")).toContain("memory_get");
    expect(host.prompt(["read"])).toEqual([]);
  });

  test("reports wrong parameters as the tool's failure", async () => {
    const failure = await host.search({ query: "router", corpus: "wiki" }).catch((error: unknown) => error);
    expect(String(failure)).toContain("parameter 'corpus'");
  });
});

describe("the process behind the plug", () => {
  test("starts one process for all tools, sessions and registrations, and ends it when it stops", async () => {
    const { place, host } = await gateway(({ memq }) => ({ command: memq }));
    // Hosts register a plugin again to list its tools.
    const again = await startGateway({ command: place.memq }, place, { service: false });
    await Promise.all([
      host.search({ query: "router" }),
      again.search({ query: "walnuts" }, { agentId: "main", sessionKey: "agent:main:other" }),
    ]);
    const pids = place.pids();
    expect(pids).toHaveLength(1);
    await host.stop();
    expect(pids.filter(isRunning)).toEqual([]);
  });

  test("serves each agent its own memory, or all of them the one that is configured", async () => {
    const place = plugFolder();
    cleanups.push(() => place.remove());
    const research = join(place.root, "research");
    mkdirSync(research);
    writeFileSync(join(research, "MEMORY.md"), "- The walnut study needs forty samples.\n");
    const list = [
      { id: "main", workspace: place.workspace, default: true },
      { id: "research", workspace: research },
    ];
    writeFileSync(join(place.state, "openclaw.json"), JSON.stringify({ agents: { list } }));
    const best = async (host: Gateway, agentId: string): Promise<string> =>
      JSON.stringify((await host.search({ query: "walnut", maxResults: 1 }, { agentId }))["results"]);

    const each = await startGateway({ command: place.memq }, place);
    cleanups.push(() => each.stop());
    expect(await best(each, "research")).toContain("forty samples");
    expect(await best(each, "main")).toContain("marta");
    expect(place.pids()).toHaveLength(1);

    const one = await startGateway({ command: place.memq, agentId: "research" }, place);
    cleanups.push(() => one.stop());
    expect(await best(one, "main")).toContain("forty samples");
  });

  test("a plugin that replaces itself hands the process over", async () => {
    const { place, host } = await gateway(({ memq }) => ({ command: memq }));
    await host.search({ query: "router" });
    const next = await startGateway({ command: place.memq }, place);
    cleanups.push(() => next.stop());
    await host.stop();
    expect((await next.search({ query: "walnuts" }))["results"]).not.toBeEmpty();
    const pids = place.pids();
    expect(pids).toHaveLength(1);
    await next.stop();
    expect(pids.filter(isRunning)).toEqual([]);
  });

  test("starts a killed process again and answers the search that it was asked", async () => {
    const { place, host } = await gateway(({ memq }) => ({ command: memq }));
    await host.search({ query: "router" });
    const [first = 0] = place.pids();
    process.kill(first, "SIGSTOP");
    const asked = host.search({ query: "walnuts" });
    await until(() => place.sent().includes("walnuts"));
    process.kill(first, "SIGKILL");
    expect((await asked)["results"]).not.toBeEmpty();
    expect(place.pids()).toHaveLength(2);
    expect(host.log.join("\n")).toContain("memq rpc ended (SIGKILL)");
  });

  test("starts a killed process again without being asked", async () => {
    const { place, host } = await gateway(({ memq }) => ({ command: memq }));
    await host.search({ query: "router" });
    process.kill(place.pids()[0] ?? 0, "SIGKILL");
    await until(() => place.pids().length === 2);
    expect((await host.search({ query: "walnuts" }))["results"]).not.toBeEmpty();
  });
});

describe("an agent whose memory is switched off", () => {
  const off = { enabled: false };
  const on = { enabled: true };
  test.each([
    ["for all agents", { agents: { defaults: { memorySearch: off } } }, false],
    ["in the newer place", { memory: { search: off } }, false],
    ["for this one", { agents: { list: [{ id: "Main", memorySearch: off }] } }, false],
    ["for this one, by entry", { agents: { entries: { main: { memory: { search: off } } } } }, false],
    ["for another", { agents: { list: [{ id: "work", memorySearch: off }] } }, true],
    ["for all but this one", { memory: { search: off }, agents: { list: [{ id: "main", memorySearch: on }] } }, true],
    ["by nobody", { agents: "none", memory: [] }, true],
  ])("was offered tools all the same: %s", async (_, config, isOffered) => {
    const { place, host } = await gateway(({ memq }) => ({ command: memq }), { service: false });
    for (const name of ["memory_search", "memory_get"]) {
      const asked = (): unknown => host.tool(name, { agentId: "main", sessionKey: "agent:main:main", config });
      if (isOffered) expect(asked()).toMatchObject({ name });
      else expect(asked).toThrow("not offered");
    }
    expect(place.pids()).toEqual([]);
  });
});

describe("without memq", () => {
  test("a search says that memory is unavailable and why", async () => {
    const { host } = await gateway(({ root }) => ({ command: join(root, "nowhere") }));
    const answer = await host.search({ query: "router" });
    expect(answer).toMatchObject({ results: [], disabled: true, unavailable: true });
    expect(answer["error"]).toContain("nowhere");
    expect(answer["action"]).toContain("memq setup --check openclaw");
    expect((await host.tool("memory_get").execute("call", { path: "MEMORY.md" })).details).toMatchObject({
      path: "MEMORY.md",
      text: "",
      disabled: true,
      code: "MEMORY_READ_FAILED",
    });
  });

  test("a program that keeps failing is started ever more rarely", async () => {
    const { place, host } = await gateway(({ root }) => ({ command: [brokenProgram(root)] }), { service: false });
    const answers = [];
    for (let asked = 0; asked < 5; asked += 1) answers.push(await host.search({ query: "router" }));
    expect(answers.every(({ unavailable }) => unavailable === true)).toBe(true);
    expect(answers[0]?.["error"]).toContain("disk is on fire");
    expect(answers[4]?.["error"]).toContain("next attempt in 1 s");
    expect(place.pids()).toHaveLength(2);
    expect([1, 2, 3, 4, 20].map(pauseAfter)).toEqual([0, 500, 1000, 2000, 30_000]);
  });

  test("a program that never answers costs no more than the deadline", async () => {
    const { host } = await gateway(() => ({ command: ["sh", "-c", "exec cat > /dev/null"], deadlineMs: 200 }));
    const started = performance.now();
    const answer = await host.search({ query: "router" });
    expect(answer).toMatchObject({ unavailable: true, error: expect.stringContaining("time limit") });
    expect(performance.now() - started).toBeLessThan(5000);
  });

  test("an error of memq's own reaches the agent with its hint", async () => {
    const { place } = await gateway(({ memq }) => ({ command: memq }), { service: false });
    const host = await startGateway({ command: place.memq }, { ...place, workspace: join(place.root, "gone") });
    cleanups.push(() => host.stop());
    expect((await host.search({ query: "router" }))["error"]).toContain("gone");
  });
});

test("the manifest names the tools that are registered", () => {
  expect(manifest.contracts.tools).toEqual(["memory_search", "memory_get"]);
});

/** A program that notes its start, says a word and fails. */
function brokenProgram(root: string): string {
  const path = join(root, "broken");
  writeFileSync(path, `#!/bin/sh\necho $$ >> '${root}/pids'\necho 'disk is on fire' >&2\nexit 3\n`);
  chmodSync(path, 0o755);
  return path;
}

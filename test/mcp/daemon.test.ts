import { afterAll, beforeAll, expect, setDefaultTimeout, spyOn, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stopDaemon } from "../../src/gateway/mcp/daemon.ts";
import { memq } from "../cli/program.ts";
import { makeHome } from "../gateway/client.ts";
import { qmdHome, type QmdTestHome } from "../qmd/homes.ts";

setDefaultTimeout(30_000);

let home: QmdTestHome;
let pidFile = "";
beforeAll(async () => {
  home = await qmdHome({ "n/a.md": "# A\n\nA heron.\n" });
  pidFile = join(home.indexPath, "../mcp.pid");
});
afterAll(async () => {
  await home.run("mcp", "stop");
  home.remove();
});

const start = (...args: string[]) => home.run("mcp", "--http", "--daemon", "--port", "0", ...args);

async function started(...args: string[]): Promise<{ pid: number; base: string; log: string }> {
  const { stdout, stderr, exitCode } = await start(...args);
  expect([exitCode, stderr.replace(/^Stop it with: .*\n$/, "")]).toEqual([0, ""]);
  const [, base = "", pid = "", log = ""] = /^Started on (\S+)\/mcp \(PID (\d+)\)\nLogs: (\S+)\n$/.exec(stdout) ?? [];
  return { pid: Number(pid), base, log };
}

async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await Bun.sleep(10);
  }
}

test("a server in the background takes requests when it is said to have started, and ends when it is stopped", async () => {
  const { pid, base, log } = await started();
  expect((await fetch(`${base}/health`)).status).toBe(200);
  expect(readFileSync(pidFile, "utf8")).toBe(String(pid));
  for (const path of [log, pidFile]) expect(statSync(path).mode & 0o777).toBe(0o600);

  expect((await home.run("status")).stdout).toContain(`MCP:   running (PID ${pid})`);

  const again = await start();
  expect(again).toMatchObject({ exitCode: 1, stdout: "" });
  expect(again.stderr).toContain(`Already running (PID ${pid}). Run 'memq mcp stop' first.`);

  expect(await home.run("mcp", "stop")).toMatchObject({
    exitCode: 0,
    stdout: `Stopped memq MCP server (PID ${pid}).\n`,
  });
  await gone(pid);
  expect(existsSync(pidFile)).toBe(false);
  expect(readFileSync(log, "utf8")).toContain("Shutting down (SIGTERM)...");
  expect(await home.run("mcp", "stop")).toMatchObject({ exitCode: 0, stdout: "Not running (no PID file).\n" });
});

test("of several that start at once one runs, and the others were told how to stop it instead of that it runs", async () => {
  const outcomes = await Promise.all([start(), start(), start()]);
  const [pid = "none"] = outcomes.flatMap(({ stdout }) => /\(PID (\d+)\)/.exec(stdout)?.[1] ?? []);
  expect(outcomes.filter(({ exitCode }) => exitCode === 0)).toHaveLength(1);
  for (const { exitCode, stderr } of outcomes) {
    if (exitCode !== 0) expect(stderr).toContain(`Already running (PID ${pid}). Run 'memq mcp stop' first.`);
  }
  expect((await home.run("mcp", "stop")).stdout).toBe(`Stopped memq MCP server (PID ${pid}).\n`);
  await gone(Number(pid));
});

test("a server of an agent says how to stop it, and a stop that finds none names those of other homes", async () => {
  const { workspace, stateDir } = makeHome({ "MEMORY.md": "- A heron.\n" });
  const env = { OPENCLAW_STATE_DIR: stateDir };
  const args = ["mcp", "--daemon", "--port", "0", "--workspace", workspace];
  const { stdout, stderr } = await memq(args, { env });
  const pid = /\(PID (\d+)\)/.exec(stdout)?.[1];
  const command = `memq mcp stop --workspace ${workspace}`;
  expect(stderr).toBe(`Stop it with: ${command}\n`);
  expect((await memq(args, { env })).stderr).toContain(`Run '${command}' first.`);
  expect(await memq(["mcp", "stop"], { env, cwd: workspace })).toMatchObject({
    stdout: "Not running (no PID file).\n",
    stderr: `The server of another home runs (PID ${pid}); stop it with: ${command}\n`,
  });
  expect((await memq(command.split(" ").slice(1), { env })).stdout).toBe(`Stopped memq MCP server (PID ${pid}).\n`);
  expect(await memq(["mcp", "stop"], { env, cwd: workspace })).toMatchObject({ stderr: "" });
});

test("pain 22: a number that another process has by now is not believed: the stranger is left alone", async () => {
  writeFileSync(pidFile, String(process.pid));
  expect((await home.run("mcp", "stop")).stdout).toBe("Cleaned up stale PID file (server was not running).\n");
  writeFileSync(pidFile, String(process.pid));
  writeFileSync(`${pidFile}.lock`, JSON.stringify({ pid: process.pid, started: "long ago" }));
  const { pid } = await started();
  expect(pid).not.toBe(process.pid);
  await home.run("mcp", "stop");
});

test("a server that was killed is no obstacle to the next one", async () => {
  const first = await started();
  process.kill(first.pid, "SIGKILL");
  await gone(first.pid);
  const second = await started();
  expect((await fetch(`${second.base}/health`)).status).toBe(200);
  await home.run("mcp", "stop");
});

test("what keeps it from starting is said at once", async () => {
  const taken = Bun.serve({ hostname: "localhost", port: 0, fetch: () => new Response("x") });
  const outcome = await home.run("mcp", "--http", "--daemon", "--port", String(taken.port));
  expect(outcome).toMatchObject({ exitCode: 1, stdout: "" });
  expect(outcome.stderr).toContain(`Port ${taken.port} already in use. Try a different port with --port.`);
  expect(existsSync(pidFile)).toBe(false);
  await taken.stop(true);
});

test("a server that ended just as it was to be stopped made the stop fail", async () => {
  const { pid } = await started();
  const files = { pidFile, logFile: pidFile.replace(/pid$/, "log") };
  const kill = process.kill.bind(process);
  const ended = spyOn(process, "kill").mockImplementation((id, signal) => {
    if (signal !== "SIGTERM") return kill(id, signal);
    kill(id, "SIGKILL");
    throw Object.assign(new Error("kill ESRCH"), { code: "ESRCH" });
  });
  try {
    expect(await stopDaemon(files, "memq")).toBe(`Stopped memq MCP server (PID ${pid}).`);
  } finally {
    ended.mockRestore();
  }
  expect(existsSync(pidFile)).toBe(false);
});

test("each named index and each agent has a server of its own", async () => {
  const first = await started();
  const other = await started("--index", "other");
  const agent = makeHome({ "MEMORY.md": "- Zeb.\n" });
  const place = ["--workspace", agent.workspace, "--state-dir", agent.stateDir];
  const third = await started(...place);
  expect(new Set([first.pid, other.pid, third.pid]).size).toBe(3);
  expect(other.log).toEndWith("/mcp-other.log");
  for (const { base } of [first, other, third]) expect((await fetch(`${base}/health`)).status).toBe(200);
  for (const [args, pid] of [
    [[], first.pid],
    [["--index", "other"], other.pid],
    [place, third.pid],
  ] as [string[], number][]) {
    expect((await home.run("mcp", "stop", ...args)).stdout).toContain(`(PID ${pid})`);
  }
});

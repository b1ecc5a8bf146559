/*
 * The plug in a real gateway: MEMQ_TEST_OPENCLAW=/path/to/node_modules/openclaw bun test test/integrations/openclaw.test.ts
 * The package wants a newer Node.js than may be on the PATH: MEMQ_TEST_NODE=/path/to/node. Tried with openclaw 2026.9.6
 * and 2026.6.11 on Node.js 24.21.0.
 */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { memq } from "../cli/program.ts";
import { isRunning, plugFolder, until } from "./gateway.ts";

const openclaw = process.env["MEMQ_TEST_OPENCLAW"] ?? "";
const node = process.env["MEMQ_TEST_NODE"] ?? "node";

describe.skipIf(openclaw === "")("a gateway of the openclaw package", () => {
  test(
    "loads the plug that 'memq setup' wrote, searches, reads, survives a killed process, and ends it",
    async () => {
      const place = plugFolder();
      const port = await freePort();
      const config = join(place.state, "openclaw.json");
      const env = { HOME: place.root, OPENCLAW_STATE_DIR: place.state };
      writeFileSync(
        config,
        `{ // a comment\n  gateway: { mode: "local", port: ${port}, bind: "loopback", auth: { mode: "token", token: "t" } },\n` +
          `  agents: { defaults: { workspace: ${JSON.stringify(place.workspace)} } },\n}\n`,
      );
      expect((await memq(["setup", "openclaw", "--write"], { env })).exitCode).toBe(0);
      // The recording program in place of the one that wrote the configuration.
      const text = readFileSync(config, "utf8");
      expect(text).toContain("// a comment");
      const recording = text.replace(/"command": (\[[^\]]*\]|"[^"]*")/, `"command": ${JSON.stringify(place.memq)}`);
      expect(recording).toContain(place.memq);
      writeFileSync(config, recording);

      const log = join(place.root, "gateway.log");
      mkdirSync(join(place.root, "cwd"));
      const gateway = Bun.spawn([node, join(openclaw, "openclaw.mjs"), "gateway", "run"], {
        cwd: join(place.root, "cwd"),
        env: { PATH: process.env["PATH"] ?? "", ...env },
        stdin: "ignore",
        stdout: Bun.file(log),
        stderr: Bun.file(log),
      });
      try {
        // The plug starts its process with the gateway's services, without being asked.
        await until(() => place.pids().length === 1 || gateway.exitCode !== null);
        expect(gateway.exitCode, existsSync(log) ? readFileSync(log, "utf8") : "").toBeNull();
        const found = await invoke(port, "memory_search", {
          query: "which VLAN do the smart lights use?",
          maxResults: 1,
        });
        expect(found).toMatchObject({ mode: "keyword", results: [{ path: "memory/2026-02-10.md", source: "memory" }] });
        const note = await invoke(port, "memory_get", { path: "memory/people/marta.md", from: 3, lines: 1 });
        expect(note).toMatchObject({ text: expect.stringContaining("walnuts") });

        const [first = 0] = place.pids();
        process.kill(first, "SIGKILL");
        expect(await invoke(port, "memory_search", { query: "walnuts" })).not.toMatchObject({ unavailable: true });
        expect(place.pids()).toHaveLength(2);
      } finally {
        gateway.kill("SIGTERM");
        await gateway.exited;
      }
      expect(place.pids().filter(isRunning)).toEqual([]);
      place.remove();
    },
    { timeout: 240_000 },
  );
});

/** The details of a tool's answer, by the gateway's own way to call one tool. */
async function invoke(port: number, tool: string, args: Record<string, unknown>): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}/tools/invoke`, {
    method: "POST",
    headers: { authorization: "Bearer t", "content-type": "application/json" },
    body: JSON.stringify({ tool, args }),
  });
  const body = (await response.json()) as { ok: boolean; result?: { details: unknown } };
  expect(body.ok, JSON.stringify(body)).toBe(true);
  return body.result?.details;
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resolveAgentHome } from "../../src/home/agent-home.ts";
import { servedAgent } from "../../src/memory/backend.ts";

test("preparations of syncs that are asked for at once don't get into each other's way", async () => {
  const folder = mkdtempSync(join(tmpdir(), "memq-backend-"));
  const sessions = join(folder, "state/agents/main/sessions");
  mkdirSync(join(folder, "ws"), { recursive: true });
  mkdirSync(sessions, { recursive: true });
  const turn = JSON.stringify({ type: "message", message: { role: "user", content: "hello there" } });
  const write = (turns: number): void => {
    for (let n = 0; n < 20; n++) writeFileSync(join(sessions, `s${n}.jsonl`), `${turn}\n`.repeat(turns));
  };
  write(1);
  const agent = await resolveAgentHome({
    workspace: join(folder, "ws"),
    stateDir: join(folder, "state"),
    config: { memory: { backend: "qmd", qmd: { sessions: { enabled: true } } } },
    env: { HOME: folder },
    cwd: folder,
    withKeys: false,
  });
  const { backend, prepareSync = () => Promise.resolve() } = await servedAgent(agent, folder);
  expect(backend).toBe("qmd");
  await prepareSync();
  write(2);
  await Promise.all(Array.from({ length: 8 }, prepareSync));
  expect(readdirSync(join(folder, "state/agents/main/qmd/sessions"))).toHaveLength(20);
});

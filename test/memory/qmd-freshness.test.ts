import { afterEach, expect, jest, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { resolveAgentHome } from "../../src/home/agent-home.ts";
import { servedAgent } from "../../src/memory/backend.ts";
import { keepQmdFresh } from "../../src/memory/qmd-freshness.ts";
import { temporaryFolder } from "../temporary.ts";

afterEach(() => void jest.useRealTimers());

test("updates are debounceMs apart, and what called for one earlier is not forgotten", async () => {
  const root = temporaryFolder();
  const workspace = join(root, "ws");
  mkdirSync(workspace);
  const configPath = join(root, "openclaw.json");
  const update = { interval: "0", embedInterval: "0", debounceMs: 1200 };
  writeFileSync(configPath, JSON.stringify({ memory: { backend: "qmd", qmd: { update } } }));
  const place = { workspace, stateDir: join(root, "state"), configPath, env: { HOME: root }, cwd: root };
  const agent = await servedAgent(await resolveAgentHome(place), root);

  jest.useFakeTimers();
  let updates = 0;
  let endedAt = 0;
  let done = Promise.withResolvers<void>();
  const keeper = keepQmdFresh(agent, {
    watch: false,
    update: async () => {
      updates++;
      await done.promise;
      endedAt = Date.now();
    },
    embed: () => Promise.resolve(),
    updatedAt: () => endedAt,
    exportedSize: () => 0,
    log: () => {},
  });
  const finish = async (): Promise<void> => {
    done.resolve();
    done = Promise.withResolvers();
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  };
  keeper.begin();
  keeper.outdated();
  jest.advanceTimersByTime(0);
  expect(updates).toBe(1);
  // One that is called for while another runs, and one after it: both are the next.
  keeper.outdated();
  await finish();
  keeper.outdated();
  jest.advanceTimersByTime(1199);
  expect(updates).toBe(1);
  jest.advanceTimersByTime(1);
  expect(updates).toBe(2);
  await finish();
  jest.advanceTimersByTime(60_000);
  expect(updates).toBe(2);
  // Long after the last one nothing has to be waited for, and for what was appended never.
  for (const call of [() => keeper.outdated(), () => keeper.appended()]) {
    const before = updates;
    call();
    jest.advanceTimersByTime(0);
    expect(updates).toBe(before + 1);
    await finish();
  }
  keeper.close();
});

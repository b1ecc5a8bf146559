// Whoever stands in for a home answers what it was asked, whenever that home can be used again.
import { afterEach, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MemoryEngine } from "../../src/memory/engine.ts";
import { untilUsable, withFallback } from "../../src/memory/fallback.ts";
import { openMemoryService } from "../../src/memory/service.ts";
import { temporaryFolder } from "../temporary.ts";

const root = temporaryFolder("fallback-");
const service = openMemoryService(
  { workspace: join(root, "ws"), stateDir: join(root, "state") },
  { live: false, watch: false, log: () => {} },
);
afterEach(async () => {
  await service.close();
  rmSync(root, { recursive: true, force: true });
});

/** Two engines of one agent: a home that fails while it shall, and a stand-in whose answers wait for `finish`. */
async function engines() {
  mkdirSync(join(root, "ws"), { recursive: true });
  writeFileSync(join(root, "ws/MEMORY.md"), "- The hedgehog is called Rod.\n");
  const engine = await service.engine();
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const seen = { isBroken: true, isClosed: false, closed: closed.promise };
  const home: MemoryEngine = {
    ...engine,
    search: (request) => (seen.isBroken ? Promise.reject(new Error("the disk is full")) : engine.search(request)),
  };
  const standIn: MemoryEngine = {
    ...engine,
    async search(request) {
      begun.resolve();
      await gate.promise;
      expect(seen.isClosed).toBe(false);
      return engine.search(request);
    },
    async close() {
      seen.isClosed = true;
      closed.resolve();
    },
  };
  return { home, standIn, seen, begun: begun.promise, finish: () => gate.resolve() };
}

test("a stand-in is not closed under a search that it still answers", async () => {
  const query = "hedgehog";
  const { home, standIn, seen, begun, finish } = await engines();
  const served = withFallback(home, async () => standIn);
  const slow = served.search({ query });
  await begun;
  seen.isBroken = false;
  await served.search({ query });
  finish();
  expect(await slow).toHaveProperty("results");
  await served.search({ query });
  await seen.closed;

  const other = await engines();
  let isUsable = false;
  const waiting = untilUsable(other.standIn, async () => (isUsable ? other.home : null));
  const first = waiting.search({ query });
  await other.begun;
  isUsable = true;
  other.seen.isBroken = false;
  await waiting.search({ query });
  expect(other.seen.isClosed).toBe(false);
  other.finish();
  expect(await first).toHaveProperty("results");
  await other.seen.closed;
});

// A whole index made through a service that misbehaves: complete or a clear error, no text lost, nothing embedded twice.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { identityOf } from "../../src/embed/identity.ts";
import type { EmbeddingProvider } from "../../src/embed/types.ts";
import type { Home } from "../../src/home/types.ts";
import { openIndex } from "../../src/store/open.ts";
import { missingVectorCounts } from "../../src/store/vectors.ts";
import { syncIndex } from "../../src/sync/sync.ts";
import { homeOf, tempFolder, writeNotes } from "../sync/helpers.ts";
import { fakeClock, KEY, opened, settingsFor, shortPatience } from "./harness.ts";
import { standIn, type Misbehaviour, type StandIn } from "./servers/stand-in.ts";
import { openAiWire } from "./servers/wires.ts";

const COUNT = 120;
let server: StandIn;
let home: Home;

beforeEach(() => {
  server = standIn(openAiWire);
  const root = tempFolder();
  const names = Array.from({ length: COUNT }, (_, i) => `note-${i}`);
  writeNotes(root, Object.fromEntries(names.map((name) => [`${name}.md`, `# ${name}\nwhat is known of ${name}.\n`])));
  home = homeOf(root);
});
afterEach(() => server.stop());

const provider = (attemptMs = 5000): Promise<EmbeddingProvider> =>
  opened(settingsFor({ provider: "openai", apiKey: KEY }), {
    fetch: server.fetch,
    clock: fakeClock(),
    patience: shortPatience(attemptMs),
  });

async function missing(embedder: EmbeddingProvider): Promise<number> {
  const index = openIndex(home.indexPath, { mode: "read" });
  try {
    return missingVectorCounts(index, identityOf(embedder, home.cutting)).passages;
  } finally {
    index.close();
  }
}

const notes = (): string[] => server.embedded.filter((text) => text !== "memory");

describe("a service that", () => {
  test.each([
    ["takes at most 16 texts", { maxItems: 16 }],
    ["answers 429 twice", { failFirst: { times: 2, status: 429, headers: { "Retry-After": "3" } } }],
    ["reorders", { reorder: true }],
    ["breaks the connection", { closeFirst: 2 }],
    ["does all of it", { maxItems: 16, failFirst: { times: 2, status: 429 }, reorder: true, closeFirst: 1 }],
  ] as [string, Misbehaviour][])("%s: complete, nothing twice", async (_what, misbehaviour) => {
    server.misbehave = misbehaviour;
    const embedder = await provider();
    const report = await syncIndex(home, { provider: embedder });
    expect(report.embedding).toEqual({ state: "complete" });
    expect(await missing(embedder)).toBe(0);
    expect(new Set(notes()).size).toBe(COUNT);
    expect(notes().length).toBe(COUNT);
    expect((await syncIndex(home, { provider: embedder })).embedded).toBe(0);
  });

  test.each([
    ["sends a vector of another length", { shortFor: "note-77." }],
    ["sends NaN", { notANumber: "note-77." }],
    ["refuses one text", { poison: "note-77." }],
  ] as [string, Misbehaviour][])("%s: the others are indexed, and it is said", async (_what, misbehaviour) => {
    server.misbehave = misbehaviour;
    const embedder = await provider();
    const report = await syncIndex(home, { provider: embedder });
    expect(report.embedding).toEqual({ state: "complete" });
    expect(report.warnings.join()).toContain("refused 1 text");
    expect(await missing(embedder)).toBe(1);
  });

  test.each([
    ["hangs", { hang: true }, "timed out"],
    ["sends one vector too few", { dropOne: true }, "malformed"],
    ["sends a page", { notJson: true }, "not JSON"],
    ["refuses the key", { failFirst: { times: 99, status: 401 } }, "401"],
  ] as [string, Misbehaviour, string][])("%s: a clear error, and keywords work", async (_what, misbehaviour, words) => {
    server.misbehave = misbehaviour;
    const report = await syncIndex(home, { provider: await provider(50) });
    expect(report.embedding.state).toBe("failed");
    expect(report.embedding.reason).toContain(words);
    expect(report.embedding.reason).not.toContain(KEY);
    expect(report.passages).toBe(COUNT);
  });

  test("sends an answer without an end: it is given up, and keywords work", async () => {
    server.misbehave.endless = true;
    const report = await syncIndex(home, { provider: await provider() });
    expect(report.embedding.state).toBe("failed");
    expect(report.embedding.reason).toContain("malformed response: the answer is longer than 64 MB");
    expect(report.passages).toBe(COUNT);
    expect(server.poured).toBeLessThan(server.asked.length * 100 * 2 ** 20);
  });

  test("is in the middle of it when we are killed: the next sync goes on from there", async () => {
    server.misbehave.maxItems = 8;
    Object.assign(home.embedding, { provider: "openai", explicit: true, concurrency: 1, apiKey: KEY });
    home.embedding.baseUrl = `${server.origin}/v1`;
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "sync-child.ts"), JSON.stringify(home)]);
    await server.reached(40);
    child.kill("SIGKILL");
    await child.exited;
    const before = notes().length;
    expect(before).toBeLessThan(COUNT);

    server.misbehave = {};
    const embedder = await opened(home.embedding);
    const report = await syncIndex(home, { provider: embedder });
    expect(report.embedding).toEqual({ state: "complete" });
    expect(await missing(embedder)).toBe(0);
    expect(new Set(notes()).size).toBe(COUNT);
    // Only what was answered and not yet written when the end came is asked for again.
    expect(notes().length - COUNT).toBeLessThanOrEqual(8);
  });

  test("fails in the middle: the next sync goes on from there", async () => {
    const embedder = await provider();
    const good = server.fetch;
    server.misbehave.maxItems = 16;
    let left = 6;
    server.fetch = (url, init) => (left-- > 0 ? good(url, init) : Promise.resolve(new Response("no", { status: 403 })));
    const half = await opened(settingsFor({ provider: "openai", apiKey: KEY, concurrency: 1 }), {
      fetch: (url, init) => server.fetch(url, init),
      clock: fakeClock(),
    });
    expect((await syncIndex(home, { provider: half })).embedding.state).toBe("failed");
    const before = notes().length;
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(COUNT);
    expect((await syncIndex(home, { provider: embedder })).embedding.state).toBe("complete");
    expect(notes().length).toBe(COUNT);
    expect(new Set(notes()).size).toBe(COUNT);
  });
});

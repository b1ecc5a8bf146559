// A service that takes requests and says nothing, from the start or from the middle on.
import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { identityOf } from "../../src/embed/identity.ts";
import type { OpenOptions } from "../../src/embed/registry.ts";
import type { EmbeddingProvider } from "../../src/embed/types.ts";
import { openIndex } from "../../src/store/open.ts";
import { missingVectorCounts } from "../../src/store/vectors.ts";
import { syncIndex } from "../../src/sync/sync.ts";
import { homeOf, tempFolder, writeNotes } from "../sync/helpers.ts";
import { failure, KEY, never, opened, settingsFor, shortPatience } from "./harness.ts";
import { standIn, type StandIn } from "./servers/stand-in.ts";
import { ollamaWire, openAiWire } from "./servers/wires.ts";

const FIRST_ANSWER_MS = 600;
const LOAD_MS = 900;
const TEXTS = Array.from({ length: 40 }, (_, i) => ({ text: `text number ${i} ${"x".repeat(600)}` }));

let server: StandIn;
beforeEach(() => {
  // Time stands still but for what a test lets pass: a slow machine is none that waits in vain.
  jest.useFakeTimers();
  server = standIn(openAiWire);
});
afterEach(async () => {
  await server.stop();
  jest.useRealTimers();
});

/** Waits `FIRST_ANSWER_MS` for the first answer and `attemptMs` for any other. */
function patient(attemptMs: number): Pick<OpenOptions, "patience"> {
  const { query, document } = shortPatience(attemptMs);
  return { patience: { query, document: { ...document, firstAnswerMs: FIRST_ANSWER_MS, loadMs: LOAD_MS } } };
}

const openAi = (attemptMs = 60_000): Promise<EmbeddingProvider> =>
  opened(settingsFor({ provider: "openai", apiKey: KEY }), { fetch: server.fetch, ...patient(attemptMs) });

/** Waits for what comes by itself: an answer over the network, not time, which stands still. */
async function until(isThere: () => boolean): Promise<void> {
  while (!isThere()) await new Promise((resolve) => void setImmediate(resolve));
}

/** Lets time pass once the server has been asked for so many vectors. */
async function passOnceAsked(requests: number, ms: number): Promise<void> {
  await until(() => server.asked.length >= requests);
  jest.advanceTimersByTime(ms);
}

/** What `promise` came to by now, after all that can come without time passing; undefined while it is open. */
async function soFar<T>(promise: Promise<T>): Promise<T | undefined> {
  const turns = async (): Promise<undefined> => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => void setImmediate(resolve));
  };
  return Promise.race([promise, turns()]);
}

describe("a service that never answered", () => {
  test("fails when the time for a first answer is over, its tries included, with its address and one text sent", async () => {
    server.misbehave.hang = true;
    const failed = failure((await openAi()).embedDocuments(TEXTS, never()));
    await passOnceAsked(1, FIRST_ANSWER_MS - 1);
    expect(await soFar(failed)).toBeUndefined();
    jest.advanceTimersByTime(1);
    const error = await failed;
    expect(error.message).toBe("https://api.openai.com took the request and gave no answer within 0.6 s.");
    expect(error.code).toBe("EMBED_TIMEOUT");
    expect(server.asked.map(({ body }) => (body as { input: unknown[] }).input.length)).toEqual([1]);
  });

  test("may be slow with every answer, when the first comes in time", async () => {
    server.misbehave.hangFor = "text number";
    const made = (await openAi()).embedDocuments(TEXTS, never());
    await passOnceAsked(1, FIRST_ANSWER_MS - 1);
    server.answerHeld();
    await passOnceAsked(2, 10 * FIRST_ANSWER_MS);
    server.release();
    const vectors = await made;
    expect(vectors.every((vector) => vector.length === 8)).toBe(true);
    expect(server.embedded).toHaveLength(TEXTS.length);
  });

  test("gets its usual time once it said that it is busy", async () => {
    server.misbehave.failFirst = { times: 1, status: 429, body: "busy", headers: { "Retry-After": "0" } };
    server.misbehave.hangFor = "text number";
    const work = (await openAi()).embedDocuments(TEXTS, never());
    await passOnceAsked(2, 10 * FIRST_ANSWER_MS);
    server.release();
    expect((await work).length).toBe(TEXTS.length);
  });

  test("is told apart from one that refuses the connection", async () => {
    server.misbehave.closeFirst = 99;
    const error = await failure((await openAi()).embedDocuments(TEXTS, never()));
    expect(error.message).toContain("closed the connection");
  });

  test("is waited for by a caller no longer than the caller wants", async () => {
    server.misbehave.hang = true;
    const failed = failure((await openAi()).embedDocuments(TEXTS, AbortSignal.timeout(200)));
    await passOnceAsked(1, 200);
    expect((await failed).message).not.toContain("took the request");
  });
});

const modelList = ({ url }: { url: URL }): Response | null =>
  url.pathname === "/v1/models" ? Response.json({ data: [{ id: "m" }] }) : null;

describe.each([
  ["ollama", ollamaWire],
  ["openai-compatible", { ...openAiWire, other: modelList }],
] as const)("a server on a desk (%s)", (provider, wire) => {
  const onDesk = (): Promise<EmbeddingProvider> =>
    opened(settingsFor({ provider, model: "m", baseUrl: `${server.origin}/v1` }), patient(60_000));

  /** Lets five sixths of the time for a first answer pass: then the server is asked whether it is there, and answers. */
  async function passWhileAlive(): Promise<void> {
    await until(() => server.asked.length > 0);
    const timers = jest.getTimerCount();
    jest.advanceTimersByTime((FIRST_ANSWER_MS * 5) / 6);
    await until(() => server.all.length > 1);
    // Then it is waited for anew, beside the limit of that question.
    await until(() => jest.getTimerCount() > timers);
  }

  test("that loads its model, and answers anything else meanwhile, is waited for", async () => {
    await server.stop();
    server = standIn(wire);
    server.misbehave.hangFor = "text number";
    const made = (await onDesk()).embedDocuments(TEXTS, never());
    await passWhileAlive();
    jest.advanceTimersByTime(LOAD_MS - FIRST_ANSWER_MS - 1);
    server.release();
    expect((await made).length).toBe(TEXTS.length);
  });

  test("that is there and never embeds fails when its time to load a model is over, with its model and one text sent", async () => {
    await server.stop();
    server = standIn(wire);
    server.misbehave.hang = true;
    const failed = failure((await onDesk()).embedDocuments(TEXTS, never()));
    await passWhileAlive();
    jest.advanceTimersByTime(LOAD_MS - FIRST_ANSWER_MS - 1);
    expect(await soFar(failed)).toBeUndefined();
    jest.advanceTimersByTime(1);
    const error = await failed;
    expect(error.message).toStartWith(
      `${server.origin} is there, but gave no vector of a first text within 0.9 s: "m" may be`,
    );
    expect(error.code).toBe("EMBED_TIMEOUT");
    expect(server.asked).toHaveLength(1);
  });

  test("that says nothing at all is not", async () => {
    await server.stop();
    server = standIn({ ...wire, other: () => new Promise(() => {}) });
    server.misbehave.hang = true;
    const failed = failure((await onDesk()).embedDocuments(TEXTS, never()));
    await passOnceAsked(1, FIRST_ANSWER_MS - 1);
    await until(() => server.all.length > 1);
    expect(await soFar(failed)).toBeUndefined();
    jest.advanceTimersByTime(1);
    expect((await failed).message).toBe(`${server.origin} took the request and gave no answer within 0.6 s.`);
  });
});

test("a server on a desk that knows no models and gives no vectors is not waited for", async () => {
  server.misbehave.hang = true;
  const settings = settingsFor({ provider: "openai-compatible", model: "m", baseUrl: `${server.origin}/v1` });
  const failed = failure((await opened(settings, patient(60_000))).embedDocuments(TEXTS, never()));
  await passOnceAsked(1, FIRST_ANSWER_MS);
  expect((await failed).message).toContain("gave no answer within 0.6 s");
});

test("a service of the internet that answers anything else loads nothing, and is not waited for longer", async () => {
  server.misbehave.hang = true;
  const failed = failure((await openAi()).embedDocuments(TEXTS, never()));
  await passOnceAsked(1, FIRST_ANSWER_MS);
  expect((await failed).message).toContain("gave no answer within 0.6 s");
  expect(server.all).toHaveLength(1);
});

test("a service that goes silent in the middle: what came before is kept, it ends, and its address is told", async () => {
  const root = tempFolder();
  const names = Array.from({ length: 120 }, (_, i) => `note-${i}`);
  writeNotes(root, Object.fromEntries(names.map((name) => [`${name}.md`, `# ${name}\nwhat is known of ${name}.\n`])));
  const home = homeOf(root);
  const provider = await openAi(150);
  server.misbehave.maxItems = 8;
  const silent = server.reached(40);
  let kept = 0;
  const synced = syncIndex(home, {
    provider,
    onProgress: ({ phase, done }) => void (kept = phase === "embed" ? done : 0),
  });
  await silent;
  await until(() => kept >= 33);
  let isOver = false;
  void synced.finally(() => (isOver = true));
  await until(() => {
    jest.advanceTimersByTime(150);
    return isOver;
  });
  const report = await synced;
  expect(report.embedding).toEqual({
    state: "failed",
    reason: "memory embeddings batch timed out after 0.2s: https://api.openai.com gives no answer.",
  });
  expect(report.embedded).toBeGreaterThanOrEqual(33);
  const index = openIndex(home.indexPath, { mode: "read" });
  expect(missingVectorCounts(index, identityOf(provider, home.cutting)).passages).toBe(120 - report.embedded);
  index.close();
});

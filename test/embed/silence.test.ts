// A service that takes requests and says nothing, from the start or from the middle on.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
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
const TEXTS = Array.from({ length: 40 }, (_, i) => ({ text: `text number ${i} ${"x".repeat(600)}` }));

let server: StandIn;
beforeEach(() => {
  server = standIn(openAiWire);
});
afterEach(() => server.stop());

/** Waits `FIRST_ANSWER_MS` for the first answer and `attemptMs` for any other, in real time. */
function patient(attemptMs: number): Pick<OpenOptions, "patience" | "clock"> {
  const { query, document } = shortPatience(attemptMs);
  return { patience: { query, document: { ...document, firstAnswerMs: FIRST_ANSWER_MS } } };
}

const openAi = (attemptMs = 60_000): Promise<EmbeddingProvider> =>
  opened(settingsFor({ provider: "openai", apiKey: KEY }), { fetch: server.fetch, ...patient(attemptMs) });

/** Milliseconds until `work` is done, and what it came to. */
async function timed<T>(work: Promise<T>): Promise<[number, T]> {
  const started = performance.now();
  const result = await work;
  return [performance.now() - started, result];
}

describe("a service that never answered", () => {
  test("fails when the time for a first answer is over, its tries included, with its address and one text sent", async () => {
    server.misbehave.hang = true;
    const [ms, error] = await timed(failure((await openAi()).embedDocuments(TEXTS, never())));
    expect(error.message).toBe("https://api.openai.com took the request and gave no answer within 0.6 s.");
    expect(error.code).toBe("EMBED_TIMEOUT");
    expect(ms).toBeLessThan(FIRST_ANSWER_MS + 400);
    expect(server.asked.map(({ body }) => (body as { input: unknown[] }).input.length)).toEqual([1]);
  });

  test("may be slow with every answer, when the first comes in time", async () => {
    server.misbehave.hangFor = "text number";
    setTimeout(() => server.release(), FIRST_ANSWER_MS / 2);
    const vectors = await (await openAi()).embedDocuments(TEXTS, never());
    expect(vectors.every((vector) => vector.length === 8)).toBe(true);
    expect(server.embedded).toHaveLength(TEXTS.length);
  });

  test("gets its usual time once it said that it is busy", async () => {
    server.misbehave.failFirst = { times: 1, status: 429, body: "busy", headers: { "Retry-After": "0" } };
    server.misbehave.hangFor = "text number";
    const provider = opened(settingsFor({ provider: "openai", apiKey: KEY }), {
      fetch: server.fetch,
      ...patient(60_000),
    });
    const work = (await provider).embedDocuments(TEXTS, never());
    setTimeout(() => server.release(), FIRST_ANSWER_MS + 400);
    expect((await work).length).toBe(TEXTS.length);
  });

  test("is told apart from one that refuses the connection", async () => {
    server.misbehave.closeFirst = 99;
    const error = await failure((await openAi()).embedDocuments(TEXTS, never()));
    expect(error.message).toContain("closed the connection");
  });

  test("is waited for by a caller no longer than the caller wants", async () => {
    server.misbehave.hang = true;
    const [ms, error] = await timed(failure((await openAi()).embedDocuments(TEXTS, AbortSignal.timeout(200))));
    expect(error.message).not.toContain("took the request");
    expect(ms).toBeLessThan(1_000);
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

  test("that loads its model, and answers anything else meanwhile, is waited for", async () => {
    await server.stop();
    server = standIn(wire);
    server.misbehave.hangFor = "text number";
    setTimeout(() => server.release(), FIRST_ANSWER_MS + 400);
    expect((await (await onDesk()).embedDocuments(TEXTS, never())).length).toBe(TEXTS.length);
  });

  test("that is there and never embeds fails when its time to load a model is over, with its model and one text sent", async () => {
    await server.stop();
    server = standIn(wire);
    server.misbehave.hang = true;
    const { patience } = patient(60_000);
    const settings = settingsFor({ provider, model: "m", baseUrl: `${server.origin}/v1` });
    const loading = { query: patience!.query, document: { ...patience!.document, loadMs: 900 } };
    const [ms, error] = await timed(
      failure((await opened(settings, { patience: loading })).embedDocuments(TEXTS, never())),
    );
    expect(error.message).toStartWith(
      `${server.origin} is there, but gave no vector of a first text within 0.9 s: "m" may be`,
    );
    expect(error.code).toBe("EMBED_TIMEOUT");
    expect(ms).toBeLessThan(1_300);
    expect(server.asked).toHaveLength(1);
  });

  test("that says nothing at all is not", async () => {
    await server.stop();
    server = standIn({ ...wire, other: () => new Promise(() => {}) });
    server.misbehave.hang = true;
    const [ms, error] = await timed(failure((await onDesk()).embedDocuments(TEXTS, never())));
    expect(error.message).toBe(`${server.origin} took the request and gave no answer within 0.6 s.`);
    expect(ms).toBeLessThan(FIRST_ANSWER_MS + 400);
  });
});

test("a server on a desk that knows no models and gives no vectors is not waited for", async () => {
  server.misbehave.hang = true;
  const provider = opened(settingsFor({ provider: "openai-compatible", model: "m", baseUrl: `${server.origin}/v1` }), {
    ...patient(60_000),
  });
  const error = await failure((await provider).embedDocuments(TEXTS, never()));
  expect(error.message).toContain("gave no answer within 0.6 s");
});

test("a service of the internet that answers anything else loads nothing, and is not waited for longer", async () => {
  server.misbehave.hang = true;
  const error = await failure((await openAi()).embedDocuments(TEXTS, never()));
  expect(error.message).toContain("gave no answer within 0.6 s");
  expect(server.all).toHaveLength(1);
});

test("a service that goes silent in the middle: what came before is kept, it ends, and its address is told", async () => {
  const root = tempFolder();
  const names = Array.from({ length: 120 }, (_, i) => `note-${i}`);
  writeNotes(root, Object.fromEntries(names.map((name) => [`${name}.md`, `# ${name}\nwhat is known of ${name}.\n`])));
  const home = homeOf(root);
  const provider = await openAi(150);
  server.misbehave.maxItems = 8;
  void server.reached(40);
  const report = await syncIndex(home, { provider });
  expect(report.embedding).toEqual({
    state: "failed",
    reason: "memory embeddings batch timed out after 0.2s: https://api.openai.com gives no answer.",
  });
  expect(report.embedded).toBeGreaterThanOrEqual(33);
  const index = openIndex(home.indexPath, { mode: "read" });
  expect(missingVectorCounts(index, identityOf(provider, home.cutting)).passages).toBe(120 - report.embedded);
  index.close();
});

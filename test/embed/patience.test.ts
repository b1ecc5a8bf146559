// How one request is tried again: what is waited for, how long, and when no more.
import { describe, expect, test } from "bun:test";
import { MemqError } from "../../src/errors.ts";
import type { EmbeddingSettings } from "../../src/home/types.ts";
import type { Fetch } from "../../src/embed/http.ts";
import { EmbedError } from "../../src/embed/errors.ts";
import { documentPatience, queryPatience, withRetries, type Patience } from "../../src/embed/send.ts";
import { failure, fakeClock, KEY, never, opened, settingsFor } from "./harness.ts";
import { standIn } from "./servers/stand-in.ts";
import { ollamaWire, openAiWire } from "./servers/wires.ts";

function tries(errors: EmbedError[], patience: Patience = documentPatience(false, undefined)) {
  const clock = fakeClock();
  let calls = 0;
  const attempt = (): Promise<string> => {
    const error = errors[calls++];
    return error === undefined ? Promise.resolve("done") : Promise.reject(error);
  };
  const result = withRetries(attempt, patience, "document", clock, { until: 0 }, never());
  return { result, clock, calls: () => calls };
}

const rate = (retryAfterMs?: number) => new EmbedError("rate", "429", { status: 429, retryAfterMs });
const broken = () => new EmbedError("transient", "No connection");
const repeated = (error: EmbedError) => Array.from({ length: 20 }, () => error);

describe("documents", () => {
  test("a rate limit is tried five times with doubling, jittered pauses", async () => {
    const { result, clock, calls } = tries(repeated(rate()));
    expect((await failure(result)).message).toBe("429");
    expect(calls()).toBe(5);
    expect(clock.pauses).toEqual([2_500, 5_000, 10_000, 20_000]);
  });

  test("never earlier than Retry-After asks", async () => {
    const { result, clock } = tries([rate(30_000), rate(7_000)]);
    expect(await result).toBe("done");
    expect(clock.pauses[0]).toBeGreaterThanOrEqual(30_000);
    expect(clock.pauses[1]).toBeGreaterThanOrEqual(7_000);
  });

  test("a wait beyond all patience is not begun", async () => {
    const { result, clock, calls } = tries(repeated(rate(3_600_000)));
    expect((await failure(result)).message).toBe("429");
    expect([calls(), clock.pauses.length]).toEqual([1, 0]);
  });

  test("a broken connection is tried three times", async () => {
    const { result, calls } = tries(repeated(broken()));
    await failure(result);
    expect(calls()).toBe(3);
  });

  test("a refusal and a wrong key are not tried again", async () => {
    for (const kind of ["refused", "fatal"] as const) {
      const { result, calls } = tries(repeated(new EmbedError(kind, "no")));
      await failure(result);
      expect(calls()).toBe(1);
    }
  });

  test("slowness after an error answer is still that error", async () => {
    const slow = () => new EmbedError("timeout", "timed out");
    expect((await failure(tries([rate(), ...repeated(slow())]).result)).code).toBe("EMBED_UNAVAILABLE");
    expect((await failure(tries(repeated(slow())).result)).code).toBe("EMBED_TIMEOUT");
  });
});

test("a question is not kept waiting for more than eight seconds of pauses", async () => {
  const { result, clock } = tries(repeated(rate()), queryPatience(false));
  await failure(result);
  expect(clock.pauses.reduce((sum, pause) => sum + pause, 0)).toBeLessThanOrEqual(8_000);
});

describe("requests at the same time", () => {
  test.each([
    ["four unless set", { provider: "openai" }, 4],
    ["as many as are set", { provider: "openai", concurrency: 2 }, 2],
    ["one at a time for a server on a desk", { provider: "ollama", baseUrl: "https://box.example.net" }, 1],
  ] as [string, Partial<EmbeddingSettings>, number][])("%s", async (_what, settings, most) => {
    const server = standIn(settings.provider === "ollama" ? ollamaWire : openAiWire);
    let running = 0;
    let seen = 0;
    const fetch: Fetch = async (url, init) => {
      seen = Math.max(seen, ++running);
      const response = await server.fetch(url, init);
      running--;
      return response;
    };
    const provider = await opened(settingsFor({ ...settings, apiKey: KEY }), { fetch });
    const texts = Array.from({ length: 12 }, (_, i) => ({ text: `${i} ${"x".repeat(6000)}` }));
    await provider.embedDocuments(texts, never());
    expect(seen).toBe(most);
    await server.stop();
  });
});

test("an error of whoever saves the vectors comes back as it is", async () => {
  const server = standIn(openAiWire);
  const provider = await opened(settingsFor({ provider: "openai", apiKey: KEY }), { fetch: server.fetch });
  const full = new MemqError("DISK_FULL", "The disk is full.");
  const saving = provider.embedDocuments([{ text: "a" }], never(), { onVectors: () => Promise.reject(full) });
  expect(await failure(saving)).toBe(full);
  await server.stop();
});

describe("what an answer means", () => {
  const answered = async (status: number, body: string, headers: Record<string, string> = {}) => {
    const server = standIn(openAiWire);
    const clock = fakeClock();
    server.misbehave.failFirst = { times: 99, status, body, headers };
    const provider = await opened(settingsFor({ provider: "openai", apiKey: KEY }), { fetch: server.fetch, clock });
    const error = await failure(provider.embedQuery("x", never()));
    await server.stop();
    return { error, asked: server.asked.length, clock };
  };

  test("a quota that is used up is not asked for again", async () => {
    const body = '{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}';
    const { error, asked } = await answered(429, body);
    expect([error.code, asked]).toEqual(["EMBED_UNAVAILABLE", 1]);
    expect(error.hint).toContain("quota");
  });

  test("the same with a wait is a rate limit", async () => {
    const body = '{"error":{"message":"exceeded your current quota","details":[{"retryDelay":"2s"}]}}';
    const { asked, clock } = await answered(429, body);
    expect(asked).toBe(3);
    expect(clock.pauses[0]).toBeGreaterThanOrEqual(2_000);
  });

  test("Retry-After as a date counts from now", async () => {
    const date = new Date(fakeClock().now() + 3_000).toUTCString();
    const { clock } = await answered(503, "maintenance", { "Retry-After": date });
    expect(clock.pauses[0]).toBeGreaterThanOrEqual(3_000);
    expect(clock.pauses[0]).toBeLessThan(4_000);
  });

  test("a long wait is told", async () => {
    const { error, asked } = await answered(429, "slow down", { "Retry-After": "7200" });
    expect([error.hint, asked]).toEqual(["The service asks to wait 7200 s.", 1]);
  });

  test("Google's 400 for a wrong key is about the key, and a note about keys is not", async () => {
    const google = await answered(400, '{"error":{"message":"API key not valid. Please pass a valid API key."}}');
    expect(google.error.code).toBe("EMBED_UNAVAILABLE");
    const note = await answered(400, '{"error":{"message":"input too odd: where I keep my api keys"}}');
    expect(note.error.code).toBe("EMBED_REJECTED");
  });

  test("an error inside a 200 is told in the service's words", async () => {
    const { error } = await answered(200, JSON.stringify({ error: { message: `no such model for ${KEY}` } }));
    expect(error.message).toContain("no such model");
    expect(error.message).not.toContain(KEY);
  });
});

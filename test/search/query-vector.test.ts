import { describe, expect, test } from "bun:test";
import type { EmbeddingProvider } from "../../src/embed/types.ts";
import { MemqError } from "../../src/errors.ts";
import { embedQueryBy, failureMakesUnavailable, textToEmbed } from "../../src/search/query-vector.ts";

function providerOf(embedQuery: EmbeddingProvider["embedQuery"]): EmbeddingProvider {
  return {
    id: "openai",
    local: false,
    model: "m",
    endpoint: "",
    dimensions: null,
    documentInputType: null,
    promptForm: "plain",
    fingerprint: "000000",
    maxInputBytes: 8000,
    media: false,
    embedQuery,
    embedDocuments: () => Promise.reject(new Error("not asked")),
    close: () => Promise.resolve(),
  };
}

const soon = (): number => Date.now() + 20;
const later = (): number => Date.now() + 5000;

describe("embedding a query by a deadline", () => {
  test("a vector, and one that says nothing", async () => {
    const found = await embedQueryBy(
      providerOf(async () => Float32Array.of(0, 1)),
      "q",
      later(),
    );
    expect(found).toEqual({ state: "found", vector: Float32Array.of(0, 1) });
    for (const blank of [new Float32Array(0), new Float32Array(3)]) {
      expect(
        await embedQueryBy(
          providerOf(async () => blank),
          "q",
          later(),
        ),
      ).toEqual({ state: "blank" });
    }
  });

  test("no answer is slowness, and the provider is told to stop", async () => {
    let stopped = false;
    const mute = providerOf((_, signal) => {
      signal.addEventListener("abort", () => (stopped = true));
      return new Promise(() => {});
    });
    expect(await embedQueryBy(mute, "q", soon())).toEqual({ state: "slow" });
    expect(stopped).toBe(true);
  });

  test("an abort passed on as an error is slowness", async () => {
    const passing = providerOf(
      (_, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")))),
    );
    expect(await embedQueryBy(passing, "q", soon())).toEqual({ state: "slow" });
    const timeout = providerOf(() => Promise.reject(new MemqError("EMBED_TIMEOUT", "No answer.")));
    expect(await embedQueryBy(timeout, "q", later())).toEqual({ state: "slow" });
  });

  test("an error answer is failure, at once or while it was tried again", async () => {
    const refused = new MemqError("EMBED_UNAVAILABLE", "Unauthorised.");
    expect(
      await embedQueryBy(
        providerOf(() => Promise.reject(refused)),
        "q",
        later(),
      ),
    ).toEqual({
      state: "failed",
      error: refused,
    });
    const trying = providerOf(
      (_, signal) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(refused))),
    );
    expect(await embedQueryBy(trying, "q", soon())).toEqual({ state: "failed", error: refused });
    const broken = await embedQueryBy(
      providerOf(() => Promise.reject(new TypeError("x is undefined"))),
      "q",
      later(),
    );
    expect(broken).toMatchObject({ state: "failed", error: { code: "EMBED_UNAVAILABLE", message: "x is undefined" } });
  });

  test("a query in capitals alone is lower-cased", () => {
    expect(textToEmbed("ROUTER VLAN 10")).toBe("router vlan 10");
    expect(textToEmbed("Router")).toBe("Router");
    expect(textToEmbed("部署方案")).toBe("部署方案");
  });
});

test("only a remote provider that was named makes a search unavailable", () => {
  const named = { provider: "openai", explicit: true, onFailure: "unavailable" } as const;
  expect(failureMakesUnavailable(named, { local: false })).toBe(true);
  expect(failureMakesUnavailable({ ...named, onFailure: "keyword" }, { local: false })).toBe(false);
  expect(failureMakesUnavailable({ ...named, explicit: false }, { local: false })).toBe(false);
  expect(failureMakesUnavailable({ ...named, provider: "auto" }, { local: false })).toBe(false);
  expect(failureMakesUnavailable({ ...named, provider: "local" }, { local: true })).toBe(false);
});

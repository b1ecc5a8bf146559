import { afterAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { rmSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import type { EmbeddingProvider } from "../../src/embed/types.ts";
import { MemqError } from "../../src/errors.ts";
import type { JsonObject } from "../../src/json.ts";
import { deepSearch } from "../../src/search/deep.ts";
import type { Hit, Reranker } from "../../src/search/types.ts";
import { type TestHome, hashedWords, requestOf, standIn, testHome } from "./homes.ts";

const homes: TestHome[] = [];
const opened = async (...home: Parameters<typeof testHome>): Promise<TestHome> => {
  homes.push(await testHome(...home));
  return homes.at(-1)!;
};
afterAll(() => homes.forEach((home) => home.close()));

const pathsOf = (hits: Hit[]): string[] => hits.map((hit) => hit.path);
const hybrid = (settings: JsonObject): { config: JsonObject } => ({
  config: { agents: { defaults: { memorySearch: { query: { hybrid: settings } } } } },
});

/** A provider under which a text has the cosine with the query that stands beside a piece of it; the query itself is axis 0. */
function cosines(query: string, table: Record<string, number>): EmbeddingProvider {
  const pieces = Object.entries(table);
  return standIn((text) => {
    const vector = new Float32Array(pieces.length + 1);
    const at = pieces.findIndex(([piece]) => text.includes(piece));
    const cosine = text === query ? 1 : (pieces[at]?.[1] ?? 0);
    vector[0] = cosine;
    if (cosine < 1) vector[at + 1] = Math.sqrt(1 - cosine ** 2);
    return vector;
  });
}

describe("the documented examples", () => {
  const router = {
    "memory/2026-02-10.md": "Configured Omada router, set VLAN 10 for IoT devices",
    "memory/2026-02-08.md": "Configured Omada router, moved IoT to VLAN 10",
    "memory/2026-02-05.md": "Set up AdGuard DNS on 192.168.10.2",
    "memory/network.md": "Router: Omada ER605, AdGuard: 192.168.10.2, VLAN 10: IoT",
  };
  const question = "home network setup";
  const likeness = cosines(question, { "set VLAN 10": 0.92, "moved IoT": 0.89, ER605: 0.85, "AdGuard DNS": 0.78 });
  const vectorsOnly = { enabled: false, temporalDecay: { enabled: false } };

  test("router notes without diversity: the near duplicate comes second", async () => {
    const home = await opened(router, { ...hybrid({ ...vectorsOnly, mmr: { enabled: false } }), provider: likeness });
    const { hits, mode } = await home.ask(question, { limit: 3 });
    expect(mode).toBe("vector");
    expect(pathsOf(hits)).toEqual(["memory/2026-02-10.md", "memory/2026-02-08.md", "memory/network.md"]);
    expect(hits.map((hit) => Number(hit.score.toFixed(4)))).toEqual([0.92, 0.89, 0.85]);
  });

  test("router notes with MMR, λ 0.7: three different pieces of information, scores unchanged", async () => {
    const home = await opened(router, {
      ...hybrid({ ...vectorsOnly, mmr: { enabled: true, lambda: 0.7 } }),
      provider: likeness,
    });
    const { hits } = await home.ask(question, { limit: 3 });
    expect(pathsOf(hits)).toEqual(["memory/2026-02-10.md", "memory/network.md", "memory/2026-02-05.md"]);
    expect(hits.map((hit) => Number(hit.score.toFixed(4)))).toEqual([0.92, 0.85, 0.78]);
  });

  const schedule = {
    "memory/2025-09-15.md": "Rod works Mon-Fri, standup at 10am, pairing at 2pm",
    "memory/2026-02-10.md": "Rod has standup at 14:15, 1:1 with Zeb at 14:45",
    "memory/2026-02-03.md": "Rod started new team, standup moved to 14:15",
  };
  const when = "what's Rod's work schedule?";
  const meaning = cosines(when, { "Mon-Fri": 0.91, "1:1 with Zeb": 0.82, "new team": 0.8 });
  const asOf = Date.parse("2026-02-10T00:00:00Z");

  test("work schedule with decay enabled: what is stale falls to the bottom", async () => {
    const settings = { enabled: false, temporalDecay: { enabled: true, halfLifeDays: 30 }, mmr: { enabled: false } };
    const home = await opened(schedule, { ...hybrid(settings), provider: meaning });
    const { hits } = await home.ask(when, { asOf, minScore: 0 });
    expect(pathsOf(hits)).toEqual(["memory/2026-02-10.md", "memory/2026-02-03.md", "memory/2025-09-15.md"]);
    expect(hits.map((hit) => Number(hit.score.toFixed(2)))).toEqual([0.82, 0.68, 0.03]);
  });

  test("work schedule without decay: the wording decides", async () => {
    const settings = { enabled: false, temporalDecay: { enabled: false }, mmr: { enabled: false } };
    const home = await opened(schedule, { ...hybrid(settings), provider: meaning });
    const { hits } = await home.ask(when, { asOf, minScore: 0 });
    expect(hits.map((hit) => Number(hit.score.toFixed(2)))).toEqual([0.91, 0.82, 0.8]);
  });

  test("the default nudge puts the newer of two like notes first", async () => {
    const home = await opened({
      "memory/2025-11-01.md": "The standup is at ten in the morning.",
      "memory/2026-02-09.md": "The standup is at ten in the morning!",
    });
    const { hits } = await home.ask("when is the standup", { asOf });
    expect(hits[0]?.path).toBe("memory/2026-02-09.md");
    expect(hits[1]!.score).toBeGreaterThan(0.8 * hits[0]!.score);
  });
});

describe("when the provider does not answer", () => {
  const notes = { "memory/network.md": "Router: Omada ER605 with VLAN 10" };

  test("a slow one costs only the vector leg", async () => {
    const slow = standIn(hashedWords, { embedQuery: () => new Promise(() => {}) });
    const home = await opened(notes, { provider: slow });
    // The provider never answers: who waited for it would not either.
    const answer = await home.ask("omada router", { deadline: Date.now() + 100 });
    expect(pathsOf(answer.hits)).toEqual(["memory/network.md"]);
    expect(answer).toMatchObject({ mode: "keyword", degraded: ["vector"] });
    expect(answer.notices.join(" ")).toContain("deadline");
    expect(answer.providerFailure).toBeUndefined();
    expect(answer.hits[0]?.vectorScore).toBeUndefined();
  });

  test("a note that is written anew while one is waited for is found as it is then", async () => {
    const embedded = Promise.withResolvers<Float32Array>();
    const home = await opened(notes, { provider: standIn(hashedWords, { embedQuery: () => embedded.promise }) });
    const asked = home.ask("omada router");
    home.write({ "memory/network.md": "Router: Omada ER605 with VLAN 20 now" });
    await home.sync();
    // What words had found before is all there is.
    embedded.reject(new MemqError("EMBED_UNAVAILABLE", "openai refused the key."));
    const { hits } = await asked;
    expect(hits).toMatchObject([{ path: "memory/network.md", text: "Router: Omada ER605 with VLAN 20 now" }]);
  });

  test("a failing one is named, for the caller to judge", async () => {
    const refused = new MemqError("EMBED_UNAVAILABLE", "openai refused the key.");
    const home = await opened(notes, { provider: standIn(hashedWords, { embedQuery: () => Promise.reject(refused) }) });
    const answer = await home.ask("omada router");
    expect(pathsOf(answer.hits)).toEqual(["memory/network.md"]);
    expect(answer).toMatchObject({ mode: "keyword", degraded: ["vector"], providerFailure: refused });
  });

  test("a zero vector leaves the keyword hits, and is no fault", async () => {
    const home = await opened(notes, {
      provider: standIn(hashedWords, { embedQuery: async () => new Float32Array(256) }),
    });
    expect(await home.ask("omada router")).toMatchObject({
      mode: "keyword",
      degraded: [],
      hits: [{ path: "memory/network.md" }],
    });
  });

  test("embeddings of another model are not asked", async () => {
    const home = await opened(notes, { provider: standIn(hashedWords) });
    home.provider!.model = "another-model";
    const answer = await home.ask("omada router");
    expect(answer.degraded).toEqual(["vector"]);
    expect(answer.notices.join(" ")).toContain("text-embedding-3-small");
  });

  test.each([
    [{ id: "voyage", endpoint: "https://voyage.example" }, "by openai, not by voyage"],
    [{ endpoint: "http://b.example/v1" }, "at {endpoint}, not at http://b.example/v1"],
    [{ dimensions: 64 }, "with {dimensions} dimensions, not with 64 dimensions"],
    [{ documentInputType: "passage" }, "of the input type none, not of the input type passage"],
    [{ promptForm: "gemma" }, 'with the prompts "plain", not with the prompts "gemma"'],
  ])("embeddings of a model were said to be of another of the same name: %j", async (changed, sentence) => {
    const home = await opened(notes, { provider: standIn(hashedWords) });
    const { model, endpoint, dimensions } = home.provider!;
    Object.assign(home.provider!, changed);
    const said = sentence.replace("{endpoint}", endpoint).replace("{dimensions}", String(dimensions ?? "all"));
    expect((await home.ask("omada router")).notices.join(" ")).toEndWith(`embeddings of ${model} ${said}.`);
  });

  test("without a provider nothing is missing", async () => {
    const home = await opened(notes);
    const answer = await home.ask("omada router");
    expect(answer).toMatchObject({ mode: "keyword", degraded: [], notices: [] });
    expect(answer.hits[0]?.score).toBeCloseTo(answer.hits[0]!.textScore!, 10);
  });
});

describe("fresh answers", () => {
  const notes = {
    "memory/gone.md": "The hedgehog protocol is secret.",
    "memory/kept.md": "The hedgehog protocol is public.",
    "memory/edited.md": "# Animals\nThe hedgehog protocol is old.",
  };

  test("a file that is gone is left out and counted", async () => {
    const home = await opened(notes);
    unlinkSync(join(home.workspace, "memory/gone.md"));
    const { hits, notices } = await home.ask("hedgehog protocol", { limit: 2 });
    expect(pathsOf(hits).sort()).toEqual(["memory/edited.md", "memory/kept.md"]);
    expect(notices.join(" ")).toContain("memory/gone.md");
    const kept = await home.ask("hedgehog protocol", { keepGone: true });
    expect(pathsOf(kept.hits)).toContain("memory/gone.md");
  });

  test("a changed file is shown as it is now, with its lines now", async () => {
    const home = await opened(notes);
    home.write({ "memory/edited.md": "# Animals\n\nFoxes.\n\nThe hedgehog protocol is new." });
    const hit = (await home.ask("hedgehog protocol")).hits.find(({ path }) => path === "memory/edited.md");
    expect(hit?.text).toContain("is new");
    expect(hit?.endLine).toBe(5);
  });

  test("a changed file that no longer matches is left out and counted", async () => {
    const home = await opened(notes);
    home.write({ "memory/edited.md": "# Animals\nFoxes only." });
    const { hits, notices } = await home.ask("hedgehog protocol");
    expect(pathsOf(hits)).not.toContain("memory/edited.md");
    expect(notices.join(" ")).toContain("memory/edited.md");
  });

  test("a whole folder that is gone answers nothing", async () => {
    const home = await opened(notes);
    rmSync(join(home.workspace, "memory"), { recursive: true });
    const { hits, notices } = await home.ask("hedgehog protocol");
    expect(hits).toEqual([]);
    expect(notices[0]).toContain("3 files");
  });
});

describe("what is asked for", () => {
  const notes = {
    "memory/2026-02-03.md": "---\ntags: [work]\n---\nThe router was moved.",
    "memory/2026-02-10.md": "The router was replaced.",
    "memory/router.md": "---\ntags: [work, home]\ndate: 2026-01-05\n---\nNotes about networks.",
    "memory/projects/x.md": "# X\nA router is mentioned here as well, among many other things of little interest.",
  };

  test("an empty query, no collection and no place find nothing", async () => {
    const home = await opened(notes);
    for (const over of [{ query: "  " }, { collections: [] }, { limit: 0 }]) {
      expect((await home.ask("router", over)).hits).toEqual([]);
    }
  });

  test("periods and tags", async () => {
    const home = await opened(notes);
    const at = (day: string): number => new Date(`${day}T12:00:00`).getTime();
    const inFebruary = await home.ask("router", { since: at("2026-02-01"), until: at("2026-02-28") });
    expect(pathsOf(inFebruary.hits).sort()).toEqual(["memory/2026-02-03.md", "memory/2026-02-10.md"]);
    const work = await home.ask("router", { tags: ["work"] });
    expect(pathsOf(work.hits).sort()).toEqual(["memory/2026-02-03.md", "memory/router.md"]);
    expect((await home.ask("router", { tags: ["nowhere"] })).hits).toEqual([]);
  });

  test("a file asked for by name comes first with score 1", async () => {
    const home = await opened(notes);
    for (const query of ["memory/router.md", "router.md", "router", "ROUTER"]) {
      const [first] = (await home.ask(query)).hits;
      expect([first?.path, first?.score]).toEqual(["memory/router.md", 1]);
    }
  });

  test("a strict minimum is kept, a configured one lets keyword hits fill the places", async () => {
    const home = await opened(notes);
    expect((await home.ask("router", { minScore: 1.1 })).hits.length).toBe(1);
    const profile = { ...home.home.search, minScore: 1.1 };
    expect((await home.ask("router", { profile })).hits.length).toBe(4);
  });

  test("one row per document, its best passage", async () => {
    const long = Array.from({ length: 120 }, (_, i) => `Line ${i} of the router manual says little.`).join("\n");
    const home = await opened({ ...notes, "memory/manual.md": `${long}\nThe router router router resets with a pin.` });
    const profile = { ...home.home.search, unit: "documents" as const, names: false };
    const { hits } = await home.ask("router pin", { profile, limit: 10 });
    expect(pathsOf(hits).filter((path) => path === "memory/manual.md").length).toBe(1);
    expect(hits[0]?.text).toContain("resets with a pin");
  });

  test("one long document does not crowd out the others", async () => {
    const long = Array.from({ length: 9000 }, (_, i) => `Router router router, entry ${i} of the log.`).join("\n");
    const home = await opened({ ...notes, "memory/log.md": long });
    const profile = { ...home.home.search, unit: "documents" as const, names: false };
    const { hits } = await home.ask("router", { profile, limit: 10 });
    expect(pathsOf(hits).toSorted()).toEqual(
      pathsOf((await home.ask("router", { profile, limit: 500 })).hits).toSorted(),
    );
    expect(hits.length).toBeGreaterThan(3);
  });

  test("the same question has the same answer", async () => {
    const home = await opened(notes, { provider: standIn(hashedWords) });
    const asOf = Date.now();
    const first = await home.ask("router notes", { asOf });
    for (let i = 0; i < 3; i++) expect(await home.ask("router notes", { asOf })).toEqual(first);
  });

  test("every part of a score is explained", async () => {
    const home = await opened(
      { "MEMORY.md": "- The router is an Omada. <!-- importance: 8 -->\n- Coffee is black. <!-- trigger: coffee -->" },
      { provider: standIn(hashedWords) },
    );
    const [hit] = (await home.ask("omada router", { explain: true })).hits;
    expect(hit).toMatchObject({
      importance: 8,
      text: "- The router is an Omada.",
      explain: { importance: 1.15, recency: 1, nameTier: 0 },
    });
    expect(hit!.score).toBeCloseTo(hit!.explain!.level * 1.15, 10);
    const [coffee] = (await home.ask("coffee")).hits;
    expect(coffee?.triggers).toEqual(["coffee"]);
  });

  test("an exact rare word and a quoted phrase come before loose matches", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [
        `memory/n${i}.md`,
        `Commit of the day ${i}: gateway fix, gateway build, gateway deploy.`,
      ]),
    );
    const home = await opened(
      {
        ...many,
        "memory/id.md": "Rolled back to a828e60 after lunch because of a long list of other things.",
        "memory/p.md": "We deploy the gateway on Fridays.",
      },
      { provider: standIn(hashedWords) },
    );
    expect((await home.ask("gateway commit a828e60 fix build")).hits[0]?.path).toBe("memory/id.md");
    expect((await home.ask('gateway commit fix "deploy the gateway"')).hits[0]?.path).toBe("memory/p.md");
  });
});

describe("whatever is asked", () => {
  const word = fc.constantFrom(
    "router",
    "gateway",
    "Rod",
    "10",
    '"deploy the',
    "-x",
    "部署",
    "*",
    "memory/a.md",
    "the",
    "",
  );
  const queries = fc.array(word, { maxLength: 5 }).map((words) => words.join(" "));

  test("scores are finite and within bounds, rows are distinct, the order is the same again", async () => {
    const home = await opened(
      {
        "MEMORY.md": "- Rod likes the gateway. <!-- importance: 10 -->\n- The router is old. <!-- importance: 1 -->",
        "memory/a.md": "Deploy the gateway on Friday, says Rod.",
        "memory/b.md": "Deploy the gateway on Friday, says Rod!",
        "memory/2026-02-10.md": "请求 之前讨论的部署方案, router 10",
      },
      { provider: standIn(hashedWords) },
    );
    const fusions = fc.constantFrom("relative" as const, "weighted" as const);
    await fc.assert(
      fc.asyncProperty(queries, fusions, fc.integer({ min: 1, max: 8 }), async (query, fusion, limit) => {
        const profile = { ...home.home.search, fusion, minScore: 0 };
        const asOf = Date.parse("2026-03-01T00:00:00Z");
        const { hits } = await home.ask(query, { profile, limit, asOf });
        expect(hits.length).toBeLessThanOrEqual(limit);
        expect(new Set(hits.map((hit) => hit.passageId)).size).toBe(hits.length);
        for (const hit of hits) expect(hit.score >= 0 && hit.score <= 1.25).toBe(true);
        expect((await home.ask(query, { profile, limit, asOf })).hits).toEqual(hits);
        const plain = await home.ask(query, {
          profile: { ...profile, mmr: { enabled: false, lambda: 1 } },
          limit,
          asOf,
        });
        expect(hits[0]?.passageId).toBe(plain.hits[0]?.passageId as number);
      }),
      { numRuns: 60 },
    );
  });

  test("a large limit takes as many candidates as it needs", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 260 }, (_, i) => [`memory/n${i}.md`, `Note ${i} about the router.`]),
    );
    const home = await opened(many);
    expect((await home.ask("router", { limit: 1000 })).hits.length).toBe(260);
  });

  test("vectors alone that can't be had are replaced by keywords", async () => {
    const slow = standIn(hashedWords, { embedQuery: () => new Promise(() => {}) });
    const home = await opened(
      { "memory/a.md": "The router is old." },
      { ...hybrid({ enabled: false }), provider: slow },
    );
    const answer = await home.ask("router", { deadline: Date.now() + 30 });
    expect(answer).toMatchObject({ mode: "keyword", degraded: ["vector"], hits: [{ path: "memory/a.md" }] });
  });

  test("a reranker has the last word, or is named when it has none", async () => {
    const home = await opened({ "memory/a.md": "router router router", "memory/b.md": "A router is an aside here." });
    const likesB = async (_: string, texts: string[]): Promise<number[]> =>
      texts.map((text) => (text.includes("aside") ? 1 : 0));
    const ask = (rerank: Reranker) => {
      const { query, ...request } = requestOf(home.home, "a router");
      return deepSearch(home, { ...request, document: { kind: "plain", query }, rrf: false, rerank });
    };
    const liked = await ask(likesB);
    expect(liked.degraded).toEqual([]);
    expect(liked.hits.map((hit) => hit.score)).toEqual([0.75, 0.75 / 2 + 0.25]);
    const broken = await ask(() => Promise.reject(new Error("no model")));
    expect(broken.degraded).toEqual(["rerank"]);
    expect(broken.hits.length).toBe(2);
  });

  test("a file of two collections is shown once", async () => {
    const home = await opened(
      { "memory/projects/a.md": "The router is old.", "memory/b.md": "Nothing." },
      { config: { agents: { defaults: { memorySearch: { extraPaths: ["memory/projects"] } } } } },
    );
    expect((await home.ask("router")).hits.length).toBe(1);
  });
});

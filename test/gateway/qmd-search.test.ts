// How the qmd backend searches: `memory.qmd.searchMode`, with models, without them, and with models that don't answer.
import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { hostsOf, models } from "../llama/models-folder.ts";
import { endAgents, openAgent, startEmbedder } from "./qmd-agent.ts";

// Real models are loaded here, perhaps on a busy machine.
setDefaultTimeout(40_000);
afterEach(endAgents);

const NOTES = {
  "MEMORY.md": "# Long-term\n\n- The router sits in the hall.\n",
  "memory/cat.md": "# Cat\n\nThe cat sleeps on the sofa all day.\n",
  "memory/bread.md": "# Bread\n\nSourdough needs flour, water, salt and twelve hours.\n",
  "memory/revenue.md": "# Revenue\n\nQuarterly revenue grew by nine percent.\n",
};

const UPDATE = { interval: "0", debounceMs: 0, onBoot: false };

describe("a service that embeds", () => {
  const embedder = startEmbedder();
  afterAll(() => embedder.stop());
  const open = async (searchMode: string, limits: object = {}) => {
    embedder.mood = "well";
    const agent = await openAgent({ notes: NOTES, env: embedder.env, qmd: { searchMode, limits, update: UPDATE } });
    await agent.client.call("memory.index");
    return agent;
  };

  test("search asks keywords alone", async () => {
    const agent = await open("search");
    const before = embedder.requests;
    expect(await agent.search({ query: "cat sofa" })).toMatchObject({ mode: "keyword", provider: "none" });
    expect(embedder.requests).toBe(before);
  });

  test("vsearch asks meaning alone, and answers only with what is near", async () => {
    const agent = await open("vsearch");
    const { results, mode, debug } = await agent.search({ query: "the cat sleeps on a sofa", explain: true });
    expect(mode).toBe("vector");
    expect(debug).toMatchObject({ backend: "qmd", configuredMode: "vsearch", effectiveMode: "vector" });
    expect(results[0]).toMatchObject({ path: "memory/cat.md", vectorScore: expect.any(Number) });
    for (const { score } of results) expect(score).toBeGreaterThanOrEqual(0.3);
    expect(await agent.paths({ query: "the cat sleeps on a sofa", minScore: 0 })).toHaveLength(4);
  });

  test("query asks both, and keeps to what a call leaves out", async () => {
    const agent = await open("query");
    expect(await agent.paths({ query: "cat sofa", until: "2000-01-01" })).toEqual([]);
    const { results, mode } = await agent.search({ query: "cat sofa" });
    expect(mode).toBe("hybrid");
    expect(results[0]).toMatchObject({ path: "memory/cat.md", vectorScore: expect.any(Number) });
  });

  test.each(["vsearch", "query"])(
    "%s falls back to keywords in time when it does not answer, and says so",
    async (mode) => {
      const agent = await open(mode, { timeoutMs: 600 });
      embedder.mood = "hanging";
      // The caller would wait longer than the test may take.
      const answer = await agent.search({ query: "cat sofa", deadlineMs: 600_000 });
      expect(answer).toMatchObject({ mode: "keyword", degraded: ["vector"], warning: expect.any(String) });
      expect(answer.results[0].path).toBe("memory/cat.md");
    },
  );

  test("a word with a hyphen before it and a quoted phrase are words here", async () => {
    const agent = await open("query");
    const paths = await agent.paths({ query: '-cat "bread of rye"' });
    expect(paths).toContain("memory/cat.md");
    expect(paths).toContain("memory/bread.md");
  });
});

describe("models on this machine", () => {
  const env = {
    QMD_EMBED_MODEL: models.embed,
    QMD_RERANK_MODEL: models.rank,
    QMD_GENERATE_MODEL: models.expand,
    MEMQ_MODEL_THREADS: "1",
    MEMQ_MODEL_IDLE_MS: "20000",
  };
  const folders: string[] = [];
  afterAll(() => {
    for (const pid of folders.flatMap(hostsOf)) process.kill(pid, "SIGTERM");
  });
  const open = async (qmd: object) => {
    const agent = await openAgent({
      notes: NOTES,
      env,
      qmd: { searchMode: "query", limits: { timeoutMs: 600_000 }, update: UPDATE, ...qmd },
      prepare({ stateDir }) {
        const folder = join(stateDir, "agents/main/qmd/xdg-cache/qmd/models");
        mkdirSync(folder, { recursive: true });
        folders.push(folder);
      },
    });
    expect((await agent.client.call("memory.index")).embedded).toBeGreaterThan(0);
    return agent;
  };

  test("query asks in other words, judges again, and does without a model that does not answer", async () => {
    const agent = await open({});
    const query = "where does the cat sleep";
    const answer = await agent.search({ query, explain: true });
    expect(answer).toMatchObject({ mode: "hybrid" });
    expect(answer.degraded).toBeUndefined();
    expect(answer.results[0].explain.rerank).toBeGreaterThan(0);

    const hosts = hostsOf(folders.at(-1) ?? "");
    expect(hosts).not.toEqual([]);
    for (const pid of hosts) process.kill(pid, "SIGSTOP");
    try {
      const degraded = await agent.search({ query: "which animal is on a sofa", deadlineMs: 1500 });
      expect(degraded).toMatchObject({ mode: "keyword" });
      expect(degraded.degraded.toSorted()).toEqual(["expansion", "rerank", "vector"]);
      expect(degraded.results[0].path).toBe("memory/cat.md");
    } finally {
      for (const pid of hosts) process.kill(pid, "SIGCONT");
    }
  });

  test("rerank: false judges nothing again", async () => {
    const agent = await open({ rerank: false });
    const { results, degraded } = await agent.search({ query: "where does the cat sleep", explain: true });
    expect(degraded).toBeUndefined();
    expect(results[0].explain.rerank).toBeUndefined();
  });
});

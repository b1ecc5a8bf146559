import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { llmCacheKey } from "../../src/store/cache.ts";
import { hashedWords } from "../search/homes.ts";
import { hostsOf, models } from "../llama/models-folder.ts";
import { collectionsYaml, qmdHome, type QmdTestHome } from "./homes.ts";
import { memq } from "../cli/program.ts";

// Real models are loaded here, perhaps on a busy machine.
setDefaultTimeout(30_000);

const NOTES = {
  "notes/router.md": "# Router\n\nThe router sits in the hall and has VLAN 10 for the cameras.\n",
  "notes/bread.md": "# Bread\n\nSourdough needs flour, water, salt and twelve hours.\n",
  "notes/cat.md": "# Cat\n\nThe cat sleeps on the sofa all day.\n",
  "notes/revenue.md": "# Revenue\n\nQuarterly revenue grew by nine percent.\n",
};

let home: QmdTestHome;
beforeAll(async () => {
  home = await qmdHome(NOTES);
});
afterAll(() => home.remove());

describe("a query document", () => {
  const mistakes: [string, string][] = [
    [
      "lex: a\nexpand: b",
      "Line 2 starts with expand:, but query documents cannot mix expand with typed lines. Submit a single expand query instead.",
    ],
    ["expand:", "expand: query must include text."],
    ["intent: a\nintent: b\nlex: c", "Line 2: only one intent: line is allowed per query document."],
    ["lex: a\nintent:", "Line 2: intent: must include text."],
    ["lex:", "Line 1 (lex:) must include text."],
    [
      "lex: a\n\nplain",
      "Line 3 is missing a lex:/vec:/hyde:/intent: prefix. Each line in a query document must start with one.",
    ],
    ["intent: a", "intent: cannot appear alone. Add at least one lex:, vec:, or hyde: line."],
    ['lex: a "b', 'Line 1 (lex): Lex query has an unmatched double quote ("). Add the closing quote or remove it.'],
    ["vec: a -b", "Line 1 (vec): Negation (-term) is not supported in vec/hyde queries. Use lex for exclusions."],
  ];
  test.each(mistakes)("%j is refused in qmd's words", async (query, sentence) => {
    const { parseQueryDocument } = await import("../../src/search/query-document.ts");
    expect(() => parseQueryDocument(query)).toThrow(sentence);
  });

  test.each(["\u2028", "\u2029", "\r"])("a typed line that holds %j was said to have no prefix", async (mark) => {
    const { parseQueryDocument } = await import("../../src/search/query-document.ts");
    expect(parseQueryDocument(`lex: router${mark}hall\nvec: cat`)).toEqual({
      kind: "typed",
      searches: [
        { type: "lex", query: `router${mark}hall` },
        { type: "vec", query: "cat" },
      ],
    });
    expect((await home.json("query", `lex: router${mark}hall`, "--json")).map(({ path }) => path)).toEqual([
      "router.md",
    ]);
  });

  test("is read from the command line, and a mistake is exit code 1", async () => {
    expect(await home.run("query", "vec: a -b")).toEqual({
      stdout: "",
      stderr: `${mistakes.at(-1)?.[1]}\n`,
      exitCode: 1,
    });
    const rows = await home.json("query", "intent: networks\nlex: router\nlex: hall", "--json");
    expect(rows.map(({ path }) => path)).toEqual(["router.md"]);
  });

  test("hundreds of typed lines kept a search busy for a minute: the first count, and that is said", async () => {
    const lines = ["lex: router", ...Array.from({ length: 900 }, () => "lex: nowhere"), "lex: bread"];
    const answer = await home.run("query", lines.join("\n"), "--json");
    expect(JSON.parse(answer.stdout)).toMatchObject([{ path: "router.md" }]);
    expect(answer.stderr).toContain("The query is long: its first 32 lines were searched for.");
  });
});

describe("without embeddings and models", () => {
  test("pain 17: query answers by keywords with one notice, vsearch with nothing", async () => {
    const notice = "Warning: 4 documents (100%) need embeddings. Run 'memq embed' for better results.\n";
    const query = await home.run("query", "where is the router?", "--json");
    expect(query).toMatchObject({ stderr: notice, exitCode: 0 });
    expect(JSON.parse(query.stdout)[0]).toMatchObject({ path: "router.md", line: 1 });
    expect(await home.run("vsearch", "router", "--json")).toEqual({ stdout: "[]\n", stderr: notice, exitCode: 0 });
    expect((await home.run("deep-search", "router", "--files")).stdout).toContain("qmd://notes/router.md");
  });

  test("an index whose newest document is two weeks old is called so, by query and vsearch alone", async () => {
    const old = await qmdHome(NOTES, { sync: false });
    const change = (path: string, daysAgo: number): void => {
      const at = new Date(Date.now() - daysAgo * 86_400_000);
      utimesSync(join(old.root, path), at, at);
    };
    for (const path of Object.keys(NOTES)) change(path, 20);
    change("notes/cat.md", 15.5);
    await old.sync();
    const tip = "Tip: Index last updated 15 days ago. Run 'memq update' to refresh.\n";
    for (const command of ["query", "vsearch"]) expect((await old.run(command, "router")).stderr).toEndWith(`\n${tip}`);
    expect((await old.run("search", "router")).stderr).toBe("");
    old.write({ "notes/new.md": "# New\n\nThirteen days old.\n" });
    change("notes/new.md", 13.9);
    await old.sync();
    expect((await old.run("query", "router")).stderr).not.toContain("last updated");
    old.remove();
  });

  test("reciprocal rank fusion scores by place, as qmd does without reranking", async () => {
    const rows = await home.json("query", "router cat", "--json", "--fusion", "rrf", "--explain");
    expect(rows.map(({ score }) => score)).toEqual([1, 0.5]);
    const { explain } = rows[0] as { explain: { rrf: { totalScore: number; contributions: object[] } } };
    expect(explain.rrf.totalScore).toBeCloseTo(2 / 61 + 0.05, 12);
    expect(explain.rrf.contributions).toMatchObject([{ source: "fts", queryType: "original", rank: 1, weight: 2 }]);
  });
});

test("an explanation names the rule that was used, and keeps qmd's shape under any", async () => {
  const explained = async (...more: string[]) => {
    const [row] = (await home.json("query", "router cat", "--json", "--explain", ...more)) as {
      score: number;
      explain: { rrf: { rank: number; contributions: object[] }; fusion: { rule: string; totalScore: number } };
    }[];
    return { ...row?.explain, score: row?.score ?? 0 };
  };
  for (const [rule, ...more] of [["relative"], ["weighted", "--fusion", "weighted"]]) {
    const { rrf, fusion, score } = await explained(...more);
    expect(rrf).toMatchObject({ rank: 1, contributions: [{ source: "fts", rank: 1 }] });
    expect(fusion?.rule).toBe(rule ?? "");
    expect(fusion?.totalScore).toBeCloseTo(score, 2);
    const { stdout } = await home.run("query", "router cat", "--explain", ...more);
    expect(stdout).toContain(`  Fusion: ${rule} total=`);
    expect(stdout).not.toContain("RRF");
  }
  const { rrf, fusion } = await explained("--fusion", "rrf");
  expect(fusion?.rule).toBe("rrf");
  expect(Object.keys(rrf ?? {})).toContain("topRankBonus");
});

describe("with a service that embeds", () => {
  let hanging = false;
  let pauseMs = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      if (hanging) return new Promise<Response>(() => {});
      await Bun.sleep(pauseMs);
      const { input } = (await request.json()) as { input: string | string[] };
      const data = [input].flat().map((text, index) => ({ index, embedding: [...hashedWords(text)] }));
      return Response.json({ data });
    },
  });
  let embedded: QmdTestHome;
  beforeAll(async () => {
    embedded = await qmdHome(NOTES, {
      env: { QMD_EMBED_MODEL: `http://127.0.0.1:${server.port}/v1#stand-in` },
      sync: { embed: true },
    });
  });
  afterEach(() => {
    hanging = false;
    pauseMs = 0;
  });
  afterAll(async () => {
    embedded.remove();
    await server.stop(true);
  });

  test("pain 41: query is hybrid, and explains which list found what", async () => {
    const [row] = (await embedded.json("query", "cat sofa", "--json", "--explain")) as {
      path: string;
      explain: { ftsScores: number[]; vectorScores: number[]; rrf: { contributions: { source: string }[] } };
    }[];
    expect(row?.path).toBe("cat.md");
    expect(row?.explain.rrf.contributions.map(({ source }) => source)).toEqual(["fts", "vec"]);
    expect(row?.explain.vectorScores).toHaveLength(1);
    const [found] = await embedded.json("vsearch", "the cat sleeps on the sofa", "--json");
    expect(found).toMatchObject({ path: "cat.md" });
    expect((await embedded.json("vsearch", "cat sofa", "--json", "--min-score", "0")).length).toBe(4);
  });

  test("pain 18: that gives no answer, query answers by keywords, and says that it is degraded", async () => {
    hanging = true;
    const outcome = await embedded.run("query", "router hall", "--json");
    expect(JSON.parse(outcome.stdout)).toMatchObject([{ path: "router.md" }]);
    expect(outcome).toMatchObject({ exitCode: 0 });
    expect(outcome.stderr).toStartWith("Degraded answer, without vector. Searched by keywords only:");
  });

  test("that is slower than --deadline, vsearch stands keywords in", async () => {
    hanging = true;
    // Without the option it would wait for ten minutes.
    const env = { ...embedded.env, MEMQ_DEADLINE_MS: "600000" };
    const outcome = await memq(["vsearch", "router hall", "--json", "--deadline", "700"], { env, cwd: embedded.root });
    expect(JSON.parse(outcome.stdout)).toMatchObject([{ path: "router.md" }]);
    expect(outcome.stderr).toStartWith("Degraded answer, without vector.");
  });

  test("a deadline beyond what a timer can run was over at once", async () => {
    pauseMs = 200;
    const years = String(Number.MAX_SAFE_INTEGER);
    const outcome = await embedded.run("vsearch", "the cat sleeps on the sofa", "--json", "--deadline", years);
    expect(outcome.stderr).not.toContain("Degraded");
    expect(JSON.parse(outcome.stdout)[0]).toMatchObject({ path: "cat.md" });
  });
});

describe("with models of its own", () => {
  let own: QmdTestHome;
  let modelsFolder = "";
  const rows = (sql: string): unknown[] => {
    const db = new Database(own.indexPath, { readonly: true });
    const found = db.query(sql).all();
    db.close();
    return found;
  };
  beforeAll(async () => {
    process.env["MEMQ_MODEL_THREADS"] = "1";
    process.env["MEMQ_MODEL_IDLE_MS"] = "20000";
    const yaml = `models:\n  embed: ${models.embed}\n  rerank: ${models.rank}\n  generate: ${models.expand}\n`;
    own = await qmdHome(NOTES, {
      yaml: collectionsYaml(["notes"], yaml),
      env: { MEMQ_MODEL_THREADS: "1", MEMQ_MODEL_IDLE_MS: "20000", MEMQ_DEADLINE_MS: "600000" },
      sync: false,
    });
    modelsFolder = join(own.env["XDG_CACHE_HOME"] ?? "", "qmd/models");
    mkdirSync(modelsFolder, { recursive: true });
    await own.sync({ embed: true });
  });
  afterAll(() => {
    for (const pid of hostsOf(modelsFolder)) process.kill(pid, "SIGTERM");
    own.remove();
  });

  test("query expands, searches by meaning and reranks, and asks no model twice", async () => {
    const first = await own.json("query", "where does the cat sleep", "--json", "--explain");
    const [row] = first as {
      explain: { rerankScore: number; blendedScore: number; rrf: { contributions: { queryType: string }[] } };
    }[];
    expect(row?.explain.rerankScore).toBeGreaterThan(0);
    expect(row?.explain.rrf.contributions.map(({ queryType }) => queryType)).toContain("original");
    const kept = rows("SELECT hash, result FROM llm_cache ORDER BY hash");
    expect(kept.length).toBeGreaterThan(1);
    const again = await own.json("query", "where does the cat sleep", "--json", "--explain");
    expect(again).toEqual(first);
    expect(rows("SELECT hash, result FROM llm_cache ORDER BY hash")).toEqual(kept);
  });

  test("an intent keeps the expansion, no reranking leaves the fused score", async () => {
    const outcome = await own.run(
      "query",
      "cat sleeps sofa day",
      "--json",
      "--no-rerank",
      "--intent",
      "pets",
      "--explain",
    );
    const [row] = JSON.parse(outcome.stdout) as { explain: { rerankScore: number } }[];
    expect(row?.explain.rerankScore).toBe(0);
    expect(outcome.stderr).not.toContain("skipping expansion");
  });

  test("vsearch looks for other words too, keeps what the model said, and answers as it would without a model if that says nothing", async () => {
    const asked = "warm place of the kitten";
    const before = rows("SELECT hash FROM llm_cache").length;
    const first = await own.json("vsearch", asked, "--json", "--min-score", "0");
    const kept = rows("SELECT hash, result FROM llm_cache");
    expect(kept.length).toBe(before + 1);
    expect(await own.json("vsearch", asked, "--json", "--min-score", "0")).toEqual(first);
    // What the model is made to have said: nothing, and then the words of another note.
    const withVariants = async (variants: object[]) => {
      const db = new Database(own.indexPath);
      const key = llmCacheKey("expandQuery", { query: asked, model: models.expand });
      expect(
        db.query("UPDATE llm_cache SET result = ? WHERE hash = ?").run(JSON.stringify(variants), key).changes,
      ).toBe(1);
      db.close();
      const found = await own.json("vsearch", asked, "--json", "--min-score", "0");
      return new Map(found.map(({ path, score }) => [String(path), Number(score)]));
    };
    const plain = await withVariants([{ type: "lex", query: "router" }]);
    const varied = await withVariants([{ type: "vec", query: NOTES["notes/router.md"] }]);
    expect([...varied.keys()].toSorted()).toEqual([...plain.keys()].toSorted());
    for (const [path, score] of plain) expect(varied.get(path)).toBeGreaterThanOrEqual(score);
    expect(varied.get("router.md")).toBeGreaterThan(plain.get("router.md") ?? 1);
  });

  test("bench also measures all stages together", async () => {
    own.write({
      "fixture.json": JSON.stringify({ queries: [{ query: "where does the cat sleep", expected_files: ["cat.md"] }] }),
    });
    const { summary } = JSON.parse((await own.run("bench", "fixture.json", "--json")).stdout) as { summary: object };
    expect(Object.keys(summary)).toEqual(["bm25", "vector", "hybrid", "full"]);
    expect(summary).toMatchObject({ full: { avg_recall: 1 } });
  });

  test("pain 16: a host that is stopped costs only what it would have added", async () => {
    const hosts = hostsOf(modelsFolder);
    expect(hosts).not.toEqual([]);
    for (const pid of hosts) process.kill(pid, "SIGSTOP");
    try {
      const outcome = await own.run("query", "router camera", "--json", "--deadline", "3000", "--intent", "home");
      expect(JSON.parse(outcome.stdout)[0]).toMatchObject({ path: "router.md" });
      expect(outcome.stderr).toContain("Degraded answer, without expansion and vector");
      expect(outcome.exitCode).toBe(0);
    } finally {
      for (const pid of hosts) process.kill(pid, "SIGCONT");
    }
  });
});

test("a model that is named but is not here is no silent way to a lesser answer", async () => {
  const missing = join(home.root, "missing.gguf");
  const models = `models:\n  embed: none\n  rerank: voyage:rerank-2\n  generate: ${missing}\n`;
  const own = await qmdHome(NOTES, { yaml: collectionsYaml(["notes"], models) });
  const { stdout, stderr } = await own.run("query", "router camera", "--json");
  const unasked = await own.run("query", "lex: router", "--json", "--no-rerank");
  own.remove();
  expect(JSON.parse(stdout)).not.toEqual([]);
  expect(stderr).toContain(
    "Degraded answer, without expansion and rerank. " +
      `Not expanded: the model ${missing} is not on this machine. Not reranked: voyage:rerank-2 is no local model.`,
  );
  expect(unasked.stderr).not.toContain("Not ");
});

test("a model file that is none is named by what it was to do, and the search is answered", async () => {
  const broken = join(home.root, "broken.gguf");
  await Bun.write(broken, "no model at all");
  const models = `models:\n  embed: none\n  rerank: ${broken}\n  generate: ${broken}\n`;
  const own = await qmdHome(NOTES, { yaml: collectionsYaml(["notes"], models) });
  const { stdout, stderr } = await own.run("query", "is there something about days and revenue and water", "--json");
  own.remove();
  expect(JSON.parse(stdout)).not.toEqual([]);
  expect(stderr).toContain(`Not expanded: ${broken} is not a GGUF model.`);
  expect(stderr).toContain(`Not reranked: ${broken} is not a GGUF model.`);
});

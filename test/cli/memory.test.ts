import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../temporary.ts";
import { memq, memqCommand, childEnv } from "./program.ts";

let root = "";
let place: string[] = [];
const file = (path: string, text: string | Uint8Array): void => writeFileSync(join(root, path), text);

beforeAll(() => {
  root = temporaryFolder("cli-");
  mkdirSync(join(root, "ws/memory"), { recursive: true });
  file("ws/MEMORY.md", "# Long-term\n\n- Zeb is Rod's manager.\n- Rod prefers TypeScript.\n");
  file("ws/memory/2026-02-10.md", "# Network\nThe Omada router has VLAN 10 for the cameras.\n");
  place = ["--workspace", join(root, "ws"), "--state-dir", join(root, "state")];
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("memq memory", () => {
  test("search indexes first when nothing is indexed yet, and prints text or JSON", async () => {
    const json = await memq(["memory", "search", "who is the manager?", "--json", ...place]);
    const [first] = JSON.parse(json.stdout).results;
    expect(first).toMatchObject({
      path: "MEMORY.md",
      startLine: 3,
      endLine: 3,
      source: "memory",
      citation: "MEMORY.md#L3",
    });
    expect(first.snippet).toBe("- Zeb is Rod's manager.");
    const text = await memq(["memory", "search", "--query", "who is the manager?", "--max-results", "1", ...place]);
    expect(text).toEqual({
      stdout: `${first.score.toFixed(3)} MEMORY.md:3-3\n- Zeb is Rod's manager.\n\n`,
      stderr: "",
      exitCode: 0,
    });
  });

  test("days of --since and --until are those of the user's zone", async () => {
    file("ws/memory/undated.md", "the heliograph was mended\n");
    // Already the eleventh in Tokyo.
    const changed = new Date("2026-02-10T16:00:00Z");
    utimesSync(join(root, "ws/memory/undated.md"), changed, changed);
    file("tokyo.json", JSON.stringify({ agents: { defaults: { userTimezone: "Asia/Tokyo" } } }));
    const own = [
      "--workspace",
      join(root, "ws"),
      "--state-dir",
      join(root, "tokyo"),
      "--config",
      join(root, "tokyo.json"),
    ];
    const found = async (day: string): Promise<number> => {
      const period = ["--since", day, "--until", day, "--json"];
      return JSON.parse((await memq(["memory", "search", "heliograph", ...period, ...own])).stdout).results.length;
    };
    expect([await found("2026-02-10"), await found("2026-02-11")]).toEqual([0, 1]);
    rmSync(join(root, "ws/memory/undated.md"));
  });

  test("pain 46: a long note answers with several of its passages", async () => {
    const [long, state] = [join(root, "long"), join(root, "long-state")];
    mkdirSync(join(long, "memory"), { recursive: true });
    const topics = ["harvest", "pruning", "irrigation", "grafting"];
    const sections = Array.from({ length: 200 }, (_, at) =>
      at % 50 === 7
        ? `## Orchard ${topics[(at - 7) / 50]}\n\nIn the orchard the ${topics[(at - 7) / 50]} was done in week ${at}.\n`
        : `## Section ${at}\n\n${`Filler ${at} of something else. `.repeat(12)}\n`,
    );
    writeFileSync(join(long, "memory/long.md"), sections.join("\n"));
    const { stdout } = await memq(["memory", "search", "orchard", "--json", "--workspace", long, "--state-dir", state]);
    const { results } = JSON.parse(stdout);
    // One may stand in two passages, which overlap.
    for (const topic of topics) expect(JSON.stringify(results)).toContain(`the ${topic} was done`);
    expect(new Set(results.map(({ path }: { path: string }) => path))).toEqual(new Set(["memory/long.md"]));
  });

  test("nothing found is said, with exit code 0", async () => {
    expect(await memq(["memory", "search", "hedgehog", ...place])).toEqual({
      stdout: "No matches.\n",
      stderr: "",
      exitCode: 0,
    });
    expect(JSON.parse((await memq(["memory", "search", "hedgehog", "--json", ...place])).stdout)).toEqual({
      results: [],
    });
  });

  describe("what is written after the first index", () => {
    let at: string[] = [];
    let notes = "";
    beforeAll(async () => {
      notes = temporaryFolder("later-");
      at = ["--workspace", notes, "--state-dir", join(notes, "state")];
      mkdirSync(join(notes, "memory"));
      writeFileSync(join(notes, "memory/2026-02-10.md"), "The heron stood still.\n");
      await memq(["memory", "index", ...at]);
    });

    test("a line that the command line appends is found at once", async () => {
      const appended = await memq(["memory", "append", "- The standup is at 9:30.", "--date", "2026-02-10", ...at]);
      expect(appended).toEqual({ stdout: "Appended to memory/2026-02-10.md:2\n", stderr: "", exitCode: 0 });
      await memq(["memory", "append", "- Ana likes walnuts.", "--target", "long-term", ...at]);
      expect((await memq(["memory", "search", "standup", ...at])).stdout).toContain("memory/2026-02-10.md:");
      expect((await memq(["memory", "search", "walnuts", ...at])).stdout).toContain(" MEMORY.md:1-");
      expect((await memq(["memory", "status", ...at])).stdout).toContain("\nDirty: no\n");
    });

    test("a search that finds nothing says that files are new, and status that the index is behind", async () => {
      writeFileSync(join(notes, "memory/egret.md"), "The egret flew off.\n");
      expect(await memq(["memory", "search", "egret", "--json", ...at])).toMatchObject({
        stderr: expect.stringContaining("1 file is new or has changed since the last index; 'memq memory index'"),
        exitCode: 0,
      });
      expect((await memq(["memory", "status", ...at])).stdout).toContain("\nDirty: yes\n");
      await memq(["memory", "index", ...at]);
      expect((await memq(["memory", "search", "hedgehog", ...at])).stderr).toBe("");
    });

    test("an appended line that another process keeps from being indexed is written all the same", async () => {
      const { dbPath } = JSON.parse((await memq(["memory", "status", "--json", ...at])).stdout)[0].status;
      writeFileSync(`${dbPath}.lock`, JSON.stringify({ pid: process.pid, started: "" }));
      const appended = await memq(["memory", "append", "- Later.", "--date", "2026-02-10", ...at]);
      rmSync(`${dbPath}.lock`);
      expect(appended).toEqual({
        stdout: "Appended to memory/2026-02-10.md:3\n",
        stderr: `No search finds it before 'memq memory index' has run: Another process (${process.pid}) is writing to the index.\n`,
        exitCode: 0,
      });
    });
  });

  test("visibility of transcripts narrows what sessions see, not what the owner sees at the command line", async () => {
    const [stateDir, config] = [join(root, "seen"), join(root, "tree.json")];
    mkdirSync(join(stateDir, "agents/main/sessions"), { recursive: true });
    const message = { role: "user", content: "The walrus sleeps on the ice." };
    writeFileSync(join(stateDir, "agents/main/sessions/a.jsonl"), `${JSON.stringify({ type: "message", message })}\n`);
    const memorySearch = { experimental: { sessionMemory: true }, sources: ["memory", "sessions"] };
    file(
      "tree.json",
      JSON.stringify({ agents: { defaults: { memorySearch } }, tools: { sessions: { visibility: "tree" } } }),
    );
    const found = async (...more: string[]): Promise<unknown> =>
      JSON.parse(
        (
          await memq(
            ["memory", "search", "walrus", "--json", "--workspace", join(root, "ws"), "--state-dir", stateDir, ...more],
            { env: { OPENCLAW_CONFIG_PATH: config } },
          )
        ).stdout,
      ).results;
    expect(await found()).toMatchObject([{ path: "sessions/main/a.jsonl" }]);
    expect(await found("--session-key", "agent:main:telegram:direct:5")).toEqual([]);
  });

  test("index counts, and the second time finds nothing new", async () => {
    await memq(["memory", "index", "--force", "--json", ...place]);
    const again = await memq(["memory", "index", "--json", ...place]);
    expect(JSON.parse(again.stdout)).toMatchObject({ files: 2, added: 0, changed: 0, removed: 0, embedded: 0 });
    expect(again.exitCode).toBe(0);
    expect((await memq(["memory", "index", ...place])).stdout).toStartWith("Memory index updated (main): 2 files");
  });

  test("index says why a named local model can't be used", async () => {
    file(
      "local.json",
      JSON.stringify({ memory: { search: { provider: "local", local: { modelPath: "/nowhere/x.gguf" } } } }),
    );
    const { stderr, exitCode } = await memq(["memory", "index", ...place, "--config", join(root, "local.json")]);
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("/nowhere/x.gguf is not on this machine")]);
  });

  test("what a first search does without is said once", async () => {
    const search = { provider: "local", local: { modelPath: "/nowhere/x.gguf" }, extraPaths: ["/nowhere/e"] };
    file("lacking.json", JSON.stringify({ memory: { search } }));
    const at = ["--workspace", join(root, "ws"), "--state-dir", join(root, "lacking")];
    const { stderr } = await memq(["memory", "search", "manager", ...at, "--config", join(root, "lacking.json")]);
    expect(stderr).toBe(
      "The extra path /nowhere/e does not exist; what the index holds of it stays.\n" +
        "Local embeddings unavailable. Reason: The model /nowhere/x.gguf is not on this machine.\n",
    );
  });

  test("get prints a note, a part of it, and refuses what is outside", async () => {
    expect((await memq(["memory", "get", "MEMORY.md", ...place])).stdout).toContain("Rod prefers TypeScript.\n");
    expect(await memq(["memory", "get", "MEMORY.md", "--from", "3", "--lines", "1", ...place])).toEqual({
      stdout: "- Zeb is Rod's manager.\n",
      stderr: "More follows: --from 4\n",
      exitCode: 0,
    });
    const outside = await memq(["memory", "get", "../../etc/passwd", "--json", ...place]);
    expect(outside.exitCode).toBe(1);
    expect(JSON.parse(outside.stdout)).toMatchObject({ text: "", disabled: true, code: "MEMORY_PATH_NOT_ALLOWED" });
  });

  test("status is one entry per agent", async () => {
    const { stdout } = await memq(["memory", "status", "--json", "--deep", ...place]);
    const [{ agentId, status }] = JSON.parse(stdout);
    expect(agentId).toBe("main");
    expect(status).toMatchObject({
      backend: "builtin",
      files: 2,
      dirty: false,
      provider: "none",
      scan: { totalFiles: 2 },
    });
    expect(status.settings.find(({ key }: { key: string }) => key === "query.maxResults")).toMatchObject({ value: 6 });
    expect((await memq(["memory", "status", ...place])).stdout).toContain("Indexed: 2 files");
  });

  test("status tells in a line that automatic selection found no provider, and with --json why", async () => {
    file("auto.json", "{}");
    const at = ["memory", "status", "--config", join(root, "auto.json"), ...place];
    const { stdout } = await memq(at);
    expect(stdout).toContain(
      "\nEmbeddings: none, so words are searched, not meaning; no API key was found for openai, gemini, voyage, mistral\n",
    );
    const [{ status }] = JSON.parse((await memq([...at, "--json"])).stdout);
    expect(status.custom.providerUnavailableReason).toContain('No API key found for provider "voyage". Auth store: ');
  });

  test("status --deep says what each setting that is set resolved to and where, --verbose all of them", async () => {
    file("set.json", '{ memory: { search: { provider: "none", query: { maxResults: 3 } } } }');
    const shown = async (...more: string[]): Promise<string> =>
      (await memq(["memory", "status", "--config", join(root, "set.json"), ...place, ...more])).stdout;
    expect(await shown()).not.toContain("Settings:");
    const deep = await shown("--deep");
    expect(deep).toContain("\n  query.maxResults = 3 (memory.search.query.maxResults)\n");
    expect(deep).not.toContain("query.minScore");
    expect(deep).toMatch(/\n  \d+ others are at their default; --verbose shows them\n/);
    expect(await shown("--deep", "--verbose")).toContain("\n  query.minScore = 0.35 (default)\n");
  });

  test.each(["--workspace", "--state-dir", "--config"])(
    "an empty %s meant the current folder: it is refused",
    async (name) => {
      const at = ["--workspace", root, "--state-dir", join(root, "none")].map((word, n, all) =>
        all[n - 1] === name ? "" : word,
      );
      const args = name === "--config" ? [...at, "--config", ""] : at;
      const { exitCode, stderr } = await memq(["memory", "status", ...args]);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining("is named by an empty text")]);
    },
  );

  test("status --deep printed credentials that stand in the address of a service", async () => {
    const remote = { baseUrl: "https://me:hidden@127.0.0.1:9/v1?key=hidden" };
    file("secret.json", JSON.stringify({ memory: { search: { provider: "openai", remote } } }));
    const at = ["memory", "status", "--deep", "--config", join(root, "secret.json"), ...place];
    for (const more of [[], ["--json"]]) {
      const { stdout, stderr } = await memq([...at, ...more]);
      expect(stdout).toContain("https://127.0.0.1:9/v1");
      expect(stdout + stderr).not.toContain("hidden");
    }
  });

  test("status names the backend where it is not the built-in one", async () => {
    file("qmd.json", '{ memory: { backend: "qmd", search: { provider: "none" } } }');
    const { stdout } = await memq(["memory", "status", "--config", join(root, "qmd.json"), ...place]);
    expect(stdout).toStartWith("Memory Search (main)\nBackend: the agent's qmd home\n");
    expect((await memq(["memory", "status", ...place])).stdout).not.toContain("Backend");
  });

  test("long-term memory that is kept from a group is said to be", async () => {
    const group = ["--session-key", "agent:main:discord:group:1", ...place];
    const withheld = "MEMORY.md and USER.md stay out: only the agent's main private session reads them.\n";
    for (const args of [["context"], ["context", "--json"], ["recall", "manager"], ["recall", "manager", "--json"]]) {
      expect(await memq(["memory", ...args, ...group])).toMatchObject({
        exitCode: 0,
        stderr: expect.stringContaining(withheld),
      });
      expect((await memq(["memory", ...args, ...place])).stderr).not.toContain("stay out");
    }
  });

  test("a file that can never be indexed does not leave the index dirty for ever, and is named", async () => {
    const [mixed, state] = [join(root, "mixed"), join(root, "mixed-state")];
    mkdirSync(join(mixed, "memory"), { recursive: true });
    writeFileSync(join(mixed, "memory/a.md"), "A heron.\n");
    writeFileSync(join(mixed, "memory/blank.md"), "");
    writeFileSync(
      join(mixed, "memory/picture.md"),
      new Uint8Array(2000).map((_, at) => (at * 7919) % 256),
    );
    file("mixed-qmd.json", '{ memory: { backend: "qmd", search: { provider: "none" } } }');
    for (const config of [[], ["--config", join(root, "mixed-qmd.json")]]) {
      const at = ["--workspace", mixed, "--state-dir", state, ...config];
      const status = async () =>
        JSON.parse((await memq(["memory", "status", "--deep", "--json", ...at])).stdout)[0].status;
      expect((await status()).dirty).toBe(true);
      await memq(["memory", "index", ...at]);
      const { dirty, scan } = await status();
      expect(dirty).toBe(false);
      expect(scan.issues).toEqual([`${join(mixed, "memory/picture.md")}: it is not a text file`]);
    }
    writeFileSync(join(mixed, "memory/b.md"), "An egret.\n");
    const { stdout } = await memq(["memory", "status", "--deep", "--workspace", mixed, "--state-dir", state]);
    expect(stdout).toContain("\nDirty: yes\n");
  });

  test("status says why memory is off", async () => {
    file("off.json", '{ plugins: { slots: { memory: "none" } } }');
    const { stdout } = await memq(["memory", "status", "--config", join(root, "off.json"), ...place]);
    expect(stdout).toMatch(/\nMemory search disabled\.\nIssues:\n  .*plugins\.slots\.memory/);
  });

  test("a misspelt provider is told apart from a broken one", async () => {
    file("misspelt.json", '{ memory: { search: { provider: "opnai" } } }');
    const { stderr } = await memq(["memory", "search", "x", "--config", join(root, "misspelt.json"), ...place]);
    expect(stderr).toContain('Unknown embedding provider "opnai": did you mean openai?');
  });
});

describe("bad input is one sentence and a hint, exit 1, or 2 for a wrong call", () => {
  const broken = (): string => join(root, "broken.json5");
  test.each<[string, () => string[], RegExp, number]>([
    [
      "an unknown option",
      () => ["memory", "search", "x", "--jsn"],
      /^unknown option '--jsn'\nDid you mean '--json'\?/,
      2,
    ],
    ["no query", () => ["memory", "search", ...place], /^Missing search query\./, 2],
    [
      "a number out of range",
      () => ["memory", "search", "x", "--max-results", "0", ...place],
      /^--max-results takes a whole number/,
      2,
    ],
    [
      "a word that is no corpus",
      () => ["memory", "search", "x", "--corpus", "web", ...place],
      /^--corpus takes memory, sessions, all/,
      2,
    ],
    [
      "a date that is none",
      () => ["memory", "search", "x", "--since", "soon", ...place],
      /^since: "soon" is neither/,
      2,
    ],
    [
      "broken JSON5",
      () => ["memory", "search", "x", "--config", broken(), ...place],
      /broken\.json5 is not valid JSON5 at line 2, column \d+/,
      1,
    ],
    [
      "a missing configuration",
      () => ["memory", "status", "--config", join(root, "none.json"), ...place],
      /^There is no configuration file/,
      1,
    ],
    [
      "a missing workspace",
      () => ["memory", "index", "--workspace", join(root, "nowhere")],
      /^The workspace .*nowhere of agent "main" does not exist/,
      1,
    ],
    [
      "an unknown agent",
      () => ["memory", "index", "--agent", "x", "--config", join(root, "agents.json")],
      /^There is no agent "x"/,
      1,
    ],
    ["a wrong type", () => ["memory", "search", "x", "--config", join(root, "type.json"), ...place], /maxResults/, 1],
  ])("%s", async (_name, args, sentence, code) => {
    file("broken.json5", "{\n  agents: [,],\n");
    file("agents.json", `{"agents": {"list": [{"id": "a", "workspace": "${join(root, "ws")}"}]}}`);
    file("type.json", '{"memory": {"search": {"query": {"maxResults": "many"}}}}');
    const { stdout, stderr, exitCode } = await memq(args());
    expect(stderr).toMatch(sentence);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect([stdout, exitCode]).toEqual(["", code]);
  });

  test("a model file that is no GGUF costs the meaning and not the search", async () => {
    file("fake.gguf", "not a model");
    file(
      "local.json",
      `{"memory": {"search": {"provider": "local", "local": {"modelPath": "${join(root, "fake.gguf")}"}}}}`,
    );
    const index = await memq(["memory", "index", "--config", join(root, "local.json"), ...place]);
    expect(index.stderr).toContain("fake.gguf");
    const { stdout, stderr } = await memq([
      "memory",
      "search",
      "cameras",
      "--json",
      "--config",
      join(root, "local.json"),
      ...place,
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ results: [{ path: "memory/2026-02-10.md" }], degraded: ["vector"] });
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test("a named provider that refuses makes search fail, in words", async () => {
    const config = {
      memory: { search: { provider: "openai", remote: { baseUrl: "http://127.0.0.1:9/v1", apiKey: "k" } } },
    };
    file("refused.json", JSON.stringify(config));
    const indexed = await memq(["memory", "index", "--config", join(root, "refused.json"), ...place]);
    expect(indexed.exitCode).toBe(1);
    expect(indexed.stdout).toContain("2 files");
    expect(indexed.stderr).not.toMatch(/^\s+at /m);
  });

  test.skipIf(process.getuid?.() === 0)("an unreadable note is skipped, counted and named", async () => {
    file("ws/memory/locked.md", "locked");
    chmodSync(join(root, "ws/memory/locked.md"), 0);
    const { stderr, exitCode } = await memq(["memory", "index", ...place]);
    rmSync(join(root, "ws/memory/locked.md"));
    expect(stderr).toMatch(/Skipped .*locked\.md: .*\n1 skipped\./);
    expect(exitCode).toBe(0);
  });

  test("a note that is no text is skipped, counted and named", async () => {
    file("ws/memory/binary.md", new Uint8Array([1, 0, 2, 0, 0, 7]));
    const { stderr, stdout, exitCode } = await memq(["memory", "index", ...place]);
    expect(stderr).toMatch(/Skipped .*binary\.md: .*\n1 skipped\./);
    expect(stdout).toContain("2 files");
    expect(exitCode).toBe(0);
    rmSync(join(root, "ws/memory/binary.md"));
  });
});

describe("the program", () => {
  test("without arguments prints help and fails; --help succeeds; --version is one line", async () => {
    const bare = await memq([]);
    expect([bare.exitCode, bare.stderr]).toEqual([1, ""]);
    expect(await memq(["--help"])).toEqual({ ...bare, exitCode: 0 });
    expect((await memq(["--version"])).stdout).toMatch(/^memq \d+\.\d+\.\d+\n$/);
    expect((await memq(["memory", "--version"])).stdout).toMatch(/^memq /);
  });

  test("help of a command lists its options", async () => {
    const { stdout } = await memq(["memory", "search", "--help"]);
    expect(stdout).toContain("Usage: memq memory search [QUERY...] [options]");
    for (const option of ["--max-results N", "--tag TAG", "-h, --help"]) expect(stdout).toContain(option);
    expect(stdout).not.toContain("--lines");
  });

  test("help of a command that has others below it shows its own options and those commands", async () => {
    const { stdout } = await memq(["mcp", "--help"]);
    expect(stdout).toContain("Usage: memq mcp [options]");
    for (const part of ["--allow-write", "--token-file FILE", "  mcp stop  "]) expect(stdout).toContain(part);
    expect((await memq(["mcp", "stop", "--help"])).stdout).toContain("Usage: memq mcp stop [options]");
    expect((await memq(["--help"])).stdout).toMatch(/^  mcp +Serve MCP clients/m);
    expect((await memq(["collection", "--help"])).stdout).toStartWith("Usage: memq collection <command> [options]\n");
  });

  test("a reader that goes away ends it quietly", async () => {
    const words = memqCommand("man").map((word) => `'${word}'`);
    const child = Bun.spawn(["sh", "-c", `{ ${words.join(" ")}; echo "code $?" >&2; } | head -c 1`], {
      env: childEnv(),
      stdout: "pipe",
      stderr: "pipe",
    });
    expect(await new Response(child.stderr).text()).toBe("code 0\n");
  });

  test("colours only on a terminal", async () => {
    expect((await memq(["memory", "search", "cameras", ...place])).stdout).not.toContain("\u001B");
  });

  test.each(["bash", "zsh", "fish"])("completions for %s name commands, options and choices", async (shell) => {
    const { stdout } = await memq(["completions", shell]);
    for (const word of ["memory", "status", "max-results", "sessions"]) expect(stdout).toContain(word);
  });

  test("bash completes commands, options and choices", async () => {
    const { stdout } = await memq(["completions", "bash"]);
    const complete = async (...words: string[]): Promise<string> => {
      const script = `${stdout}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _memq; echo "\${COMPREPLY[*]}"`;
      const child = Bun.spawn(["bash", "-c", script], { env: childEnv(), stdout: "pipe" });
      return (await new Response(child.stdout).text()).trim();
    };
    expect(await complete("memq", "mem")).toBe("memory");
    expect(await complete("memq", "memory", "se")).toBe("search");
    expect(await complete("memq", "memory", "search", "query", "--max")).toBe("--max-results");
    expect(await complete("memq", "memory", "search", "--corpus", "s")).toBe("sessions");
  });

  test("the manual page holds every command", async () => {
    const { stdout } = await memq(["man"]);
    expect(stdout).toStartWith(".TH MEMQ 1");
    for (const command of ["memory search", "memory status", "rpc"]) expect(stdout).toContain(`.SS memq ${command}`);
  });
});

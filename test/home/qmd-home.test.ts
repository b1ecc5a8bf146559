import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, realpathSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { agentQmdHome, writeAgentQmdConfig } from "../../src/home/agent-qmd-home.ts";
import { readQmdConfig } from "../../src/home/index-yml.ts";
import { qmdPlaces, resolveQmdHome } from "../../src/home/qmd-home.ts";
import { DEFAULT_QMD_MODELS } from "../../src/embed/spec.ts";
import { listTrusted, recordTrust, revokeTrust, untrustedNotice } from "../../src/home/trust.ts";
import { sandbox } from "./workspace.ts";

describe("where a qmd home stands", () => {
  test.each<[string, Record<string, string>, string | undefined, string, string]>([
    ["nothing said", {}, undefined, "/h/.config/qmd/index.yml", "/h/.cache/qmd/index.sqlite"],
    [
      "XDG folders",
      { XDG_CONFIG_HOME: "/c", XDG_CACHE_HOME: "/k" },
      undefined,
      "/c/qmd/index.yml",
      "/k/qmd/index.sqlite",
    ],
    [
      "relative XDG folders are ignored",
      { XDG_CONFIG_HOME: "c", XDG_CACHE_HOME: "./k" },
      undefined,
      "/h/.config/qmd/index.yml",
      "/h/.cache/qmd/index.sqlite",
    ],
    [
      "QMD_CONFIG_DIR is exact",
      { XDG_CONFIG_HOME: "/c", QMD_CONFIG_DIR: "/q" },
      undefined,
      "/q/index.yml",
      "/h/.cache/qmd/index.sqlite",
    ],
    [
      "a blank one counts as unset",
      { QMD_CONFIG_DIR: "", INDEX_PATH: "" },
      undefined,
      "/h/.config/qmd/index.yml",
      "/h/.cache/qmd/index.sqlite",
    ],
    ["a named index", {}, "work", "/h/.config/qmd/work.yml", "/h/.cache/qmd/work.sqlite"],
    [
      "an index named by an absolute path",
      {},
      "/tmp/foo/bar",
      "/h/.config/qmd/tmp_foo_bar.yml",
      "/h/.cache/qmd/tmp_foo_bar.sqlite",
    ],
    ["an index named by a relative path", {}, "a/b", "/h/.config/qmd/w_a_b.yml", "/h/.cache/qmd/w_a_b.sqlite"],
    ["INDEX_PATH", { INDEX_PATH: "/x/y.db" }, undefined, "/h/.config/qmd/index.yml", "/x/y.db"],
    ["INDEX_PATH beats --index", { INDEX_PATH: "/x/y.db" }, "work", "/h/.config/qmd/work.yml", "/x/y.db"],
  ])("%s", (_name, env, index, configPath, indexPath) => {
    const places = qmdPlaces({ env: { HOME: "/h", ...env }, cwd: "/w", index });
    expect(places).toMatchObject({ configPath, indexPath });
  });

  test("a project's own home counts from any folder in it, beats INDEX_PATH, and index.yaml comes before index.yml", () => {
    const box = sandbox();
    box.write("proj/.qmd/index.yml", "");
    mkdirSync(join(box.home, "proj/a/b"), { recursive: true });
    const env = { ...box.env, INDEX_PATH: "/x.db" };
    const at = (cwd: string, index?: string) => qmdPlaces({ env, cwd: join(box.home, cwd), index });
    expect(at("proj/a/b")).toMatchObject({
      configPath: join(box.home, "proj/.qmd/index.yml"),
      indexPath: join(box.home, "proj/.qmd/index.sqlite"),
    });
    expect(at("proj", "named").indexPath).toBe("/x.db");
    expect(at(".").indexPath).toBe("/x.db");
    box.write("proj/.qmd/index.yaml", "");
    expect(at("proj").configPath).toEndWith("index.yaml");
  });
});

describe("a user's home", () => {
  const withConfig = async (text: string, env: Record<string, string> = {}) => {
    const box = sandbox();
    box.write(".config/qmd/index.yml", text);
    return { box, ...(await resolveQmdHome({ env: { ...box.env, ...env }, cwd: box.home })) };
  };

  test("without a configuration it is empty and nothing is written", async () => {
    const box = sandbox();
    const found = await resolveQmdHome({ env: box.env, cwd: box.home });
    expect(found).toMatchObject({ hasConfig: false, skipped: [], trust: { state: "open" } });
    expect(found.home).toMatchObject({
      kind: "qmd",
      collections: [],
      search: { unit: "documents", minScore: 0, maxResults: 5 },
    });
    expect(existsSync(join(box.home, ".config"))).toBe(false);
  });

  test("collections: a tilde, a relative path, patterns and what is never indexed", async () => {
    const { box, home } = await withConfig(
      "collections:\n  a:\n    path: ~/notes\n    pattern: '*.md, x/{a,b}.txt'\n    ignore: [tmp/**]\n  b:\n    path: rel\n    includeByDefault: false\n",
    );
    expect(home.collections).toEqual([
      {
        name: "a",
        root: join(box.home, "notes"),
        patterns: ["*.md", "x/{a,b}.txt"],
        ignore: ["**/{node_modules,.git,.cache,vendor,dist,build}/**", "tmp/**"],
        source: "notes",
        followLinks: true,
        hidden: false,
        includeByDefault: true,
        pathPrefix: "qmd/a/",
      },
      expect.objectContaining({
        name: "b",
        root: join(box.home, "rel"),
        patterns: ["**/*.md"],
        includeByDefault: false,
      }),
    ]);
  });

  test("models: the configuration, then the environment, then qmd's own", async () => {
    const text = "models:\n  embed: hf:a/b/c.gguf\n";
    const { models, home, places } = await withConfig(text, {
      QMD_EMBED_MODEL: "hf:x/y/z.gguf",
      QMD_RERANK_MODEL: "~/r.gguf",
    });
    expect(models).toEqual({ embed: "hf:a/b/c.gguf", rerank: "~/r.gguf", generate: DEFAULT_QMD_MODELS.generate });
    expect(home.embedding).toMatchObject({
      provider: "local",
      explicit: false,
      local: { modelPath: "hf:a/b/c.gguf", modelCacheDir: places.modelsDir },
    });
  });

  test.each<[string, object]>([
    [
      "./m.gguf",
      { provider: "local", local: expect.objectContaining({ modelPath: expect.stringMatching(/^\/.*\/m\.gguf$/) }) },
    ],
    [
      "openai:text-embedding-3-small",
      { provider: "openai", model: "text-embedding-3-small", explicit: true, credentials: { openai: { apiKey: "k" } } },
    ],
    ["ollama:nomic-embed-text:v1.5", { provider: "ollama", model: "nomic-embed-text:v1.5" }],
    ["http://host:1234/v1#bge", { provider: "openai-compatible", model: "bge", baseUrl: "http://host:1234/v1" }],
    ["none", { provider: "none" }],
  ])("a model written as %s", async (uri, expected) => {
    const { home } = await withConfig(`models: {embed: "${uri}"}\n`, { OPENAI_API_KEY: "k" });
    expect(home.embedding).toMatchObject(expected);
  });
});

describe("a configuration that came with a checkout", () => {
  const TEXT = `models:
  embed: hf:evil/model/m.gguf
  rerank: ${DEFAULT_QMD_MODELS.rerank}
collections:
  z:
    path: ../outside
    update: rm -rf /
  a:
    path: ./docs
    update: make notes
  link:
    path: linked
`;

  const project = () => {
    const box = sandbox();
    box.write("outside/x.md", "x");
    box.write("proj/docs/d.md", "d");
    symlinkSync(join(box.home, "outside"), join(box.home, "proj/linked"));
    const config = box.write("proj/.qmd/index.yml", TEXT);
    const resolve = (env: Record<string, string> = {}, cwd = "proj/docs") =>
      resolveQmdHome({ env: { ...box.env, ...env }, cwd: join(box.home, cwd) });
    return { box, config, resolve, trustFile: join(box.home, ".config/qmd/trusted.json") };
  };

  test("may neither run hooks, nor reach outside, nor choose models, unless it is trusted", async () => {
    const { box, resolve } = project();
    const found = await resolve();
    expect(found.trust.state).toBe("untrusted");
    expect(found.trust.gated).toEqual({
      hooks: [
        ["z", "rm -rf /"],
        ["a", "make notes"],
      ],
      paths: [
        ["z", join(box.home, "outside")],
        ["link", join(box.home, "proj/linked")],
      ],
      models: [["embed", "hf:evil/model/m.gguf"]],
    });
    expect(found.home.collections.map(({ name, root }) => [name, root])).toEqual([["a", join(box.home, "proj/docs")]]);
    expect(found.skipped).toEqual([
      { name: "z", path: join(box.home, "outside") },
      { name: "link", path: join(box.home, "proj/linked") },
    ]);
    expect(found.models.embed).toBe(DEFAULT_QMD_MODELS.embed);
    expect(untrustedNotice(found.trust, "qmd").slice(-3)).toEqual([
      "Config that came with a checkout is not trusted by default.",
      "Skipping them — no terminal to confirm on. Indexing of this project continues.",
      "Approve with 'qmd trust', or set QMD_TRUST_LOCAL_CONFIG=1 for unattended runs.",
    ]);
  });

  test("the digest is qmd's, so its approvals hold here", async () => {
    const { box, resolve } = project();
    const canonical = JSON.stringify({
      hooks: [
        ["a", "make notes"],
        ["z", "rm -rf /"],
      ],
      paths: [
        ["link", join(box.home, "proj/linked")],
        ["z", join(box.home, "outside")],
      ],
      models: [["embed", "hf:evil/model/m.gguf"]],
    });
    const digest = new Bun.CryptoHasher("sha256").update(canonical).digest("hex");
    expect((await resolve()).trust.digest).toBe(digest);
    const record = {
      [join(box.home, "proj/.qmd/index.yml")]: { hooks: digest, trustedAt: "2026-01-01T00:00:00.000Z" },
    };
    box.write(".config/qmd/trusted.json", `${JSON.stringify(record, null, 2)}\n`);
    expect((await resolve()).trust.state).toBe("trusted");
  });

  test("an approval is recorded as qmd does, ends with any change of what it covers, and can be taken back", async () => {
    const { box, config, resolve, trustFile } = project();
    const { trust } = await resolve();
    const at = new Date("2026-02-03T04:05:06.007Z");
    await recordTrust(trustFile, "/other/.qmd/index.yml", "d", at);
    await recordTrust(trustFile, config, trust.digest, at);
    expect(readFileSync(trustFile, "utf8")).toBe(
      `${JSON.stringify({ "/other/.qmd/index.yml": { hooks: "d", trustedAt: at.toISOString() }, [config]: { hooks: trust.digest, trustedAt: at.toISOString() } }, null, 2)}\n`,
    );
    expect(statSync(trustFile).mode & 0o777).toBe(0o600);
    const trusted = await resolve();
    expect(trusted).toMatchObject({
      skipped: [],
      trust: { state: "trusted" },
      models: { embed: "hf:evil/model/m.gguf" },
    });
    expect(trusted.home.collections.map(({ name }) => name)).toEqual(["z", "a", "link"]);
    box.write("proj/.qmd/index.yml", TEXT.replace("make notes", "make more"));
    expect((await resolve()).trust.state).toBe("untrusted");
    box.write("proj/.qmd/index.yml", `# a comment\n${TEXT}`);
    expect((await resolve()).trust.state).toBe("trusted");
    expect(await listTrusted(trustFile)).toEqual([
      { path: "/other/.qmd/index.yml", trustedAt: at.toISOString() },
      { path: config, trustedAt: at.toISOString() },
    ]);
    expect(await revokeTrust(trustFile, config)).toBe(true);
    expect(await revokeTrust(trustFile, config)).toBe(false);
    expect((await resolve()).trust.state).toBe("untrusted");
  });

  test("a broken trust file approves nothing", async () => {
    const { box, resolve } = project();
    box.write(".config/qmd/trusted.json", "{ oops");
    expect((await resolve()).trust.state).toBe("untrusted");
  });

  test.each<[Record<string, string>, string]>([
    [{ QMD_TRUST_LOCAL_CONFIG: "1" }, "trusted"],
    [{ QMD_TRUST_UPDATE_HOOKS: "yes" }, "trusted"],
    [{ QMD_TRUST_LOCAL_CONFIG: "0" }, "untrusted"],
    [{ QMD_TRUST_LOCAL_CONFIG: "Off", QMD_TRUST_UPDATE_HOOKS: "none" }, "untrusted"],
  ])("%j makes it %s", async (env, state) => {
    expect((await project().resolve(env)).trust.state).toBe(state as "trusted");
  });

  test("one that stays inside with qmd's own models needs no approval", async () => {
    const box = sandbox();
    box.write(
      "proj/.qmd/index.yml",
      `models: {embed: "${DEFAULT_QMD_MODELS.embed}"}\ncollections:\n  a:\n    path: .\n  up:\n    path: ${join(realpathSync(box.home), "proj/x/..")}\n`,
    );
    const found = await resolveQmdHome({ env: box.env, cwd: join(box.home, "proj") });
    expect(found.trust.state).toBe("open");
    expect(found.home.collections[0]?.root).toBe(join(box.home, "proj"));
  });

  test("the user's own configuration is never gated", async () => {
    const box = sandbox();
    box.write(".config/qmd/index.yml", TEXT);
    const found = await resolveQmdHome({ env: box.env, cwd: box.home });
    expect(found).toMatchObject({ trust: { state: "open" }, skipped: [], models: { embed: "hf:evil/model/m.gguf" } });
  });
});

describe("an agent's qmd home", () => {
  const config = {
    memory: {
      backend: "qmd",
      qmd: {
        paths: [
          { name: "Docs & Co", path: "~/ext" },
          { name: "inner", path: "notes", pattern: "*.txt" },
          { path: "~/one[1].md" },
          { name: "docs-co", path: "~/ext2" },
          { name: "again", path: "~/ext" },
        ],
        sessions: { enabled: true, retentionDays: 7 },
        limits: { maxResults: 4, maxSnippetChars: 450 },
      },
    },
  };

  test("lies below the agent, with collections named as the gateway names them", async () => {
    const box = sandbox();
    box.write("one[1].md", "# one");
    box.config(config);
    const agent = await box.resolve();
    const { home, places } = await agentQmdHome(agent, box.home);
    const root = join(box.state, "agents/main/qmd");
    expect(places).toMatchObject({
      configPath: join(root, "xdg-config/qmd/index.yml"),
      indexPath: join(root, "xdg-cache/qmd/index.sqlite"),
    });
    expect(
      home.collections.map(({ name, root, patterns, source, pathPrefix }) => [
        name,
        root.replace(box.home, "H"),
        patterns[0],
        source,
        pathPrefix,
      ]),
    ).toEqual([
      ["memory-root-main", "H/.openclaw/workspace", "MEMORY.md", "memory", ""],
      ["memory-dir-main", "H/.openclaw/workspace/memory", "**/*.md", "memory", "memory/"],
      ["docs-co", "H/ext", "**/*.md", "memory", "qmd/docs-co/"],
      ["inner-main", "H/.openclaw/workspace/notes", "*.txt", "memory", "notes/"],
      ["custom-3-main", "H", String.raw`one\[1\].md`, "memory", "qmd/custom-3-main/"],
      ["docs-co-2", "H/ext2", "**/*.md", "memory", "qmd/docs-co-2/"],
      ["sessions-main", "H/.openclaw/agents/main/qmd/sessions", "**/*.md", "sessions", "qmd/sessions-main/"],
    ]);
    expect(home).toMatchObject({
      kind: "qmd",
      agentId: "main",
      workspace: box.workspace,
      search: { maxResults: 4, snippetChars: 450, unit: "documents", grammar: "plain" },
    });
  });

  test("its index.yml is written once and keeps what a person added", async () => {
    const box = sandbox();
    box.config({ memory: { backend: "qmd" } });
    const agent = await box.resolve();
    const path = box.write(
      ".openclaw/agents/main/qmd/xdg-config/qmd/index.yml",
      "# mine\nglobal_context: hello\ncollections:\n  memory-dir-main:\n    path: /old\n    ignore: [x]\n",
    );
    expect(await writeAgentQmdConfig(await agentQmdHome(agent, box.home))).toBe(true);
    const text = readFileSync(path, "utf8");
    expect(text).toStartWith("# mine\nglobal_context: hello\n");
    const read = await readQmdConfig(path);
    expect(read?.collections.map((one) => [one.name, one.path, one.ignore])).toEqual([
      ["memory-dir-main", join(box.workspace, "memory"), ["x"]],
      ["memory-root-main", box.workspace, []],
    ]);
    expect(await writeAgentQmdConfig(await agentQmdHome(agent, box.home))).toBe(false);
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  test("an older gateway's index.yml and an own models folder are found; extra paths and per-agent collections join in", async () => {
    const box = sandbox();
    box.write(".openclaw/agents/main/qmd/xdg-config/index.yml", "models: {embed: 'hf:a/b/c.gguf'}\n");
    mkdirSync(join(box.state, "agents/main/qmd/xdg-cache/qmd/models"), { recursive: true });
    box.config({
      memory: {
        backend: "qmd",
        qmd: { includeDefaultMemory: false },
        search: { extraPaths: ["~/x"], qmd: { extraCollections: [{ path: "~/y", name: "why" }] } },
      },
    });
    const { home, places, models } = await agentQmdHome(await box.resolve(), box.home);
    expect(models.embed).toBe("hf:a/b/c.gguf");
    expect(places.modelsDir).toBe(join(box.state, "agents/main/qmd/xdg-cache/qmd/models"));
    expect(home.collections.map(({ name }) => name)).toEqual(["custom-1-main", "why"]);
  });
});

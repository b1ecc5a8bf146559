import { describe, expect, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  array,
  assert,
  asyncProperty,
  boolean,
  dictionary,
  jsonValue,
  oneof,
  pre,
  property,
  string,
  stringMatching,
} from "fast-check";
import json5 from "json5";
import { parseDotEnv, withVariables, type MissingVariable } from "../../src/home/env-vars.ts";
import { loadConfig } from "../../src/home/openclaw-config.ts";
import { configFile, stateFolder } from "../../src/home/state-dir.ts";
import { sandbox, type Sandbox } from "./workspace.ts";

const load = (box: Sandbox, more: object = {}) => loadConfig({ env: box.env, cwd: box.home, ...more });
const failure = (box: Sandbox, more: object = {}) =>
  load(box, more).then(
    () => null,
    (error: unknown) => error,
  );

describe("finding the state folder and the file", () => {
  test.each<[string, string | undefined, Record<string, string>, string]>([
    ["nothing said", undefined, {}, "H/.openclaw"],
    ["the option", "~/s", { OPENCLAW_STATE_DIR: "/x" }, "H/s"],
    ["OPENCLAW_STATE_DIR", undefined, { OPENCLAW_STATE_DIR: " ~/t ", OPENCLAW_HOME: "/y" }, "H/t"],
    ["its older name", undefined, { CLAWDBOT_STATE_DIR: "rel" }, "H/rel"],
    ["OPENCLAW_HOME", undefined, { OPENCLAW_HOME: "~/oc" }, "H/oc/.openclaw"],
    ["blank variables", undefined, { OPENCLAW_STATE_DIR: " ", OPENCLAW_HOME: "" }, "H/.openclaw"],
    ["a profile", undefined, { OPENCLAW_PROFILE: "dev" }, "H/.openclaw-dev"],
  ])("%s", (_name, option, env, expected) => {
    const { home } = sandbox();
    expect(stateFolder(option, { HOME: home, ...env }, home)).toBe(expected.replace("H", home));
  });

  test.each([".moltbot", ".clawdbot"])("an older folder %s counts when it alone exists", (name) => {
    const box = sandbox();
    const home = join(box.home, "elsewhere");
    mkdirSync(join(home, name), { recursive: true });
    expect(stateFolder(undefined, { HOME: home }, home)).toBe(join(home, name));
    mkdirSync(join(home, ".openclaw"));
    expect(stateFolder(undefined, { HOME: home }, home)).toBe(join(home, ".openclaw"));
  });

  test("the option beats OPENCLAW_CONFIG_PATH, which beats the state folder's file", () => {
    const env = { HOME: "/h", OPENCLAW_CONFIG_PATH: "~/c.json" };
    expect(configFile("x.json", "/s", env, "/w")).toEqual({ path: "/w/x.json", namedBy: "option" });
    expect(configFile(undefined, "/s", env, "/w")).toEqual({ path: "/h/c.json", namedBy: "environment" });
    expect(configFile(undefined, "/s", { HOME: "/h" }, "/w")).toEqual({ path: "/s/openclaw.json", namedBy: null });
  });

  test("a file that the option names must exist; one that the environment names may not", async () => {
    const box = sandbox();
    expect(await failure(box, { configPath: "nope.json" })).toMatchObject({ code: "CONFIG_MISSING" });
    const loaded = await load(box, { env: { ...box.env, OPENCLAW_CONFIG_PATH: "nope.json" } });
    expect(loaded.path).toBeNull();
    expect(loaded.issues).toEqual([expect.stringContaining("nope.json: defaults apply")]);
  });
});

describe("JSON5", () => {
  test("comments, trailing commas, bare names and single quotes", async () => {
    const box = sandbox();
    box.config("\uFEFF// mine\n{ memory: { citations: 'off', /* x */ }, list: [1, 2,], hex: 0x10, }\n");
    expect((await load(box)).data).toEqual({ memory: { citations: "off" }, list: [1, 2], hex: 16 });
  });

  test("an empty file holds nothing", async () => {
    const box = sandbox();
    box.config("\n");
    expect((await load(box)).data).toEqual({});
  });

  test.each([
    ["{ a: 1\n  b: 2 }", "line 2, column 3: invalid character 'b'"],
    ["{\n  a: [1, 2\n", "line 3, column 1: invalid end of input"],
    ["{ a: 'x }", "invalid end of input"],
    ["[1]", "must hold an object"],
    ['{\n  "a": "x\ny"\n}', "line 2, column 10: invalid character '\\n'"],
    ['{"a": 1,, "b": 2}', "line 1, column 9: invalid character ','"],
  ])("%j is one sentence with file, line and column", async (text, expected) => {
    const box = sandbox();
    const path = box.config(text);
    const error = (await failure(box)) as { code: string; message: string; hint: string };
    expect(error.code).toBe("CONFIG_SYNTAX");
    expect(error.message).toContain(path);
    expect(error.message).toContain(expected);
    expect(error.message.split("\n")).toHaveLength(1);
    expect(error.hint).not.toBe("");
  });

  test("what is written comes back, whichever way it is written (property)", async () => {
    const box = sandbox();
    await assert(
      asyncProperty(dictionary(string(), jsonValue()), boolean(), async (value, loose) => {
        pre(!JSON.stringify(value).includes("$") && !JSON.stringify(value).includes("__proto__"));
        box.config(loose ? json5.stringify(value, null, 1) : JSON.stringify(value));
        const read = await loadConfig({ env: box.env, cwd: box.home }).catch(() => null);
        // A dictionary may well hold `env`, `agents` or `memory` of a strange shape; the text must survive all the same.
        expect(read?.data).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 60 },
    );
  });
});

describe("$include", () => {
  test("a file, a list of files, nested ones, and keys beside it", async () => {
    const box = sandbox();
    box.write(".openclaw/parts/memory.json5", "{ $include: './deep/qmd.json', citations: 'on' }");
    box.write(
      ".openclaw/parts/deep/qmd.json",
      '{"qmd": {"limits": {"maxResults": 3, "timeoutMs": 9}}, "citations": "off"}',
    );
    box.write(".openclaw/a.json", '{"list": [{"id": "a"}], "defaults": {"workspace": "/a", "userTimezone": "UTC"}}');
    box.write(".openclaw/b.json", '{"list": [{"id": "b"}], "defaults": {"workspace": "/b"}}');
    box.config({
      memory: { $include: "parts/memory.json5", qmd: { limits: { timeoutMs: 1 } } },
      agents: { $include: ["a.json", "./b.json"] },
    });
    expect((await load(box)).data).toEqual({
      memory: { citations: "on", qmd: { limits: { maxResults: 3, timeoutMs: 1 } } },
      agents: { list: [{ id: "a" }, { id: "b" }], defaults: { workspace: "/b", userTimezone: "UTC" } },
    });
  });

  test.each<[string, Record<string, string>, RegExp]>([
    ["a missing file", { "openclaw.json": '{"a": {"$include": "nope.json"}}' }, /nope\.json, which does not exist/],
    [
      "a circle",
      { "openclaw.json": '{"$include": "b.json"}', "b.json": '{"x": {"$include": "openclaw.json"}}' },
      /circle: .*openclaw\.json → .*b\.json → .*openclaw\.json/,
    ],
    ["itself", { "openclaw.json": '{"$include": "./openclaw.json"}' }, /circle/],
    [
      "a broken file",
      { "openclaw.json": '{"$include": "b.json"}', "b.json": "{\n x" },
      /b\.json is not valid JSON5 at line 2/,
    ],
    ["a number", { "openclaw.json": '{"$include": 3}' }, /must be a file name or a list/],
    [
      "a list beside keys",
      { "openclaw.json": '{"a": {"$include": "b.json", "c": 1}}', "b.json": "[1]" },
      /must hold an object/,
    ],
    [
      "a name with a NUL",
      { "openclaw.json": String.raw`{"$include": "a\u0000b"}` },
      /names a file with a NUL character/,
    ],
    [
      "a name too long",
      { "openclaw.json": `{"$include": "${"a/".repeat(3000)}"}` },
      /a name is longer than the system/,
    ],
    [
      "levels without end",
      { "openclaw.json": `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}` },
      /openclaw\.json has more than 200 levels/,
    ],
  ])("%s is an error in one sentence", async (_name, files, expected) => {
    const box = sandbox();
    for (const [name, text] of Object.entries(files)) box.write(`.openclaw/${name}`, text);
    const error = (await failure(box)) as { message: string; hint: string };
    expect(error.message).toMatch(expected);
    expect(error.hint).toBeTruthy();
  });

  test.each(["openclaw.json", "part.json"])("a pipe as %s is refused and not waited for", async (name) => {
    const box = sandbox();
    box.write(".openclaw/openclaw.json", '{"$include": "part.json"}');
    const pipe = join(box.home, ".openclaw", name);
    rmSync(pipe, { force: true });
    expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
    expect(await failure(box)).toMatchObject({
      code: "CONFIG_UNREADABLE",
      message: `The configuration file ${pipe} can't be read: it is a pipe, a socket or a device, not a file.`,
    });
  });

  test("files that include ten others each are not read to the last", async () => {
    const box = sandbox();
    box.write(".openclaw/openclaw.json", '{"$include": "0.json"}');
    for (let nth = 0; nth < 8; nth++)
      box.write(`.openclaw/${nth}.json`, JSON.stringify({ $include: Array(10).fill(`${nth + 1}.json`) }));
    box.write(".openclaw/8.json", "{}");
    expect(await failure(box)).toMatchObject({
      code: "CONFIG_INCLUDE",
      message: expect.stringMatching(/more than 1000 files/),
    });
  });

  test("a given configuration with levels without end is a usage error", async () => {
    const config = JSON.parse(`${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`);
    expect(await failure(sandbox(), { config })).toMatchObject({ code: "USAGE", exitCode: 2 });
  });

  test("ten files deep is fine, eleven is not", async () => {
    const box = sandbox();
    const chain = (depth: number): void => {
      box.config({ $include: "f1.json" });
      for (let at = 1; at < depth; at++)
        box.write(`.openclaw/f${at}.json`, JSON.stringify({ $include: `f${at + 1}.json` }));
      box.write(`.openclaw/f${depth}.json`, '{"deep": true}');
    };
    chain(10);
    expect((await load(box)).data).toEqual({ deep: true });
    chain(11);
    expect(await failure(box)).toMatchObject({
      code: "CONFIG_INCLUDE",
      message: expect.stringContaining("deeper than 10"),
    });
  });
});

describe("${VARIABLE}", () => {
  test("comes from the process, .env files and the env block, the first that has it", async () => {
    const box = sandbox();
    box.write(".env", "A=cwd\nB='quoted # x'\nexport C=\"two\\nlines\"\n");
    box.write(".openclaw/.env", "A=state\nD=state # note\n");
    box.config({
      env: { D: "block", E: "block", vars: { F: "vars" }, shellEnv: { enabled: true } },
      memory: { x: "${P}${A}${D}${E}${F}", y: "${B}|${C}", z: "$${A} $a ${a} $A" },
    });
    const loaded = await load(box, { env: { ...box.env, P: "proc" } });
    expect(loaded.data["memory"]).toEqual({
      x: "proccwdstateblockvars",
      y: "quoted # x|two\nlines",
      z: "${A} $a ${a} $A",
    });
    expect(process.env["E"]).toBeUndefined();
  });

  test.each([
    [{ memory: { qmd: { paths: [{ path: "${NOPE}" }] } } }, "memory.qmd.paths[0].path"],
    [{ agents: { list: [{ workspace: "${NOPE}/w" }] } }, "agents.list[0].workspace"],
    [
      { agents: { entries: { a: { memory: { search: { model: "${NOPE}" } } } } } },
      "agents.entries.a.memory.search.model",
    ],
    [{ agents: { defaults: { memorySearch: { model: "x${NOPE}" } } } }, "agents.defaults.memorySearch.model"],
  ])("a missing one that memory needs names variable and key", async (config, path) => {
    const box = sandbox();
    box.config(config);
    const error = (await failure(box, { env: { ...box.env, NOPE: "" } })) as { message: string };
    expect(error).toMatchObject({ code: "CONFIG_VARIABLE" });
    expect(error.message).toContain(`${path} needs the environment variable NOPE`);
  });

  test("missing ones that only a chat channel or a sandbox needs do not take memory down", async () => {
    const box = sandbox();
    box.config({
      channels: { telegram: { botToken: "${NOPE}" } },
      agents: { defaults: { sandbox: { docker: { env: { T: "${NOPE}" } } } }, list: [{ id: "a", model: "${NOPE}" }] },
    });
    expect((await load(box)).missing.map(({ path }) => path)).toEqual([
      "channels.telegram.botToken",
      "agents.defaults.sandbox.docker.env.T",
      "agents.list[0].model",
    ]);
  });

  test("replaced once and never again, whatever the values hold (property)", () => {
    const name = stringMatching(/^[A-Z_][A-Z0-9_]{0,6}$/);
    assert(
      property(
        dictionary(name, string()),
        array(
          oneof(
            string(),
            name.map((n) => `\${${n}}`),
            name.map((n) => `$\${${n}}`),
          ),
        ),
        (env, parts) => {
          const missing: MissingVariable[] = [];
          const expected = parts
            .join("\0")
            .replace(/\$\$\{([A-Z_][A-Z0-9_]*)\}|\$\{([A-Z_][A-Z0-9_]*)\}/g, (whole, literal?: string, used?: string) =>
              literal === undefined ? env[used ?? ""] || whole : `\${${literal}}`,
            );
          expect(withVariables({ k: [parts.join("\0")] }, env, missing)).toEqual({ k: [expected] });
          for (const { path, variable } of missing) {
            expect(path).toBe("k[0]");
            expect(env[variable] ?? "").toBe("");
          }
        },
      ),
    );
  });

  test("a .env file never throws and keeps plain assignments (property)", () => {
    assert(
      property(string(), (text) => {
        expect(parseDotEnv(text)).toBeObject();
      }),
    );
    const word = stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/);
    assert(
      property(dictionary(word, stringMatching(/^[^\s#'"]*$/), { noNullPrototype: true }), (values) => {
        pre(!Object.hasOwn(values, "__proto__"));
        const text = Object.entries(values).map(([key, value]) => `${key}=${value}`);
        expect(parseDotEnv(text.join("\r\n"))).toEqual(values);
      }),
    );
  });
});

test("a configuration handed over is merged over the file; its lists replace", async () => {
  const box = sandbox();
  box.config({ agents: { list: [{ id: "a" }], defaults: { workspace: "/w", userTimezone: "UTC" } } });
  const config = { agents: { list: [{ id: "b" }], defaults: { workspace: "/v" } }, memory: { backend: "qmd" } };
  expect((await load(box, { config })).data).toEqual({
    agents: { list: [{ id: "b" }], defaults: { workspace: "/v", userTimezone: "UTC" } },
    memory: { backend: "qmd" },
  });
});

// `memq setup`: what it shows, what it writes, what it leaves alone, and whether what it wrote starts.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { CLIENTS } from "../../src/integrations/clients.ts";
import { checkClients } from "../../src/integrations/check.ts";
import { plugFiles } from "../../src/integrations/openclaw/plug-files.ts";
import type { SetupPlan, SetupRequest } from "../../src/integrations/setup.ts";
import { applyPlan, hasChanges } from "../../src/integrations/setup.ts";
import type { Outcome } from "../cli/program.ts";
import { executable, memq, memqCommand } from "../cli/program.ts";
import { temporaryFolder } from "../temporary.ts";

const folders: string[] = [];
let home = "";
beforeEach(() => {
  home = temporaryFolder("setup-");
  folders.push(home);
});
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

const at = (path: string): string => join(home, path);
const read = (path: string): string => readFileSync(at(path), "utf8");
function write(path: string, text: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
}
const setup = (...args: string[]): Promise<Outcome> => memq(["setup", ...args], { env: { HOME: home }, cwd: home });

function request(extra: Partial<SetupRequest> = {}): SetupRequest {
  const [program = "", ...first] = memqCommand();
  return { command: [program, ...first], workspaces: [], env: { ...process.env, HOME: home }, cwd: home, ...extra };
}
async function planFor(id: string, extra: Partial<SetupRequest> = {}): Promise<SetupPlan> {
  const plan = await CLIENTS.find((client) => client.id === id)?.plan(request(extra));
  if (plan === undefined) throw new Error(`no client ${id}`);
  return plan;
}
const backups = (folder: string): string[] => readdirSync(at(folder)).filter((name) => name.endsWith(".bak"));

describe("memq setup openclaw", () => {
  const config = `// mine\n{\n  agents: { defaults: { workspace: "~/notes" } }, // where\n  plugins: {\n    allow: ['telegram'],\n  },\n}\n`;
  beforeEach(() => {
    write(".openclaw/openclaw.json", config);
    cpSync(resolve(import.meta.dir, "../fixtures/sample"), at("notes"), { recursive: true });
  });

  test("shows what would change and changes nothing, then does it once, and what it wrote starts", async () => {
    const shown = await setup("openclaw");
    expect(shown).toMatchObject({ exitCode: 0, stderr: "" });
    for (const part of [
      "plugins.load.paths +=",
      'plugins.allow += "memq"',
      'plugins.slots.memory = "memq"',
      "--write",
    ]) {
      expect(shown.stdout).toContain(part);
    }
    expect(read(".openclaw/openclaw.json")).toBe(config);
    expect(readdirSync(at(".openclaw"))).toEqual(["openclaw.json"]);

    expect((await setup("openclaw", "--write")).stdout).toContain("Written.");
    const written = read(".openclaw/openclaw.json");
    for (const comment of ["// mine", "// where", "'telegram'"]) expect(written).toContain(comment);
    const plugDir = at(".openclaw/memq/openclaw-plug");
    expect(Bun.JSON5.parse(written)).toEqual({
      agents: { defaults: { workspace: "~/notes" } },
      plugins: {
        allow: ["telegram", "memq"],
        load: { paths: [plugDir] },
        slots: { memory: "memq" },
        entries: { memq: { enabled: true, config: { command: executable ?? memqCommand() } } },
      },
    });
    expect(readdirSync(plugDir).sort()).toEqual(Object.keys(plugFiles()).sort());
    const [backup = ""] = backups(".openclaw");
    expect(backup).toMatch(/^openclaw\.json\.\d{8}-\d{6}\.bak$/);
    expect(read(join(".openclaw", backup))).toBe(config);

    expect((await setup("openclaw", "--write")).stdout).toContain("nothing to change");
    expect(read(".openclaw/openclaw.json")).toBe(written);
    expect(backups(".openclaw")).toHaveLength(1);

    const checked = await setup("--check");
    expect(checked).toMatchObject({ exitCode: 0, stderr: "" });
    expect(checked.stdout).toStartWith("openclaw: ok, memq ");
    expect(checked.stdout).toContain("memory_search, memory_get");
  });

  test("brings the files of an older version up to date", async () => {
    await applyPlan(await planFor("openclaw"));
    write(".openclaw/memq/openclaw-plug/tools.ts", "// an older one\n");
    const plan = await planFor("openclaw");
    expect(plan.changes).toEqual([]);
    await applyPlan(plan);
    expect(read(".openclaw/memq/openclaw-plug/tools.ts")).toBe(plugFiles()["tools.ts"] ?? "");
    expect(hasChanges(await planFor("openclaw"))).toBe(false);
  });

  test("writes nothing at all when somebody else has changed the file meanwhile", async () => {
    const plan = await planFor("openclaw");
    write(".openclaw/openclaw.json", "{}");
    const error: unknown = await applyPlan(plan).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "CONFIG_CHANGED" });
    expect(readdirSync(at(".openclaw"))).toEqual(["openclaw.json"]);
  });

  test("keeps what an entry says besides, and follows another command and agent", async () => {
    write(
      ".openclaw/openclaw.json",
      '{ plugins: { entries: { memq: { enabled: false, env: { A: "1" }, config: { command: "old", deadlineMs: 900 } } } } }',
    );
    await applyPlan(await planFor("openclaw", { command: ["/opt/memq"], agentId: "research" }));
    expect(Bun.JSON5.parse(read(".openclaw/openclaw.json"))).toMatchObject({
      plugins: {
        entries: {
          memq: {
            enabled: true,
            env: { A: "1" },
            config: { command: "/opt/memq", deadlineMs: 900, agentId: "research" },
          },
        },
      },
    });
  });

  test("says that the workspace has to exist", async () => {
    rmSync(at("notes"), { recursive: true });
    const { stdout } = await setup("openclaw", "--write");
    expect(stdout).toContain(
      `\nThe workspace ${at("notes")} of agent "main" does not exist. memq works once it is there.\n`,
    );
    expect((await setup("--check")).exitCode).toBe(1);
  });

  test("makes the configuration where there is none, readable by its owner only", async () => {
    rmSync(at(".openclaw"), { recursive: true });
    expect(await applyPlan(await planFor("openclaw"))).toBeNull();
    expect(lstatSync(at(".openclaw/openclaw.json")).mode & 0o777).toBe(0o600);
  });

  test("leaves a broken file alone and says where it is", async () => {
    write(".openclaw/openclaw.json", "{ plugins: [ }");
    const { exitCode, stderr } = await setup("openclaw", "--write");
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`${at(".openclaw/openclaw.json")} is not valid JSON5`);
    expect(read(".openclaw/openclaw.json")).toBe("{ plugins: [ }");
    expect(readdirSync(at(".openclaw"))).toEqual(["openclaw.json"]);
  });

  test("prints the lines to add where plugins come from an included file", async () => {
    const included = '{ plugins: { $include: "./plugins.json5" } }';
    write(".openclaw/openclaw.json", included);
    const { exitCode, stdout, stderr } = await setup("openclaw", "--write");
    expect(exitCode).toBe(1);
    expect(stdout).toContain('"slots"');
    expect(stderr).toContain("it was left as it is");
    expect(read(".openclaw/openclaw.json")).toBe(included);
    expect(existsSync(at(".openclaw/memq/openclaw-plug/index.ts"))).toBe(true);
  });

  test("a file that is a link stays one; one that changed meanwhile is not overwritten", async () => {
    rmSync(at(".openclaw/openclaw.json"));
    write("dotfiles/openclaw.json", config);
    symlinkSync(at("dotfiles/openclaw.json"), at(".openclaw/openclaw.json"));
    const stale = await planFor("openclaw");
    await applyPlan(await planFor("openclaw"));
    expect(lstatSync(at(".openclaw/openclaw.json")).isSymbolicLink()).toBe(true);
    expect(read("dotfiles/openclaw.json")).toContain('"memory": "memq"');
    const refused = await applyPlan(stale).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "CONFIG_CHANGED" });
  });

  test("names what keeps the plug from loading", async () => {
    await applyPlan(await planFor("openclaw"));
    write(
      ".openclaw/openclaw.json",
      read(".openclaw/openclaw.json")
        .replace('"memory": "memq"', '"memory": "none"')
        .replace("'telegram', \"memq\"", "'telegram'"),
    );
    const [result] = await checkClients(request(), "openclaw");
    expect(result).toMatchObject({ ok: false });
    expect(result?.error).toContain('plugins.slots.memory is not "memq"');
    expect(result?.error).toContain("plugins.allow does not list memq");
  });
});

describe("memq setup for MCP clients", () => {
  const before: Record<string, [string, string]> = {
    "claude-code": [
      ".claude.json",
      '{\n  "numStartups": 3,\n  "mcpServers": {\n    "other": { "type": "stdio", "command": "x", "args": [] }\n  }\n}\n',
    ],
    cursor: [".cursor/mcp.json", '{\n  // shared\n  "mcpServers": {}\n}\n'],
    codex: [".codex/config.toml", '# mine\nmodel = "m"\n\n[mcp_servers.other]\ncommand = "x"\n'],
  };

  for (const [id, [file, text]] of Object.entries(before)) {
    test(`${id}: one entry more, the rest as it was, and it starts`, async () => {
      write(file, text);
      mkdirSync(at("notes"));
      writeFileSync(at("notes/MEMORY.md"), "- Zeb likes walnuts.\n");
      await applyPlan(await planFor(id, { workspaces: ["notes"], stateDir: "state" }));
      const parse = file.endsWith(".toml") ? Bun.TOML.parse : Bun.JSON5.parse;
      const data = parse(read(file)) as Record<string, Record<string, unknown>>;
      const group = file.endsWith(".toml") ? "mcp_servers" : "mcpServers";
      const [program = "", ...first] = memqCommand();
      expect(data[group]?.["memq"]).toMatchObject({
        command: program,
        args: [...first, "mcp", "--workspace", at("notes"), "--state-dir", at("state")],
      });
      const { [group]: servers, ...rest } = parse(text) as Record<string, Record<string, unknown>>;
      expect(data).toMatchObject({ ...rest, [group]: servers });
      if (text.includes("//") || text.includes("#")) expect(read(file)).toMatch(/\/\/ shared|# mine/);
      expect(hasChanges(await planFor(id, { workspaces: ["notes"], stateDir: "state" }))).toBe(false);

      const [result] = await checkClients(request(), id);
      expect(result).toMatchObject({ client: id, ok: true, tools: ["memory_search", "memory_get"] });
    });
  }

  test("keys in the environment of an entry stay there and are not shown", async () => {
    const env = { OPENAI_API_KEY: "sk-secret-of-mine" };
    write(".cursor/mcp.json", JSON.stringify({ mcpServers: { memq: { command: "old", args: [], env } } }));
    for (const more of [[], ["--json"], ["--write"]]) {
      const { stdout, stderr } = await setup("cursor", ...more);
      expect(stdout).toContain("mcpServers.memq.command");
      expect(stdout + stderr).not.toContain("sk-secret");
    }
    expect(JSON.parse(read(".cursor/mcp.json")).mcpServers.memq).toMatchObject({
      env,
      args: expect.arrayContaining(["mcp"]),
    });
  });

  test("several workspaces are several servers; --config names a project's file", async () => {
    for (const name of ["work", "home notes"]) mkdirSync(at(name));
    const { exitCode, stdout } = await setup(
      "claude-code",
      "--workspace",
      "work",
      "--workspace",
      "home notes",
      "--config",
      ".mcp.json",
      "--write",
      "--json",
    );
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ written: true, file: at(".mcp.json") });
    const { mcpServers } = JSON.parse(read(".mcp.json")) as { mcpServers: Record<string, { args: string[] }> };
    expect(Object.keys(mcpServers)).toEqual(["memq-work", "memq-home-notes"]);
    expect(mcpServers["memq-home-notes"]?.args).toContain(at("home notes"));
    expect(existsSync(at(".claude.json"))).toBe(false);
  });

  test("a table that can't be changed line by line is printed instead", async () => {
    const text = 'mcp_servers = { other = { command = "x" } }\n';
    write(".codex/config.toml", text);
    const { exitCode, stdout } = await setup("codex", "--write");
    expect(exitCode).toBe(1);
    expect(stdout).toContain("[mcp_servers.memq]\ncommand = ");
    expect(read(".codex/config.toml")).toBe(text);
  });
});

describe("memq setup --check", () => {
  const server = (command: string, args: string[]): void =>
    write(".cursor/mcp.json", JSON.stringify({ mcpServers: { memq: { command, args } } }));
  const failure = async (): Promise<string | undefined> => (await checkClients(request(), "cursor"))[0]?.error;

  test("says in a sentence what is wrong, and exits with 1", async () => {
    server(at("gone"), []);
    const { exitCode, stderr, stdout } = await setup("--check", "cursor");
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toContain("does not work");
    expect(stderr).toContain(at("gone"));
  });

  test("passes on what to do about it", async () => {
    write(".openclaw/openclaw.json", JSON.stringify({ agents: { defaults: { workspace: at("no-such-folder") } } }));
    expect((await setup("openclaw", "--write")).exitCode).toBe(0);
    const { exitCode, stderr } = await setup("--check", "openclaw");
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /no-such-folder of agent "main" does not exist\. Create it, set agents\.defaults\.workspace/,
    );
  });

  test("tells a server that ends, one that prints, and one that is no MCP server apart", async () => {
    server("sh", ["-c", "echo 'no such option' >&2; exit 3"]);
    expect(await failure()).toBe("it ended (exit code 3): no such option");
    server("sh", ["-c", "echo hello; exec cat"]);
    expect(await failure()).toBe("it wrote what is no message to stdout: hello");
    server("sh", [
      "-c",
      `read line; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"what?"}}'; exec cat`,
    ]);
    expect(await failure()).toBe("it answered: what?");
  });

  test("of several clients, a broken file of one does not hide the others", async () => {
    write(".openclaw/openclaw.json", "{ plugins: [ }");
    server("sh", ["-c", "exit 3"]);
    expect(await checkClients(request(), undefined)).toMatchObject([
      { client: "openclaw", ok: false, error: expect.stringContaining("not valid JSON5") },
      { client: "cursor", ok: false, error: "it ended (exit code 3)" },
    ]);
  });

  test("where memq is nowhere set up, says how to do it", async () => {
    const { exitCode, stderr } = await setup("--check");
    expect(exitCode).toBe(1);
    expect(stderr).toContain("memq setup openclaw|claude-code|cursor|codex --write");
  });

  test("an unknown client is a usage error that names the known ones", async () => {
    expect(await setup("emacs")).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("claude-code") });
  });

  test("an unknown client was left without a word on what to give it", async () => {
    expect((await setup("emacs")).stderr).toContain("the command 'memq' with the arguments 'mcp --workspace DIR'");
  });
});

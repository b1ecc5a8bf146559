import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { childEnv } from "../cli/program.ts";
import { qmdHome, type QmdTestHome } from "./homes.ts";

let home: QmdTestHome;
beforeAll(async () => {
  home = await qmdHome({ "n/odd #1?.md": "# Odd\n\nthe router is here\n" });
});
afterAll(() => home.remove());

/** What a command shows on a terminal. */
async function onTerminal(args: string[], env: Record<string, string> = {}, cwd = home.root): Promise<string> {
  const decoder = new TextDecoder();
  let shown = "";
  const child = Bun.spawn(home.command(...args), {
    cwd,
    env: childEnv({ ...home.env, TERM: "xterm", ...env }),
    terminal: { cols: 200, rows: 50, data: (_, bytes) => void (shown += decoder.decode(bytes, { stream: true })) },
  });
  await child.exited;
  child.terminal?.close();
  return shown.replaceAll("\r\n", "\n");
}

describe("on a terminal", () => {
  test("a name is a link into the editor, words are highlighted", async () => {
    const shown = await onTerminal(["search", "router"]);
    const path = encodeURI(realpathSync(join(home.root, "n"))) + "/odd%20%231%3F.md";
    expect(shown).toContain(`\u001B]8;;vscode://file/${path}:3:1\u001B\\`);
    expect(shown).toContain("the \u001B[32mrouter\u001B[0m is here");
    const own = await onTerminal(["search", "router"], { QMD_EDITOR_URI: "ed://{path}#L{line},{column}" });
    expect(own).toContain(`\u001B]8;;ed://${path}#L3,1\u001B\\`);
  });

  test("an update shows in the task bar how far it is, and clears it; a dumb terminal gets none of it", async () => {
    const shown = await onTerminal(["update"]);
    expect(shown).toContain("\u001B]9;4;1;100\u0007Indexing: 1/1");
    expect(shown.lastIndexOf("\u001B]9;4;0\u0007")).toBeGreaterThan(shown.lastIndexOf("\u001B]9;4;1;"));
    expect(await onTerminal(["update"], { TERM: "dumb" })).not.toContain("\u001B]9");
    const piped = await home.run("update");
    expect(piped.stdout + piped.stderr).not.toContain("\u001B");
  });

  test("NO_COLOR leaves the colours out, another format everything", async () => {
    expect(await onTerminal(["search", "router"], { NO_COLOR: "1" })).not.toContain("\u001B[");
    expect(await onTerminal(["search", "router", "--json"])).not.toContain("\u001B");
  });

  test("nothing that stands in a note or in its name moves the cursor or retitles the window", async () => {
    home.write({ "n/\u001B]0;name\u0007.md": "# Ti\u001B[2Jtle\n\nsecret hijack \u001B]52;c;ZXZpbA==\u0007 text\n" });
    await home.sync();
    const shown = await onTerminal(["search", "hijack"], { NO_COLOR: "1" });
    expect(shown).toContain("Title: Ti\\x1b[2Jtle\n");
    expect(shown).toContain("secret hijack \\x1b]52;c;ZXZpbA==\\x07 text\n");
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    expect(shown).not.toMatch(/\u001B(?!\]8;;|\\)|\u0007/);
    expect((await home.run("search", "hijack")).stdout).toContain("hijack \\x1b]52;c;");
    expect((await home.run("search", "hijack", "--json")).stdout).toContain(String.raw`\u001b]52;c;`);
    expect((await home.run("get", "n/\u001B]0;name\u0007.md")).stdout).toContain("\u001B]52;c;");
  });

  test("nor does a name in a notice, or a link that came with a checkout", async () => {
    home.write({
      "checkout/.qmd/index.yml": `editor_uri: "x\\e]0;t\\a{path}"\ncollections:\n  "a\\e[2J":\n    path: ../n\n  own:\n    path: docs\n`,
      "checkout/docs/a.md": "a marble\n",
    });
    const cwd = join(home.root, "checkout");
    const env = childEnv({ ...home.env, PWD: cwd });
    const updating = Bun.spawn(home.command("update"), { cwd, env, stdout: "ignore", stderr: "pipe" });
    const stderr = await new Response(updating.stderr).text();
    expect(stderr).toContain("Skipping collection 'a\\x1b[2J'");
    expect(stderr).not.toContain("\u001B");
    const shown = await onTerminal(["search", "marble"], { NO_COLOR: "1", PWD: cwd }, cwd);
    expect(shown).toContain("\u001B]8;;x%1B]0;t%07");
  });

  test("a project's update command can't hide from who approves it", async () => {
    const command = "true \u001B[2K\rharmless \u202Eevil";
    home.write({
      "project/.qmd/index.yml": `collections:\n  d:\n    path: .\n    update: ${JSON.stringify(command)}\n`,
    });
    const cwd = join(home.root, "project");
    const asked = Bun.spawn(home.command("update"), { cwd, env: childEnv({ ...home.env, PWD: cwd }), stderr: "pipe" });
    expect(await new Response(asked.stderr).text()).toContain(
      "  update command of 'd': true \\x1b[2K\\x0dharmless \\u202eevil\n",
    );
  });

  test("a pipe gets plain text", async () => {
    expect((await home.run("search", "router")).stdout).not.toContain("\u001B");
  });
});

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
async function onTerminal(args: string[], env: Record<string, string> = {}): Promise<string> {
  const decoder = new TextDecoder();
  let shown = "";
  const child = Bun.spawn(home.command(...args), {
    cwd: home.root,
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

  test("NO_COLOR leaves the colours out, another format everything", async () => {
    expect(await onTerminal(["search", "router"], { NO_COLOR: "1" })).not.toContain("\u001B[");
    expect(await onTerminal(["search", "router", "--json"])).not.toContain("\u001B");
  });

  test("a pipe gets plain text", async () => {
    expect((await home.run("search", "router")).stdout).not.toContain("\u001B");
  });
});

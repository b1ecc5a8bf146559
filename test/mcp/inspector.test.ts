// The MCP inspector's command line is large and not among our packages: name its program to run these.
//   npm i --ignore-scripts --prefix DIR @modelcontextprotocol/inspector@2.12.0
//   MEMQ_TEST_INSPECTOR=DIR/node_modules/.bin/mcp-inspector bun test test/mcp/inspector.test.ts
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { childEnv, memqCommand, outcomeOf } from "../cli/program.ts";
import type { Json } from "../gateway/client.ts";
import { qmdHome, type QmdTestHome } from "../qmd/homes.ts";

setDefaultTimeout(60_000);

const inspector = process.env["MEMQ_TEST_INSPECTOR"] ?? "";

describe.skipIf(inspector === "")("the inspector", () => {
  let home: QmdTestHome;
  beforeAll(async () => {
    home = await qmdHome({ "docs/a.md": "# A\n\nA quokka.\n" });
  });
  afterAll(async () => {
    await home.run("mcp", "stop");
    home.remove();
  });

  async function inspect(target: string[], ...args: string[]): Promise<Json> {
    const child = Bun.spawn([inspector, "--cli", ...target, ...args], {
      env: { ...childEnv(home.env), PATH: process.env["PATH"] ?? "" },
      cwd: home.root,
      stdout: "pipe",
      stderr: "pipe",
    });
    const { stdout, stderr, exitCode } = await outcomeOf(child);
    expect(exitCode, stderr).toBe(0);
    return JSON.parse(stdout);
  }

  async function goesThrough(target: string[]): Promise<void> {
    const { tools } = await inspect(target, "--method", "tools/list");
    expect(tools.map(({ name }: { name: string }) => name)).toEqual(["query", "get", "multi_get", "status"]);
    const found = await inspect(target, "--method", "tools/call", "--tool-name", "query", "--tool-arg", "query=quokka");
    expect(found.structuredContent.results[0].file).toBe("docs/a.md");
    const { resourceTemplates } = await inspect(target, "--method", "resources/templates/list");
    expect(resourceTemplates[0].uriTemplate).toBe("qmd://{+path}");
    const { contents } = await inspect(target, "--method", "resources/read", "--uri", "qmd://docs/a.md");
    expect(contents[0].text).toContain("3: A quokka.");
  }

  test("goes through a session on stdin and stdout", async () => {
    // Of its own environment the inspector hands on little more than HOME and PATH: what else the home needs is named.
    const named = Object.entries(home.env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    await goesThrough([...named, ...memqCommand("mcp")]);
  });

  test("goes through a session over HTTP", async () => {
    const { stdout } = await home.run("mcp", "--http", "--daemon", "--port", "0");
    await goesThrough([/Started on (\S+)/.exec(stdout)?.[1] ?? "", "--transport", "http"]);
  });
});

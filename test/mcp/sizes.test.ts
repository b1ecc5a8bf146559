import { expect, test } from "bun:test";
import { qmdHome } from "../qmd/homes.ts";
import { connectStdio } from "./clients.ts";

test("a limit counted bytes over MCP and characters on the command line, so that one document was served by one of them", async () => {
  const text = "# 中文标题\n\n这是一个关于令牌桶的笔记。\n";
  const home = await qmdHome({ "docs/中文.md": text });
  const client = await connectStdio("legacy", [], { env: home.env, cwd: home.root });
  try {
    for (const limit of [text.length, text.length - 1]) {
      const answer = await client.callTool({ name: "multi_get", arguments: { pattern: "docs/*", maxBytes: limit } });
      const [row] = await home.json("multi-get", "docs/*", "--max-bytes", String(limit), "--json");
      expect(answer.content[0]?.text?.includes("File too large") === true).toBe(row?.["skipped"] === true);
      expect(row?.["skipped"] === true).toBe(limit < text.length);
    }
  } finally {
    await client.close();
    home.remove();
  }
});

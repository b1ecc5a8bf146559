import { afterAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { memq } from "../cli/program.ts";
import { type Client, makeHome, startRpc } from "./client.ts";

const running: Client[] = [];
afterAll(() => Promise.all(running.map((client) => client.end())));

test("a process that had read an earlier configuration took out what the present one had brought in", async () => {
  const home = makeHome({ "MEMORY.md": "Zeb is a manager.\n" });
  const more = join(home.stateDir, "more");
  mkdirSync(more, { recursive: true });
  writeFileSync(join(more, "trees.md"), "Hazel and walnut.\n");
  const config = join(home.stateDir, "openclaw.json");
  writeFileSync(config, "{}");
  const client = startRpc();
  running.push(client);
  await client.call("initialize", { ...home, watch: false });
  await client.call("memory.index");
  writeFileSync(config, JSON.stringify({ agents: { defaults: { memorySearch: { extraPaths: [more] } } } }));
  const place = ["--state-dir", home.stateDir, "--workspace", home.workspace, "--json"];
  expect(JSON.parse((await memq(["memory", "index", ...place])).stdout)).toMatchObject({ added: 1 });
  expect(await client.call("memory.index")).toMatchObject({ removed: 0 });
  expect(JSON.parse((await memq(["memory", "index", ...place])).stdout)).toMatchObject({ added: 0, removed: 0 });
  expect((await client.end()).stderr).toContain(`stays: ${config} has changed since this process read it.`);
});

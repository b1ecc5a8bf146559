// User names, passwords and tokens in the address of a model are for the server alone.
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { memq } from "../cli/program.ts";
import { standIn } from "../embed/servers/stand-in.ts";
import { openAiWire } from "../embed/servers/wires.ts";
import { homesUntilEnd } from "./homes.ts";

setDefaultTimeout(30_000);

const homeOf = homesUntilEnd();
const SECRET = /hunter2-password|token-77777/;

test.each(["v1", "model.gguf"])("nobody prints them of an address that ends in %s", async (end) => {
  const address = `http://me:hunter2-password@127.0.0.1:1/${end}?token=token-77777`;
  const env = { QMD_EMBED_MODEL: `${address}#m`, QMD_RERANK_MODEL: address, QMD_GENERATE_MODEL: address };
  const home = await homeOf({ "notes/a.md": "the violin is in the attic\n" }, { env });
  const commands = [["pull"], ["embed"], ["status"], ["doctor"], ["vsearch", "violin"], ["query", "violin"]];
  for (const command of commands) {
    const { stdout, stderr } = await home.run(...command);
    expect(`${command.join(" ")}: ${stdout}${stderr}`).not.toMatch(SECRET);
  }
});

test("nor what says that the index holds embeddings of another model", async () => {
  const server = standIn(openAiWire);
  const env = { QMD_EMBED_MODEL: `${server.origin}/v1#m` };
  const home = await homeOf({ "notes/a.md": "the violin is in the attic\n" }, { env });
  await home.run("embed");
  await server.stop();
  const address = "https://me:hunter2-password@127.0.0.1:1/x.gguf?token=token-77777";
  home.configure(`models: { embed: "${address}" }\ncollections: { notes: { path: $ROOT/notes } }\n`);
  const { stderr } = await home.run("vsearch", "violin");
  expect(stderr).toContain("embeddings of m, not of https://127.0.0.1:1/x.gguf");
  expect(stderr).not.toMatch(SECRET);
});

test("nor does an agent's memory", async () => {
  const home = await homeOf({ "memory/a.md": "the violin is in the attic\n" });
  const modelPath = "http://me:hunter2-password@127.0.0.1:1/model.gguf?token=token-77777";
  mkdirSync(join(home.root, "state"));
  const config = join(home.root, "openclaw.json");
  writeFileSync(config, JSON.stringify({ memory: { search: { provider: "local", local: { modelPath } } } }));
  const place = ["--workspace", home.root, "--state-dir", join(home.root, "state"), "--config", config];
  for (const command of [["index"], ["status", "--deep"], ["status", "--json"], ["search", "violin"]]) {
    const { stdout, stderr } = await memq(["memory", ...command, ...place]);
    expect(`${command.join(" ")}: ${stdout}${stderr}`).not.toMatch(SECRET);
  }
});

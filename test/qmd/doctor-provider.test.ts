import { afterEach, expect, test } from "bun:test";
import { standIn, type StandIn } from "../embed/servers/stand-in.ts";
import { openAiWire } from "../embed/servers/wires.ts";
import { collectionsYaml, type QmdTestHome, qmdHome } from "./homes.ts";

const KEY = "secret-key-0123456789";
let server: StandIn;
let home: QmdTestHome;

afterEach(async () => {
  home.remove();
  await server.stop();
});

async function homeAt(misbehave: StandIn["misbehave"] = {}): Promise<void> {
  server = standIn(openAiWire);
  server.misbehave = misbehave;
  const yaml = collectionsYaml(["notes"], `models:\n  embed: ${server.origin}/v1#small\n`);
  home = await qmdHome({ "notes/a.md": "# A\nA note.\n" }, { yaml, env: { MEMQ_EMBED_API_KEY: KEY } });
}

test("doctor says which provider there is, why, whose key it gets and how fast it is", async () => {
  await homeAt();
  const { stdout, exitCode } = await home.run("doctor");
  expect(exitCode).toBe(0);
  const line = stdout.split("\n").find((text) => text.includes("embedding provider"));
  expect(line).toMatch(
    /^✓ embedding provider: openai-compatible, small at http:\S+\/v1: 8 dimensions in \d+ ms, [\d.]+ texts/,
  );
  expect(stdout).toContain("chosen by models.embed in ");
  expect(stdout).toContain("key from environment variable MEMQ_EMBED_API_KEY");
  expect(stdout).not.toContain(KEY);
});

test("doctor says what a provider that refuses says, without the key", async () => {
  await homeAt({ failFirst: { times: 9, status: 401, body: `no ${KEY}` } });
  const { stdout, exitCode } = await home.run("doctor");
  expect(exitCode).toBe(0);
  expect(stdout).toContain("⚠ embedding provider: openai-compatible, small at ");
  expect(stdout).toContain("401 no [redacted]");
  expect(stdout).not.toContain(KEY);
});

// `store.vector`: whether SQLite's vector extension is used, and which; both settings once had no effect.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { memq } from "../cli/program.ts";
import { standIn } from "../embed/servers/stand-in.ts";
import { openAiWire } from "../embed/servers/wires.ts";
import { makeHome } from "../gateway/client.ts";

// Several processes start in turn, perhaps on a busy machine.
setDefaultTimeout(20_000);

const server = standIn(openAiWire);
afterAll(() => server.stop());

const NOTES = { "memory/heron.md": "A heron stands by the pond.\n", "memory/violin.md": "The violin was tuned.\n" };

function homeWith(vector: object): { stateDir: string; run: (...args: string[]) => ReturnType<typeof memq> } {
  const { workspace, stateDir } = makeHome(NOTES);
  const remote = { baseUrl: `${server.origin}/v1` };
  const memorySearch = { provider: "openai-compatible", model: "m", remote, store: { vector } };
  mkdirSync(stateDir, { recursive: true });
  writeFileSync(join(stateDir, "openclaw.json"), JSON.stringify({ agents: { defaults: { memorySearch } } }));
  const options = ["--workspace", workspace, "--state-dir", stateDir];
  return { stateDir, run: (...args) => memq(["memory", ...args, ...options]) };
}

async function outcomeWith(vector: object) {
  const { stateDir, run } = homeWith(vector);
  const { exitCode, stderr } = await run("index");
  expect(exitCode).toBe(0);
  const [{ status }] = JSON.parse((await run("status", "--json")).stdout);
  const { results } = JSON.parse((await run("search", "heron", "--json")).stdout);
  return { stateDir, stderr, status, results };
}

/** sqlite-vec as installed here, null where its library is none of this platform's. */
function installed(): string | null {
  try {
    const suffix = process.platform === "darwin" ? "dylib" : "so";
    return Bun.resolveSync(`sqlite-vec-${process.platform}-${process.arch}/vec0.${suffix}`, import.meta.dir);
  } catch {
    return null;
  }
}

test("without the extension vectors are compared in process, with the same answers", async () => {
  const usual = await outcomeWith({});
  const without = await outcomeWith({ enabled: false });
  expect(without.status.vector).toMatchObject({ available: true, engine: "packed", missing: 0 });
  expect(without.stderr).toBe("");
  expect(without.results).toEqual(usual.results);
});

test("a library that can't be loaded is told of, and vectors are compared in process", async () => {
  const { stateDir, stderr, status, results } = await outcomeWith({ extensionPath: "missing/vec0" });
  const path = join(stateDir, "missing/vec0");
  expect(stderr).toContain(`sqlite-vec unavailable: ${path} could not be loaded`);
  expect(status.vector).toMatchObject({ engine: "packed", extensionPath: path });
  expect(status.vector.loadError).toContain("sqlite-vec unavailable");
  expect(status.issues).toEqual([expect.stringContaining("store.vector.extensionPath")]);
  expect(results[0]).toMatchObject({ path: "memory/heron.md", vectorScore: expect.any(Number) });
});

test.skipIf(installed() === null || process.platform !== "linux")("another library is used than ours", async () => {
  const { stateDir, run } = homeWith({ extensionPath: "own-vec.so" });
  copyFileSync(installed() ?? "", join(stateDir, "own-vec.so"));
  await run("index");
  const [{ status }] = JSON.parse((await run("status", "--json")).stdout);
  expect(status.vector).toMatchObject({ engine: "vec0", extensionPath: join(stateDir, "own-vec.so") });
  expect(status.vector.loadError).toBeUndefined();
});

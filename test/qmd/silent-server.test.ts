// Servers that take connections and keep silent, as the whole program meets them.
import { expect, setDefaultTimeout, test } from "bun:test";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { memq } from "../cli/program.ts";
import { homesUntilEnd, type QmdTestHome } from "./homes.ts";

setDefaultTimeout(60_000);

const homeOf = homesUntilEnd();

const NOTES = Object.fromEntries(
  Array.from({ length: 300 }, (_, n) => [`n/${n}.md`, `# Note ${n}\n\nwhat is known of ${n}: ${"word ".repeat(60)}\n`]),
);

/** Takes connections and reads what comes, and never says a word. */
function silentServer(): { model: string; origin: string; stop: () => unknown } {
  const listener = Bun.listen({ port: 0, hostname: "127.0.0.1", socket: { data: () => {} } });
  const origin = `http://127.0.0.1:${listener.port}`;
  return { origin, model: `${origin}/v1#m`, stop: () => listener.stop(true) };
}

/** Answers each request for embeddings after `pauseOf` milliseconds; never where that is null. */
function slowServer(pauseOf: (count: number) => number | null): { model: string; origin: string; stop: () => unknown } {
  let count = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      if (request.method === "GET") return Response.json({ data: [{ id: "m" }] });
      const { input } = (await request.json()) as { input: string[] };
      const pause = pauseOf(++count);
      await (pause === null ? new Promise(() => {}) : Bun.sleep(pause));
      return Response.json({ data: input.map((text, index) => ({ index, embedding: [text.length, 1, 2] })) });
    },
  });
  const origin = `http://127.0.0.1:${server.port}`;
  return { origin, model: `${origin}/v1#m`, stop: () => server.stop(true) };
}

/** Closes the first connection, as a server that starts, and hands the others on to `port`. */
async function startingServer(port: number): Promise<{ model: string; origin: string; stop: () => unknown }> {
  let count = 0;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    if (++count === 1) socket.once("data", () => socket.destroy());
    else socket.pipe(connect(port, "127.0.0.1").on("error", () => {})).pipe(socket);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin, model: `${origin}/v1#m`, stop: () => server.close() };
}

function qmdHomeWith(model: string): Promise<QmdTestHome> {
  return homeOf(NOTES, { env: { QMD_EMBED_MODEL: model } });
}

/** The arguments that place an agent's home with some notes and `search` settings. */
async function agentHome(search: object, notes = {}): Promise<string[]> {
  const home = await homeOf({
    ...notes,
    "memory/2026-02-10.md": "the cameras were moved to the porch\n",
    "memory/x.md": "plain\n",
  });
  const config = join(home.root, "openclaw.json");
  mkdirSync(join(home.root, "state"));
  writeFileSync(config, JSON.stringify({ memory: { search } }));
  return ["--workspace", home.root, "--state-dir", join(home.root, "state"), "--config", config];
}

// All at the same time, since each of them is a wait.
test("embedding through a server that is silent or slow ends as it should", async () => {
  const silent = silentServer();
  // Longer than a server that says nothing is waited for: it lists its models meanwhile.
  const slow = slowServer((count) => (count === 1 ? 13_000 : 0));
  const loading = slowServer((count) => (count === 1 ? 6_000 : 0));
  const starting = await startingServer(Number(new URL(loading.origin).port));
  const middle = slowServer((count) => (count <= 1 ? 0 : null));
  const remote = (origin: string) => ({ provider: "openai", remote: { baseUrl: `${origin}/v1`, apiKey: "k" } });
  const [qmdSilent, qmdForced, qmdSlow, qmdStarting] = await Promise.all(
    [silent, silent, slow, starting].map(({ model }) => qmdHomeWith(model)),
  );
  const place = await agentHome(remote(silent.origin));
  const many = Object.fromEntries(Object.entries(NOTES).map(([path, text]) => [`memory/${path}`, text]));
  const halfway = await agentHome({ ...remote(middle.origin), sync: { embeddingBatchTimeoutSeconds: 1 } }, many);
  const [embed, forced, patient, begun, index, left] = await Promise.all([
    qmdSilent!.run("embed"),
    qmdForced!.run("embed", "--force"),
    qmdSlow!.run("embed"),
    qmdStarting!.run("embed"),
    memq(["memory", "index", ...place]),
    memq(["memory", "index", ...halfway]),
  ]);
  const said = `${silent.origin} took the request and gave no answer within 11.5 s.`;
  for (const outcome of [embed, forced]) {
    expect(outcome.exitCode).toBe(1);
    expect(outcome.stderr).toMatch(
      /^Waiting for \S+ to embed a first text with m, which it may have to load: no answer for \d+ s\.\n/,
    );
    expect(outcome.stderr).toContain(said);
    expect(outcome.stderr).toContain("models.embed");
  }
  expect(patient.exitCode).toBe(0);
  expect(patient.stderr).toStartWith(`Waiting for ${slow.origin} to embed a first text with m`);
  expect(patient.stdout).toContain("Embedded 300 chunks from 300 documents");
  // That the first connection was closed is no answer, after which silence would be told of later.
  expect(begun.exitCode).toBe(0);
  expect(begun.stderr).toStartWith(`Waiting for ${starting.origin} to embed a first text with m`);
  expect(index.exitCode).toBe(1);
  expect(index.stdout).toContain("2 files, 2 passages indexed");
  expect(index.stderr).toContain(said);
  expect(left.exitCode).toBe(1);
  expect(left.stdout).toMatch(/302 files, 302 passages indexed\.\n.* [1-9]\d* embedded/);
  expect(left.stderr).toContain(`${middle.origin} gives no answer`);
  for (const server of [silent, slow, loading, starting, middle]) server.stop();
});

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { seededCorpus, writeNotes } from "./corpus.ts";
import { type RpcClient, startRpc } from "./rpc-client.ts";
import type { Figure } from "./timing.ts";

/** How soon a session ends, hears of a note that another process writes, and does without a server that gives no answer. */
export async function benchSessions(memq: string, folder: string): Promise<Figure[]> {
  const workspace = join(folder, "sessions-workspace");
  writeNotes(seededCorpus(13), workspace, 2_000);
  const open = async (state: string, watch = false): Promise<RpcClient> => {
    const rpc = startRpc(memq, { HOME: folder });
    await rpc.call("initialize", { workspace, stateDir: join(folder, state), watch });
    return rpc;
  };
  const ended = async (rpc: RpcClient): Promise<number> => {
    const start = Bun.nanoseconds();
    if ((await rpc.end()) !== 0) throw new Error("memq rpc failed");
    return (Bun.nanoseconds() - start) / 1e6;
  };
  const figures: Figure[] = [];
  const add = (what: string, value: number, max: number): void =>
    void figures.push({ what, value, unit: "ms", goal: { kind: "value", max } });

  add("rpc ends in the middle of a first sync", await ended(await open("sessions-new")), 1000);
  const rpc = await open("sessions-state");
  await rpc.call("memory.index");
  add("rpc ends with its input", await ended(rpc), 1000);
  const busy = await open("sessions-state");
  // What is cancelled is an error, and no answer that anybody waits for.
  for (let n = 0; n < 4_000; n++) busy.call("memory.search", { query: `line ${n} of a list` }).catch(() => {});
  add("rpc ends behind 4,000 searches", await ended(busy), 1000);
  add("a note of another process is found", await foundAfter(await open("sessions-state", true), workspace), 3000);
  add("query whose provider gives no answer", await answeredWithout(memq, folder), 3000);
  return figures;
}

/** Milliseconds until a watching session finds a note that was written beside it. */
async function foundAfter(rpc: RpcClient, workspace: string): Promise<number> {
  await rpc.call("memory.index");
  const start = Bun.nanoseconds();
  writeFileSync(join(workspace, "memory/of-another.md"), "The zyzzyva was seen.\n");
  for (;;) {
    const { results } = (await rpc.call("memory.search", { query: "zyzzyva" })) as { results: unknown[] };
    if (results.length > 0) break;
    await Bun.sleep(10);
  }
  const ms = (Bun.nanoseconds() - start) / 1e6;
  await rpc.end();
  return ms;
}

/** Milliseconds of a `query` with an embedding server that takes the question and says nothing. */
async function answeredWithout(memq: string, folder: string): Promise<number> {
  let isSilent = false;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      if (isSilent) return new Promise<Response>(() => {});
      const { input } = (await request.json()) as { input: string | string[] };
      return Response.json({ data: [input].flat().map((_, index) => ({ index, embedding: [1, 0, 0, 1] })) });
    },
  });
  const notes = join(folder, "sessions-notes");
  mkdirSync(notes);
  writeFileSync(join(notes, "a.md"), "The router stands in the hall.\n");
  const env = { HOME: folder, QMD_EMBED_MODEL: `http://127.0.0.1:${server.port}/v1#m` };
  const run = async (...args: string[]): Promise<void> => {
    const child = Bun.spawn([memq, ...args], { env, cwd: notes, stdout: "ignore", stderr: "ignore" });
    if ((await child.exited) !== 0) throw new Error(`memq ${args[0]} failed`);
  };
  await run("collection", "add", ".", "--name", "n");
  await run("embed");
  isSilent = true;
  const start = Bun.nanoseconds();
  await run("query", "router hall");
  const ms = (Bun.nanoseconds() - start) / 1e6;
  await server.stop(true);
  return ms;
}

import { expect, test } from "bun:test";
import { openIndex } from "../../src/store/open.ts";
import { jobStoreOf } from "../../src/sync/job-store.ts";
import { syncIndex } from "../../src/sync/sync.ts";
import { batchServer, withOpenAiBatches } from "../embed/servers/batch-api.ts";
import { standIn } from "../embed/servers/stand-in.ts";
import { openAiWire } from "../embed/servers/wires.ts";
import { homeOf, tempFolder, writeNotes } from "./helpers.ts";

/** A home of `count` notes whose provider takes batch jobs. */
async function homeWithJobs(count: number) {
  const state = batchServer();
  const server = standIn(withOpenAiBatches(openAiWire, state));
  const root = tempFolder();
  const names = Array.from({ length: count }, (_, i) => `note-${i}`);
  writeNotes(root, Object.fromEntries(names.map((name) => [`${name}.md`, `# ${name}\nwords of ${name}\n`])));
  const home = homeOf(root);
  Object.assign(home.embedding, {
    provider: "openai",
    explicit: true,
    baseUrl: `${server.origin}/v1`,
    apiKey: "key-1",
  });
  home.embedding.batch = { enabled: true, wait: true, concurrency: 2, pollIntervalMs: 1, timeoutMinutes: 1 };
  return { state, server, root, home };
}

test("while a batch job is awaited, others can write", async () => {
  const { state, server, root, home } = await homeWithJobs(20);
  state.isHeld = true;
  let isDone = false;
  const waiting = syncIndex(home).finally(() => (isDone = true));
  while (state.created.length === 0) await Bun.sleep(1);
  writeNotes(root, { "late.md": "# late\na late note\n" });
  const other = await syncIndex(home, { embed: false });
  expect(isDone).toBe(false);
  state.isHeld = false;
  const report = await waiting;
  // Each look for the job's results looks for new notes too, so that either may have been first.
  expect([other.files, other.added + report.added]).toEqual([21, 21]);
  expect(report).toMatchObject({ files: 21, embedding: { state: "complete" } });
  expect(state.embedded.length + server.embedded.length).toBe(21);
  expect(report.embedded).toBe(21);
  await server.stop();
});

test("a batch job that takes too long is replaced by ordinary requests", async () => {
  const { state, server, home } = await homeWithJobs(20);
  state.polls = 1_000_000;
  home.embedding.batch.timeoutMinutes = 0.001;
  expect(await syncIndex(home)).toMatchObject({ embedded: 20, embedding: { state: "complete" } });
  expect(server.embedded.length).toBe(20);
  await server.stop();
});

test("a sync cancelled while it awaits a batch job ends at once; the next one fetches the result", async () => {
  const { state, server, home } = await homeWithJobs(20);
  state.polls = 2;
  home.embedding.batch.pollIntervalMs = 60_000;
  const cancel = new AbortController();
  const waiting = syncIndex(home, { signal: cancel.signal });
  waiting.catch(() => {});
  while (state.created.length === 0) await Bun.sleep(1);
  await syncIndex(home, { embed: false });
  cancel.abort();
  expect(waiting).rejects.toMatchObject({ code: "SYNC_CANCELLED" });
  home.embedding.batch.pollIntervalMs = 1;
  expect(await syncIndex(home)).toMatchObject({ embedded: 20, embedding: { state: "complete" } });
  expect(state.created.length).toBe(1);
  await server.stop();
});

test("a batch job that is not awaited is fetched by the next sync", async () => {
  const { state, server, home } = await homeWithJobs(300);
  home.embedding.batch.wait = false;
  const first = await syncIndex(home);
  expect(first.embedding.state).toBe("pending");
  expect(state.created.length).toBe(1);

  state.polls = 0;
  const index = openIndex(home.indexPath, { mode: "read" });
  const [job] = await jobStoreOf(index).load();
  index.close();
  expect(job?.keys.length).toBe(300);

  home.embedding.batch.wait = true;
  const second = await syncIndex(home);
  expect(second.embedding.state).toBe("complete");
  expect(state.created.length).toBe(1);
  expect(state.embedded.length).toBe(300);
  expect(server.embedded).toEqual([]);
  const third = await syncIndex(home);
  expect(third).toMatchObject({ embedded: 0, embedding: { state: "complete" } });
  await server.stop();
});

test("a batch job that failed was replaced by ordinary requests in silence", async () => {
  const { state, server, home } = await homeWithJobs(20);
  state.end = "failed";
  const report = await syncIndex(home);
  expect(report).toMatchObject({ embedded: 20, embedding: { state: "complete" } });
  expect(report.warnings).toEqual([
    expect.stringMatching(/^A batch job of openai failed, and its texts were sent by ordinary requests: .*on holiday/s),
  ]);
  await server.stop();
});

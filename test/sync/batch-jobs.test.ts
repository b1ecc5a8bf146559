import { expect, test } from "bun:test";
import { openIndex } from "../../src/store/open.ts";
import { jobStoreOf } from "../../src/sync/job-store.ts";
import { syncIndex } from "../../src/sync/sync.ts";
import { batchServer, withOpenAiBatches } from "../embed/servers/batch-api.ts";
import { standIn } from "../embed/servers/stand-in.ts";
import { openAiWire } from "../embed/servers/wires.ts";
import { homeOf, tempFolder, writeNotes } from "./helpers.ts";

test("a batch job that is not awaited is fetched by the next sync", async () => {
  const state = batchServer();
  const server = standIn(withOpenAiBatches(openAiWire, state));
  const root = tempFolder();
  const names = Array.from({ length: 300 }, (_, i) => `note-${i}`);
  writeNotes(root, Object.fromEntries(names.map((name) => [`${name}.md`, `# ${name}\nwords of ${name}\n`])));
  const home = homeOf(root);
  Object.assign(home.embedding, {
    provider: "openai",
    explicit: true,
    baseUrl: `${server.origin}/v1`,
    apiKey: "key-1",
  });
  home.embedding.batch = { enabled: true, wait: false, concurrency: 2, pollIntervalMs: 1, timeoutMinutes: 1 };

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

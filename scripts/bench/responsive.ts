import { join } from "node:path";
import { seededCorpus, writeNotes } from "./corpus.ts";
import { startRpc } from "./rpc-client.ts";
import { type Figure, percentile } from "./timing.ts";

/** How long `ping` and `memory.search` take in one `memq rpc` while it indexes 5,000 notes by force. */
export async function benchResponsive(memq: string, folder: string): Promise<Figure[]> {
  const workspace = join(folder, "responsive-workspace");
  const corpus = seededCorpus(11);
  writeNotes(corpus, workspace, 5_000);
  const rpc = startRpc(memq, { HOME: folder });
  await rpc.call("initialize", { workspace, stateDir: join(folder, "responsive-state"), watch: false });
  await rpc.call("memory.index");
  const state = { indexing: true };
  const indexed = rpc.call("memory.index", { force: true }).finally(() => (state.indexing = false));
  const pings: number[] = [];
  const searches: number[] = [];
  const timed = async (samples: number[], method: string, params: Record<string, unknown>): Promise<void> => {
    const start = Bun.nanoseconds();
    await rpc.call(method, params);
    samples.push((Bun.nanoseconds() - start) / 1e6);
  };
  for (let n = 0; state.indexing; n++) {
    await timed(pings, "ping", {});
    await timed(searches, "memory.search", {
      query: `${corpus.word(200 + (n % 5_000))} ${corpus.word(40 + (n % 300))}`,
      maxResults: 6,
    });
    // A gateway asks now and then; a tight loop would measure the queue behind its own requests.
    await Bun.sleep(5);
  }
  await indexed;
  await rpc.end();
  const row = (what: string, samples: number[]): Figure => ({
    what: `${what} while 5,000 notes are indexed, p95 of ${samples.length}`,
    value: percentile(samples, 0.95),
    unit: "ms",
    goal: { kind: "value", max: 50 },
  });
  return [row("ping", pings), row("memory.search", searches)];
}

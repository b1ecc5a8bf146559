import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startRpc } from "./rpc-client.ts";
import { type Figure, percentile } from "./timing.ts";

const ENTRIES = 500;
const MESSAGES = 400;

/** How long trigger recall takes in a warm `memq rpc` with 500 trusted entries: it runs before every reply. */
export async function benchRecall(memq: string, folder: string): Promise<Figure[]> {
  const workspace = join(folder, "recall-workspace");
  mkdirSync(workspace, { recursive: true });
  const topics = ["gateway", "router", "invoice", "standup"];
  const entries = Array.from(
    { length: ENTRIES },
    (_, n) => `- Entry ${n} about the ${topics[n % topics.length]}. <!-- trigger: topic${n} setup, rule${n} -->`,
  );
  writeFileSync(join(workspace, "MEMORY.md"), `# Memory\n${entries.join("\n")}\n`);
  const rpc = startRpc(memq, { HOME: folder });
  await rpc.call("initialize", { workspace, stateDir: join(folder, "recall-state"), watch: false });
  await rpc.call("memory.index");
  const samples: number[] = [];
  for (let n = -50; n < MESSAGES; n++) {
    const start = Bun.nanoseconds();
    await rpc.call("memory.recall", { message: `what about topic${(n + 50) % ENTRIES} setup for the gateway?` });
    if (n >= 0) samples.push((Bun.nanoseconds() - start) / 1e6);
  }
  await rpc.end();
  const what = `rpc, warm recall of ${ENTRIES} entries`;
  return [
    { what: `${what}, p50`, value: percentile(samples, 0.5), unit: "ms" },
    { what: `${what}, p99`, value: percentile(samples, 0.99), unit: "ms", goal: { kind: "value", max: 10 } },
  ];
}

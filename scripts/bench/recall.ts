import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startRpc } from "./rpc-client.ts";
import { type Figure, percentile } from "./timing.ts";

const ENTRIES = 500;
const MESSAGES = 400;
/** Every so many messages the file is edited. */
const EDITED = 50;

/** How long trigger recall takes in a warm `memq rpc` with 500 trusted entries: it runs before every reply. */
export async function benchRecall(memq: string, folder: string): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const backend of ["builtin", "qmd"]) figures.push(...(await recallWith(memq, folder, backend)));
  return figures;
}

async function recallWith(memq: string, folder: string, backend: string): Promise<Figure[]> {
  const workspace = join(folder, `recall-${backend}`);
  mkdirSync(workspace, { recursive: true });
  const topics = ["gateway", "router", "invoice", "standup"];
  const write = (edition: number): void => {
    const entries = Array.from(
      { length: ENTRIES },
      (_, n) => `- Entry ${n} about the ${topics[n % topics.length]}. <!-- trigger: topic${n} setup, rule${n} -->`,
    );
    writeFileSync(join(workspace, "MEMORY.md"), `# Memory, edition ${edition}\n${entries.join("\n")}\n`);
  };
  write(0);
  const rpc = startRpc(memq, { HOME: folder });
  const config = { memory: { backend } };
  await rpc.call("initialize", { workspace, stateDir: join(folder, `recall-state-${backend}`), watch: false, config });
  await rpc.call("memory.index");
  const recalled = async (n: number): Promise<number> => {
    const start = Bun.nanoseconds();
    await rpc.call("memory.recall", { message: `what about topic${(n + 50) % ENTRIES} setup for the gateway?` });
    return (Bun.nanoseconds() - start) / 1e6;
  };
  const samples: number[] = [];
  const edited: number[] = [];
  for (let n = -50; n < MESSAGES; n++) {
    const ms = await recalled(n);
    if (n >= 0) samples.push(ms);
    if (n < 0 || n % EDITED > 0) continue;
    write(n + 1);
    edited.push(await recalled(n));
  }
  await rpc.end();
  const what = `rpc, ${backend}, warm recall of ${ENTRIES} entries`;
  return [
    { what: `${what}, p50`, value: percentile(samples, 0.5), unit: "ms" },
    { what: `${what}, p99`, value: percentile(samples, 0.99), unit: "ms", goal: { kind: "value", max: 10 } },
    { what: `${what}, just edited, p50`, value: percentile(edited, 0.5), unit: "ms" },
  ];
}

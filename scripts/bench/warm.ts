import { Database } from "bun:sqlite";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { indexTokens } from "../../src/search/tokens.ts";
import { type Corpus, seededCorpus, writeNotes } from "./corpus.ts";
import { type RpcClient, startRpc } from "./rpc-client.ts";
import { type Figure, percentile } from "./timing.ts";

const RESULTS = 6;
const REPEATS = 150;
/** After this long without work a process counts as idle, and has given back what it needed to start. */
const IDLE_MS = 5_000;

/**
 * One `memq rpc` that has `notes` notes indexed: its memory when idle, and keyword searches in turn with a bare FTS5 query of the same
 * words, which looks up ranks alone and shows nothing.
 */
export async function benchWarm(memq: string, folder: string, notes: number): Promise<Figure[]> {
  const workspace = join(folder, "warm-workspace");
  const stateDir = join(folder, "warm-state");
  const corpus = seededCorpus(5);
  writeNotes(corpus, workspace, notes);
  const start = async (): Promise<RpcClient> => {
    const rpc = startRpc(memq, { HOME: folder });
    await rpc.call("initialize", { workspace, stateDir, watch: false });
    return rpc;
  };
  const first = await start();
  await first.call("memory.index");
  await first.end();

  const rpc = await start();
  await rpc.call("memory.search", { query: corpus.word(900), maxResults: RESULTS });
  await Bun.sleep(IDLE_MS);
  const idle: Figure = {
    what: `rpc, idle with ${notes} notes, resident`,
    value: (await rpc.residentBytes()) / 1e6,
    unit: "MB",
    goal: { kind: "value", max: 80 },
  };
  const index = new Database(indexIn(stateDir), { readonly: true });
  const figures = [idle];
  for (const [kind, queryAt] of Object.entries(queries(corpus))) {
    figures.push(...(await besideBareFts5(rpc, index, kind, queryAt)));
  }
  index.close();
  await rpc.end();
  return figures;
}

function indexIn(stateDir: string): string {
  const folder = join(stateDir, "memory");
  const name = readdirSync(folder).find((one) => one.endsWith(".sqlite"));
  if (name === undefined) throw new Error(`no index in ${folder}`);
  return join(folder, name);
}

/** Words that few, some and most notes hold, and an identifier with a word in it that all hold; each question is another one. */
function queries(corpus: Corpus): Record<string, (n: number) => string> {
  return {
    rare: (n) => `${corpus.word(20_000 + n * 97)} ${corpus.word(15_000 + n * 31)}`,
    identifier: (n) => `NOTE-${n * 17}`,
    middling: (n) => `${corpus.word(2_000 + n * 13)} ${corpus.word(1_500 + n * 7)}`,
    frequent: (n) => `${corpus.word(30 + n)} ${corpus.word(45 + n)} ${corpus.word(60 + n)}`,
  };
}

async function besideBareFts5(
  rpc: RpcClient,
  index: Database,
  kind: string,
  queryAt: (n: number) => string,
): Promise<Figure[]> {
  const bare = index.query("SELECT rowid, rank FROM memq_fts WHERE memq_fts MATCH ? ORDER BY rank LIMIT ?");
  const ours: number[] = [];
  const theirs: number[] = [];
  // The first questions let both sides compile what they run.
  for (let n = -20; n < REPEATS; n++) {
    const query = queryAt(Math.abs(n));
    const match = indexTokens(query)
      .map((token) => `"${token.replaceAll('"', '""')}"`)
      .join(" OR ");
    const begin = Bun.nanoseconds();
    bare.all(match, RESULTS);
    const between = Bun.nanoseconds();
    await rpc.call("memory.search", { query, maxResults: RESULTS });
    if (n < 0) continue;
    theirs.push((between - begin) / 1e6);
    ours.push((Bun.nanoseconds() - between) / 1e6);
  }
  return [
    { share: 0.5, max: 2 },
    { share: 0.99, max: 4 },
  ].map(({ share, max }) => {
    const value = percentile(ours, share);
    const base = percentile(theirs, share);
    return {
      what: `rpc, warm search, ${kind} words, p${share * 100}`,
      value,
      unit: "ms",
      against: { name: `bare FTS5 (${base.toFixed(2)} ms)`, ratio: value / base },
      goal: { kind: "ratio" as const, max },
    };
  });
}

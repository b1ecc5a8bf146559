import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { seededCorpus, writeNotes } from "./corpus.ts";
import { startRpc } from "./rpc-client.ts";
import { type Figure, median, timedRun } from "./timing.ts";

const SEARCHES = 60;

/** What one size of home costs, in milliseconds. */
type Cost = { notes: number; index: number; update: number; search: number };

/**
 * How cost grows with the number of notes: a first index, an update with nothing changed, and a warm search for words that one note
 * holds, whatever their number. The exponent is the slope of a straight line through the logarithms of size and cost.
 */
export async function benchScale(memq: string, folder: string, sizes: number[]): Promise<Figure[]> {
  const costs: Cost[] = [];
  for (const notes of sizes) costs.push(await costOf(memq, join(folder, String(notes)), notes));
  const figures = costs.flatMap(({ notes, index, update, search }): Figure[] => [
    { what: `first index of ${notes} notes`, value: index, unit: "ms" },
    { what: `update of ${notes} notes, nothing changed`, value: update, unit: "ms" },
    { what: `warm search for rare words among ${notes} notes, p50`, value: search, unit: "ms" },
  ]);
  if (costs.length < 2) return figures;
  const row = (what: string, key: "index" | "search", max: number): Figure => ({
    what,
    value: exponent(costs.map((cost) => [cost.notes, cost[key]])),
    unit: "",
    goal: { kind: "value", max },
  });
  return [
    ...figures,
    row("first index, exponent of notes", "index", 1.15),
    row("search for rare words, exponent of notes", "search", 0.35),
  ];
}

async function costOf(memq: string, folder: string, notes: number): Promise<Cost> {
  const workspace = join(folder, "workspace");
  const stateDir = join(folder, "state");
  mkdirSync(folder, { recursive: true });
  const corpus = seededCorpus(13);
  const marked = {
    ...corpus,
    note: (n: number) => ({ ...corpus.note(n), text: `${corpus.note(n).text}\nThe mark ${markOf(n)}.\n` }),
  };
  writeNotes(marked, workspace, notes);
  // Files of the last moment are read a second time.
  await Bun.sleep(300);
  const env = { HOME: folder };
  const index = [memq, "memory", "index", "--workspace", workspace, "--state-dir", stateDir];
  const first = (await timedRun(index, { env })).ms;
  const updates: number[] = [];
  for (let round = 0; round < 3; round++) updates.push((await timedRun(index, { env })).ms);

  const rpc = startRpc(memq, env);
  await rpc.call("initialize", { workspace, stateDir, watch: false });
  const times: number[] = [];
  for (let n = -20; n < SEARCHES; n++) {
    const query = `${markOf((Math.abs(n) * 7) % notes)} ${markOf((Math.abs(n) * 13) % notes)}`;
    const begin = Bun.nanoseconds();
    await rpc.call("memory.search", { query, maxResults: 6 });
    if (n >= 0) times.push((Bun.nanoseconds() - begin) / 1e6);
  }
  await rpc.end();
  return { notes, index: first, update: median(updates), search: median(times) };
}

/** A word of letters that stands in one note alone. */
function markOf(n: number): string {
  const letters = Array.from(n.toString(26).padStart(4, "0"), (digit) =>
    String.fromCharCode(97 + Number.parseInt(digit, 26)),
  );
  return `q${letters.join("")}q`;
}

/** Slope of the least-squares line through the logarithms of the points. */
function exponent(points: [size: number, cost: number][]): number {
  const logs = points.map(([size, cost]) => [Math.log(size), Math.log(cost)] as const);
  const mean = (at: 0 | 1): number => logs.reduce((sum, point) => sum + point[at], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const covariance = logs.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0);
  return covariance / logs.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
}

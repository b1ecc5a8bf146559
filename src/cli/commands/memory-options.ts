import type { MemoryPlace } from "../../memory/service.ts";
import type { Invocation } from "../parse.ts";
import { value } from "../parse.ts";

/** Which agent and workspace a command is about: the common options of `memq memory` and `memq rpc`. */
export function memoryPlace(invocation: Invocation): MemoryPlace {
  return {
    agentId: value(invocation, "agent"),
    workspace: value(invocation, "workspace"),
    stateDir: value(invocation, "state-dir"),
    configPath: value(invocation, "config"),
  };
}

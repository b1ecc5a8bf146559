import { serveRpc } from "../../gateway/rpc.ts";
import type { Invocation } from "../parse.ts";
import { memoryPlace } from "./memory-options.ts";

/** `memq rpc`: ends with its input. */
export function run(invocation: Invocation): Promise<never> {
  return serveRpc(memoryPlace(invocation));
}

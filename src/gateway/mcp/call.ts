import { MemqError, messageOf } from "../../errors.ts";
import { isObject } from "../../json.ts";
import { RpcError } from "../jsonrpc.ts";
import { metaOf } from "./protocol.ts";
import { faultIn, withDefaults } from "./schema.ts";
import type { McpRequest } from "./server.ts";
import type { McpSurface, Tool, ToolAnswer, ToolCall } from "./surface.ts";
import { failure } from "./surface.ts";

/** Between two signs of life, for a client that ends what is silent for long. */
const PROGRESS_EVERY_MS = 1000;
/** More often than this nobody reads. */
const LEAST_MS_BETWEEN = 100;

/**
 * Runs the tool that `tools/call` names. Only a tool that doesn't exist is an error of the protocol; wrong arguments and failures are
 * answers, since the model that called can mend them.
 */
export async function callTool(surface: McpSurface, request: McpRequest): Promise<ToolAnswer> {
  const { name, arguments: given = {} } = request.params;
  const tool = (await surface.tools()).find((one) => one.name === name);
  if (tool === undefined) throw new RpcError("invalidParams", `Tool ${String(name)} not found`);
  if (!isObject(given)) throw new RpcError("invalidParams", "arguments must be an object");
  const args = withDefaults(given, tool.inputSchema);
  const fault = faultIn(args, tool.inputSchema);
  if (fault !== null) return failure(`Input validation error: Invalid arguments for tool ${tool.name}: ${fault}`);
  return run(tool, args, request);
}

async function run(tool: Tool, args: Record<string, unknown>, request: McpRequest): Promise<ToolAnswer> {
  const progress = progressOf(request);
  try {
    return await tool.run(args as never, progress.call);
  } catch (error) {
    if (error instanceof RpcError) throw error;
    const hint = error instanceof MemqError && error.hint !== undefined ? ` ${error.hint}` : "";
    // A mistake in a typed query is told in qmd's own words, nothing in front.
    const isMistake = error instanceof MemqError && error.code === "QUERY_SYNTAX";
    return failure(`${isMistake ? "" : "Error: "}${messageOf(error)}${hint}`);
  } finally {
    progress.end();
  }
}

/**
 * Reports on a call to a client that gave a progress token: what it waits for, when that changes and once a second. The number is the
 * seconds that have passed, which always grow; how many there will be is not known.
 */
function progressOf({ params, signal, notify }: McpRequest): { call: ToolCall; end(): void } {
  const { progressToken } = metaOf(params);
  if (typeof progressToken !== "string" && typeof progressToken !== "number")
    return { call: { signal, say: () => {}, heard: false }, end: () => {} };
  const startedAt = performance.now();
  let message = "Working";
  let reported = { seconds: 0, at: 0 };
  let ended = false;
  const report = (): void => {
    if (signal.aborted || ended) return;
    const now = performance.now();
    const seconds = Math.max(Math.round(now - startedAt) / 1000, reported.seconds + 0.001);
    reported = { seconds, at: now };
    notify("notifications/progress", { progressToken, progress: seconds, message });
  };
  const timer = setInterval(report, PROGRESS_EVERY_MS);
  return {
    call: {
      signal,
      heard: true,
      say(now) {
        message = now;
        if (performance.now() - reported.at >= LEAST_MS_BETWEEN) report();
      },
    },
    end() {
      ended = true;
      clearInterval(timer);
    },
  };
}

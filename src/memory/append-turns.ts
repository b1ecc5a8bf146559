import type { AgentHome } from "../home/agent-home.ts";
import type { AppendRequest, AppendResult } from "./append.ts";

/** The latest append to each workspace, of those that this process has not ended yet. */
const latest = new Map<string, Promise<unknown>>();

/**
 * As `appendForAgent`, after all that was asked for of the same workspace before it. Who waits for a lock gets it in any order, and so
 * does who waits for a module. What is cancelled while it waits, for other processes too, is not written.
 */
export function appendInTurn(agent: AgentHome, request: AppendRequest, signal: AbortSignal): Promise<AppendResult> {
  const append = async (): Promise<AppendResult> => {
    const { appendForAgent } = await import("./append.ts");
    signal.throwIfAborted();
    return appendForAgent(agent, request, signal);
  };
  const workspace = agent.home.workspace ?? "";
  const run = (latest.get(workspace) ?? Promise.resolve()).then(append, append);
  latest.set(workspace, run);
  const forget = (): void => {
    if (latest.get(workspace) === run) latest.delete(workspace);
  };
  run.then(forget, forget);
  return run;
}

/** Resolves when no append of this process is under way: one that was cut off would leave its lock beside the note. */
export async function appendsEnded(): Promise<void> {
  await Promise.allSettled(latest.values());
}

import { resolveAgentHome } from "../home/agent-home.ts";
import { normalizedAgentId } from "../home/agents.ts";
import type { JsonObject } from "../json.ts";
import { appendsEnded } from "./append-turns.ts";
import { builtinAgent, type ServedAgent, servedAgent } from "./backend.ts";
import type { Change, MemoryEngine } from "./engine.ts";
import { openMemoryEngine } from "./engine.ts";
import { untilUsable, withFallback } from "./fallback.ts";

/** Where an agent's memory is configured; what is not given is looked up. */
export type MemoryPlace = {
  agentId?: string | undefined;
  workspace?: string | undefined;
  stateDir?: string | undefined;
  configPath?: string | undefined;
  /** Merged over the configuration file. */
  config?: JsonObject | undefined;
};

/** The agents of one state folder, served by one process. */
export type MemoryService = {
  /** The engine of an agent, opened when first asked for; that of the service's own agent without an id. */
  engine(agentId?: string): Promise<MemoryEngine>;
  close(): Promise<void>;
};

export type ServiceOptions = {
  live: boolean;
  watch: boolean;
  log: (sentence: string) => void;
  onChanged?: (agentId: string, change: Change) => void;
};

/**
 * Serves the agents of a configuration. The service's own agent is the one that `place` names, else the configured default; a
 * workspace in `place` is that agent's, the others keep theirs. What could not be opened is tried again by the next call.
 */
export function openMemoryService(
  { agentId: named, workspace, ...place }: MemoryPlace,
  options: ServiceOptions,
): MemoryService {
  let own: Promise<MemoryEngine> | null = null;
  const others = new Map<string, Promise<MemoryEngine>>();
  const noted = new Set<string>();

  async function open(agentId: string | undefined, workspace: string | undefined): Promise<MemoryEngine> {
    const cwd = process.cwd();
    const resolved = await resolveAgentHome({ ...place, agentId, workspace, env: process.env, cwd });
    const agent = await servedAgent(resolved, cwd);
    if (agent.fallback !== undefined) options.log(`The qmd home can't be used: ${agent.fallback.reason}`);
    for (const issue of agent.home.issues) {
      if (!noted.has(issue)) options.log(issue);
      noted.add(issue);
    }
    const engine = await openServed(agent);
    if (agent.fallback === undefined) return engine;
    return untilUsable(engine, async () => {
      const again = await servedAgent(resolved, cwd);
      return again.qmd === undefined ? null : openServed(again);
    });
  }

  /** The engine of the home that serves an agent; for a qmd home, with the built-in index behind it. */
  async function openServed(agent: ServedAgent): Promise<MemoryEngine> {
    const { onChanged, ...rest } = options;
    const own = { ...rest, onChanged: (change: Change) => onChanged?.(agent.memory.agentId, change) };
    const engine = await openMemoryEngine(agent, own);
    if (agent.qmd === undefined) return engine;
    return withFallback(engine, (reason) => {
      options.log(`The qmd home can't be used: ${reason}`);
      return openMemoryEngine(builtinAgent(agent, reason), own);
    });
  }

  function ownEngine(): Promise<MemoryEngine> {
    if (own === null) {
      own = open(named, workspace);
      own.catch(() => (own = null));
    }
    return own;
  }

  return {
    async engine(agentId) {
      const first = await ownEngine();
      const id = agentId === undefined ? first.agent.memory.agentId : normalizedAgentId(agentId);
      if (id === first.agent.memory.agentId) return first;
      let other = others.get(id);
      if (other === undefined) {
        other = open(id, undefined);
        others.set(id, other);
        other.catch(() => others.delete(id));
      }
      return other;
    },
    async close() {
      await appendsEnded();
      const opened = await Promise.allSettled([own, ...others.values()]);
      await Promise.all(opened.map(async (one) => one.status === "fulfilled" && one.value?.close()));
    },
  };
}

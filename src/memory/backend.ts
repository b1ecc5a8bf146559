import { messageOf } from "../errors.ts";
import type { AgentHome } from "../home/agent-home.ts";
import type { Home, MemorySettings } from "../home/types.ts";
import { openIndex } from "../store/open.ts";

/** An agent with the home that serves it: its own, or the qmd home of `memory.backend: "qmd"`. */
export type ServedAgent = AgentHome & {
  backend: "builtin" | "qmd";
  /** Why the built-in index serves where the qmd home was wanted. */
  fallback?: { from: "qmd"; reason: string };
  /** What has to be brought up to date before a sync. */
  prepareSync?: () => Promise<void>;
};

/** When an engine syncs by itself, and how long a search may take. */
export type EngineTiming = {
  sync: MemorySettings["sync"];
  /** Sync when a process that stays begins. */
  onBoot: boolean;
  /** The first search waits for that sync, also when something is indexed already. */
  waitForBoot: boolean;
  searchDeadlineMs: number;
  /** Time between syncs with their preparation; 0 for none beyond those of `sync`. */
  intervalMs: number;
};

const SEARCH_DEADLINE_MS = 15_000;

/** The home that serves the agent; where its qmd home can't be used, the built-in one stands in. Nothing is written. */
export async function servedAgent(agent: AgentHome, cwd: string): Promise<ServedAgent> {
  if (!agent.memory.enabled || agent.memory.backend !== "qmd") return { ...agent, backend: "builtin" };
  try {
    const { agentQmdHome, writeAgentQmdConfig } = await import("../home/agent-qmd-home.ts");
    const qmd = await agentQmdHome(agent, cwd);
    openIndex(qmd.home.indexPath, { mode: "read" }).close();
    return {
      ...agent,
      home: withSearchMode(qmd.home, agent.memory),
      backend: "qmd",
      prepareSync: oneAfterAnother(async () => {
        await writeAgentQmdConfig(qmd);
        await exportTranscripts(agent.memory);
      }),
    };
  } catch (error) {
    return { ...agent, backend: "builtin", fallback: { from: "qmd", reason: messageOf(error) } };
  }
}

/** `work` as a function whose calls wait for each other, whatever became of the one before. */
function oneAfterAnother(work: () => Promise<void>): () => Promise<void> {
  let last = Promise.resolve();
  return () => (last = last.then(work, work));
}

/** `search` asks keywords alone and embeds nothing, `vsearch` vectors alone, `query` both. */
function withSearchMode(home: Home, { qmd }: MemorySettings): Home {
  if (qmd.searchMode === "search") return { ...home, embedding: { ...home.embedding, provider: "none" } };
  return { ...home, search: { ...home.search, hybrid: qmd.searchMode === "query" } };
}

async function exportTranscripts({ qmd, sessions }: MemorySettings): Promise<void> {
  if (!qmd.sessions.enabled) return;
  const { exportSessions } = await import("./export.ts");
  const { exportDir, retentionDays } = qmd.sessions;
  const keep = retentionDays === undefined ? {} : { retentionDays };
  await exportSessions({ sessionsDir: sessions.directory, exportDir, now: Date.now(), ...keep });
}

/** The timing that the agent's backend is configured with. */
export function engineTiming({ backend, memory }: ServedAgent): EngineTiming {
  if (backend === "builtin") {
    return {
      sync: memory.sync,
      onBoot: true,
      waitForBoot: false,
      searchDeadlineMs: SEARCH_DEADLINE_MS,
      intervalMs: 0,
    };
  }
  const { update, limits } = memory.qmd;
  return {
    sync: { ...memory.sync, watchDebounceMs: update.debounceMs, intervalMinutes: 0 },
    onBoot: update.onBoot,
    waitForBoot: update.waitForBootSync,
    searchDeadlineMs: limits.timeoutMs,
    intervalMs: update.intervalMs,
  };
}

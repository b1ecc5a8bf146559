import type { AgentHome } from "../home/agent-home.ts";
import { readFlush, writeFlush } from "../store/meta.ts";
import { openIndex } from "../store/open.ts";
import type { Index } from "../store/types.ts";
import { type FlushAnswer, flushAnswer } from "./flush.ts";
import { readSessions } from "./visibility.ts";

export type FlushRequest = {
  sessionKey: string;
  contextTokens: number;
  contextWindow: number;
  compactionCount: number;
  transcriptBytes?: number | undefined;
  workspaceAccess?: string | undefined;
};

/** Whether a flush is due now, from our own record and the gateway's `sessions.json`, which is read and never written. */
export function checkFlush(agent: AgentHome, index: Index, request: FlushRequest): FlushAnswer {
  const { memory, home } = agent;
  const key = request.sessionKey.toLowerCase();
  const recorded = readFlush(index, key)?.compactionCount ?? null;
  const gateways = readSessions(home.stateDir ?? "", memory.agentId).get(key)?.memoryFlushCompactionCount ?? null;
  const { sessionKey: _, ...question } = request;
  return flushAnswer(
    memory.flush,
    { ...question, flushedAt: [recorded, gateways].includes(request.compactionCount) ? request.compactionCount : null },
    { now: Date.now(), timeZone: memory.timeZone },
  );
}

/** Remembers that the flush of a compaction cycle has run. */
export function recordFlush(agent: AgentHome, request: { sessionKey: string; compactionCount: number }): void {
  // A single short statement: SQLite's own lock suffices, and a sync that holds the writer's lock for minutes is not waited for.
  const index = openIndex(agent.home.indexPath, { mode: "write" });
  try {
    writeFlush(index, request.sessionKey.toLowerCase(), request.compactionCount, Date.now());
  } finally {
    index.close();
  }
}

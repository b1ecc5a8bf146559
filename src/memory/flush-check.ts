import { asMemqError } from "../errors.ts";
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

/** Between two tries to write while somebody else does, and how long in all. */
const PAUSE_MS = 20;
const PATIENCE_MS = 60_000;

/**
 * Remembers that the flush of a compaction cycle has run. A single short statement: SQLite's own lock suffices, and a sync that holds
 * the writer's lock for minutes is not waited for, only its transactions. Meanwhile the process answers others.
 */
export async function recordFlush(
  agent: AgentHome,
  request: { sessionKey: string; compactionCount: number },
): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return writeOnce(agent.home.indexPath, request);
    } catch (error) {
      if (asMemqError(error).code !== "INDEX_BUSY" || Date.now() > end) throw error;
      await Bun.sleep(PAUSE_MS);
    }
  }
}

function writeOnce(
  path: string,
  { sessionKey, compactionCount }: { sessionKey: string; compactionCount: number },
): void {
  const index = openIndex(path, { mode: "write", patienceMs: 0 });
  try {
    writeFlush(index, sessionKey.toLowerCase(), compactionCount, Date.now());
  } finally {
    index.close();
  }
}

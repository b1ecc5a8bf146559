import { asMemqError } from "../errors.ts";
import type { AgentHome } from "../home/agent-home.ts";
import { readFlush, writeFlush } from "../store/meta.ts";
import { withWriterLock } from "../store/lock.ts";
import { openIndex, openReadyIndex } from "../store/open.ts";
import type { Index } from "../store/types.ts";
import { type FlushAnswer, flushAnswer } from "./flush.ts";
import { readSessions } from "./session-list.ts";

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

type Flush = { sessionKey: string; compactionCount: number };

/**
 * Remembers that the flush of a compaction cycle has run. A single short statement: SQLite's own lock suffices where the index is
 * ready, and a sync that holds the writer's lock for minutes is not waited for, only its transactions. An index that has to be made,
 * migrated or set aside first is a matter for the writer, whose lock is taken. Meanwhile the process answers others.
 */
export async function recordFlush(agent: AgentHome, request: Flush): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await writeOnce(agent.home.indexPath, request);
    } catch (error) {
      if (asMemqError(error).code !== "INDEX_BUSY" || Date.now() > end) throw error;
      await Bun.sleep(PAUSE_MS);
    }
  }
}

async function writeOnce(path: string, flush: Flush): Promise<void> {
  const ready = openReadyIndex(path, { patienceMs: 0 });
  if (ready !== null) return writeAndClose(ready, flush);
  const write = (): void => writeAndClose(openIndex(path, { mode: "write", patienceMs: 0 }), flush);
  return withWriterLock(path, write, { timeoutMs: 0 });
}

function writeAndClose(index: Index, { sessionKey, compactionCount }: Flush): void {
  try {
    writeFlush(index, sessionKey.toLowerCase(), compactionCount, Date.now());
  } finally {
    index.close();
  }
}

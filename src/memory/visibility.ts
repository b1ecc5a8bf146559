import { statSync } from "node:fs";
import { basename, join } from "node:path";
import { textOfFile } from "../home/read-text.ts";
import type { MemorySettings } from "../home/types.ts";
import { sessionIdOf } from "../notes/transcript.ts";

export type SessionVisibility = MemorySettings["visibility"];

/**
 * Whether an agent may ask another one's memory: `tools.agentToAgent`, whose patterns must match both and whose empty list allows every
 * agent. In a pattern `*` stands for any run of characters, and case does not matter.
 */
export function mayAskAgent(asking: string, asked: string, policy: MemorySettings["agentToAgent"]): boolean {
  if (asking === asked) return true;
  const patterns = policy.allow.map(agentPattern);
  const isAllowed = (agent: string): boolean =>
    patterns.length === 0 || patterns.some((pattern) => pattern.test(agent));
  return policy.enabled && isAllowed(asking) && isAllowed(asked);
}

function agentPattern(allowed: string): RegExp {
  const parts = allowed.split(/\*+/).map((part) => part.replace(/[.+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(".*")}$`, "i");
}

/** What a gateway's `sessions.json` says of one session; read, never written. */
export type SessionEntry = {
  sessionId: string;
  sessionFile: string | null;
  spawnedBy: string | null;
  compactionCount: number | null;
  memoryFlushCompactionCount: number | null;
};

/** What was read of an agent's `sessions.json`: gateways let it grow to megabytes, and every search of transcripts asks. */
const known = new Map<string, { stamp: string; sessions: Map<string, SessionEntry> }>();

/** The sessions of an agent by session key (lower case); empty when the gateway has written none, or nothing readable. */
export function readSessions(stateDir: string, agentId: string): ReadonlyMap<string, SessionEntry> {
  const path = join(stateDir, "agents", agentId, "sessions", "sessions.json");
  const stamp = stampOf(path);
  const before = known.get(path);
  if (before !== undefined && before.stamp === stamp) return before.sessions;
  const sessions = sessionsIn(path);
  if (stamp !== null) known.set(path, { stamp, sessions });
  return sessions;
}

const SETTLED_MS = 2000;

/** What changes with a file; null where there is none, or it changed so recently that it may do so once more without showing it. */
function stampOf(path: string): string | null {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(path);
    return Date.now() - ctimeMs < SETTLED_MS ? null : `${ino}:${size}:${mtimeMs}:${ctimeMs}`;
  } catch {
    return null;
  }
}

function sessionsIn(path: string): Map<string, SessionEntry> {
  const sessions = new Map<string, SessionEntry>();
  let parsed: unknown;
  try {
    parsed = JSON.parse(textOfFile(path));
  } catch {
    return sessions;
  }
  if (typeof parsed !== "object" || parsed === null) return sessions;
  for (const [key, value] of Object.entries(parsed as Record<string, unknown>)) {
    if (typeof value !== "object" || value === null) continue;
    const entry = value as Record<string, unknown>;
    const text = (name: string): string | null => (typeof entry[name] === "string" ? entry[name] : null);
    const count = (name: string): number | null => (typeof entry[name] === "number" ? entry[name] : null);
    const sessionFile = text("sessionFile");
    const sessionId = text("sessionId") ?? (sessionFile === null ? null : sessionIdOf(basename(sessionFile)));
    if (sessionId === null) continue;
    sessions.set(key.toLowerCase(), {
      sessionId,
      sessionFile,
      spawnedBy: text("spawnedBy")?.toLowerCase() ?? null,
      compactionCount: count("compactionCount"),
      memoryFlushCompactionCount: count("memoryFlushCompactionCount"),
    });
  }
  return sessions;
}

/**
 * Which transcripts (by session id) a session may see in search results: all of the agent's (`agent`, `all`: null), its own and
 * those of the sessions it spawned, at any depth (`tree`), or its own (`self`). Without a session key the last two see none.
 */
export function visibleSessionIds(
  visibility: SessionVisibility,
  sessionKey: string | undefined,
  sessions: ReadonlyMap<string, SessionEntry>,
): Set<string> | null {
  if (visibility === "agent" || visibility === "all") return null;
  const asking = sessionKey?.toLowerCase();
  const keys = new Set(asking === undefined ? [] : [asking]);
  if (visibility === "tree") {
    for (let grown = true; grown;) {
      grown = false;
      for (const [key, entry] of sessions) {
        if (!keys.has(key) && entry.spawnedBy !== null && keys.has(entry.spawnedBy)) {
          keys.add(key);
          grown = true;
        }
      }
    }
  }
  const ids = new Set<string>();
  for (const key of keys) {
    const entry = sessions.get(key);
    if (entry === undefined) continue;
    ids.add(entry.sessionId);
    if (entry.sessionFile !== null) ids.add(sessionIdOf(basename(entry.sessionFile)));
  }
  return ids;
}

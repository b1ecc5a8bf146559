import { statSync } from "node:fs";
import { basename, join } from "node:path";
import { textOfFile } from "../home/read-text.ts";
import { sessionIdOf } from "../notes/transcript.ts";

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

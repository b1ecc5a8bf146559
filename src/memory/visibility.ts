import { basename } from "node:path";
import type { MemorySettings } from "../home/types.ts";
import { sessionIdOf } from "../notes/transcript.ts";
import type { SessionEntry } from "./session-list.ts";

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

/** Whether every transcript of an agent is seen by whoever may ask it, another agent's session (`isOther`) among them. */
export function seesAll(visibility: SessionVisibility, isOther: boolean): boolean {
  return visibility === "all" || (visibility === "agent" && !isOther);
}

/**
 * Which transcripts (by session id) a session that does not see all of them may see in search results: its own (`self`), and those of
 * the sessions it spawned, at any depth (otherwise). Without a session key none.
 */
export function visibleSessionIds(
  visibility: SessionVisibility,
  sessionKey: string | undefined,
  sessions: ReadonlyMap<string, SessionEntry>,
): Set<string> {
  const asking = sessionKey?.toLowerCase();
  const keys = new Set(asking === undefined ? [] : [asking]);
  if (visibility !== "self") {
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

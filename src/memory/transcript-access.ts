import { basename } from "node:path";
import type { AgentHome } from "../home/agent-home.ts";
import type { DocumentRow } from "../store/types.ts";
import { sessionFacts } from "./sessions.ts";

/** Which transcripts a session may see; `null` all of the agent's. */
export type TranscriptAccess = ((document: Pick<DocumentRow, "collection" | "path">) => boolean) | null;

/** Whether the session asks for another agent's memory than its own and may not see that agent's transcripts. */
export function transcriptsForbidden({ memory }: AgentHome, sessionKey: string | undefined): boolean {
  const asking = sessionFacts(sessionKey).agentId;
  if (asking === null || asking === memory.agentId) return false;
  const { enabled, allow } = memory.agentToAgent;
  const allowed = (id: string): boolean => allow.length === 0 || allow.some((pattern) => matches(pattern, id));
  return !(enabled && allowed(asking) && allowed(memory.agentId));
}

/** A pattern of agent ids, `*` standing for anything. */
function matches(pattern: string, agentId: string): boolean {
  const parts = pattern
    .trim()
    .toLowerCase()
    .split("*")
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(agentId);
}

/** What `tools.sessions.visibility` leaves of the agent's transcripts to the session that asks. */
export async function transcriptAccess(
  { home, memory }: AgentHome,
  sessionKey: string | undefined,
): Promise<TranscriptAccess> {
  const { visibility } = memory;
  if (!memory.sessions.indexed || visibility === "agent" || visibility === "all") return null;
  const [{ readSessions, visibleSessionIds }, { sessionIdOf }] = await Promise.all([
    import("./visibility.ts"),
    import("../notes/transcript.ts"),
  ]);
  const sessions = await readSessions(home.stateDir ?? "", memory.agentId);
  const visible = visibleSessionIds(visibility, sessionKey, sessions);
  if (visible === null) return null;
  const transcripts = new Set(home.collections.filter(({ source }) => source === "sessions").map(({ name }) => name));
  return ({ collection, path }) => !transcripts.has(collection) || visible.has(sessionIdOf(basename(path)));
}

import { MemqError } from "../errors.ts";
import type { ServedAgent } from "./backend.ts";
import { type RecalledEntry, calledEntries, recallContext, recalledEntries } from "./recall.ts";
import { readRootEntries, relevanceOfEntries } from "./root-entries.ts";
import { isMainPrivate, sessionFacts } from "./sessions.ts";

export type RecallRequest = {
  message: string;
  sessionKey?: string | undefined;
  chatType?: string | undefined;
  maxEntries?: number | undefined;
  projectKeys?: string[] | undefined;
};

/** `warning` names the files that are there and could not be read. */
export type RecallAnswer = { entries: RecalledEntry[]; context: string; warning?: string };

/** Files whose entries an agent trusts; daily notes and transcripts are never injected. */
const TRUSTED_FILES: ReadonlySet<string> = new Set(["MEMORY.md", "memory.md", "USER.md"]);
const DEFAULT_ENTRIES = 3;

/**
 * The trusted entries whose triggers a message calls up, and the lines that put them into an agent's context. Only keywords are
 * used, no model, no network and no index: the files are read as they are now. Long-term memory never leaves the main private session.
 */
export async function recallForMessage(agent: ServedAgent, request: RecallRequest): Promise<RecallAnswer> {
  const { memory, home } = agent;
  if (!memory.enabled) throw new MemqError("MEMORY_DISABLED", memory.disabledReason ?? "Memory search is off.");
  const facts = sessionFacts(request.sessionKey, request.chatType);
  if (!isMainPrivate(facts, memory.agentId)) return { entries: [], context: "" };
  // A qmd home cuts its documents as qmd does; entries are those of the built-in index.
  const { cutting } = agent.qmd?.builtin ?? home;
  const perEntry = cutting.kind === "lines" ? { ...cutting, kind: "entries" as const } : cutting;
  const trusted = await readRootEntries(home.workspace ?? "", TRUSTED_FILES, perEntry);
  const called = calledEntries(trusted.entries, request.message, request.projectKeys ?? []);
  const asked = called.map(({ entry }) => entry);
  const relevance = relevanceOfEntries(trusted, request.message, asked);
  const entries = recalledEntries(called, relevance, request.maxEntries ?? DEFAULT_ENTRIES);
  const warning = trusted.unread.join(" ");
  return { entries, context: recallContext(entries), ...(warning === "" ? {} : { warning }) };
}

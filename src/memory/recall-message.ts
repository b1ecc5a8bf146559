import { MemqError } from "../errors.ts";
import type { AgentHome } from "../home/agent-home.ts";
import type { Cutting } from "../notes/types.ts";
import { passageText } from "../notes/passage-text.ts";
import { search } from "../search/search.ts";
import { changeStamp } from "../store/meta.ts";
import { contentText, documentsById } from "../store/documents.ts";
import { passagesWithTriggers } from "../store/passages.ts";
import type { Index } from "../store/types.ts";
import type { ServedAgent } from "./backend.ts";
import {
  type RecalledEntry,
  type TrustedEntry,
  calledEntries,
  phraseWords,
  recallContext,
  recalledEntries,
} from "./recall.ts";
import { isMainPrivate, sessionFacts } from "./sessions.ts";

export type RecallRequest = {
  message: string;
  sessionKey?: string | undefined;
  chatType?: string | undefined;
  maxEntries?: number | undefined;
  projectKeys?: string[] | undefined;
};

export type RecallAnswer = { entries: RecalledEntry[]; context: string };

/** Files whose entries an agent trusts; daily notes and transcripts are never injected. */
const TRUSTED_FILES: ReadonlySet<string> = new Set(["MEMORY.md", "memory.md", "USER.md"]);
const DEFAULT_ENTRIES = 3;
const RELEVANT_ROWS = 24;
const SEARCH_MS = 1_000;

/**
 * The trusted entries whose triggers a message calls up, and the lines that put them into an agent's context. Only keywords are
 * used, no model and no network; long-term memory never leaves the main private session.
 */
export async function recallForMessage(
  agent: ServedAgent,
  index: Index,
  request: RecallRequest,
): Promise<RecallAnswer> {
  const { memory } = agent;
  if (!memory.enabled) throw new MemqError("MEMORY_DISABLED", memory.disabledReason ?? "Memory search is off.");
  const facts = sessionFacts(request.sessionKey, request.chatType);
  if (!isMainPrivate(facts, memory.agentId)) return { entries: [], context: "" };
  const trusted =
    agent.qmd === undefined ? trustedEntries(agent, index) : await trustedFiles(agent, agent.qmd.builtin.cutting);
  const called = calledEntries(trusted.entries, request.message, request.projectKeys ?? []);
  if (called.length === 0) return { entries: [], context: "" };
  const relevance = await trusted.relevanceOf(
    request.message,
    called.map(({ entry }) => entry),
  );
  const entries = recalledEntries(called, relevance, request.maxEntries ?? DEFAULT_ENTRIES);
  return { entries, context: recallContext(entries) };
}

/** What may be recalled, and how to tell what a message has to do with some of it, by `path:startLine`. */
type Trusted = {
  entries: TrustedEntry[];
  relevanceOf: (message: string, called: TrustedEntry[]) => Promise<Map<string, number>>;
};

/** A qmd home cuts its documents as qmd does, and knows no `USER.md`: the root files themselves say what can be recalled. */
async function trustedFiles({ home }: AgentHome, cutting: Cutting): Promise<Trusted> {
  const { readRootEntries, relevanceOfEntries } = await import("./root-entries.ts");
  const perEntry = cutting.kind === "lines" ? { ...cutting, kind: "entries" as const } : cutting;
  const found = await readRootEntries(home.workspace ?? "", TRUSTED_FILES, perEntry);
  return { entries: found.entries, relevanceOf: async (message, called) => relevanceOfEntries(found, message, called) };
}

/** Entries by the index they were read from: a message comes with every turn, the entries change now and then. */
const known = new WeakMap<Index, { stamp: string; entries: TrustedEntry[] }>();

/** The entries with triggers of the workspace's root files. */
function trustedEntries(agent: AgentHome, index: Index): Trusted {
  const relevance = (message: string): Promise<Map<string, number>> => relevanceOf(agent, index, message);
  const stamp = changeStamp(index);
  const last = known.get(index);
  if (last?.stamp === stamp) return { entries: last.entries, relevanceOf: relevance };
  const entries = readEntries(agent, index);
  known.set(index, { stamp, entries });
  return { entries, relevanceOf: relevance };
}

function readEntries({ home }: AgentHome, index: Index): TrustedEntry[] {
  const roots = home.collections.filter(({ source, pathPrefix }) => source === "memory" && pathPrefix === "");
  const passages = passagesWithTriggers(
    index,
    roots.map(({ name }) => name),
  );
  const documents = documentsById(index, [...new Set(passages.map(({ documentId }) => documentId))]);
  const texts = new Map<number, string>();
  return passages.flatMap((passage) => {
    const document = documents.get(passage.documentId);
    if (document === undefined || !TRUSTED_FILES.has(document.path)) return [];
    const text = texts.get(document.id) ?? contentText(index, document.hash) ?? "";
    texts.set(document.id, text);
    return {
      text: passageText(text, passage.pos, passage.length).trim(),
      path: document.path,
      startLine: passage.startLine,
      phrases: (passage.triggers ?? []).map(phraseWords),
      projects: passage.projects ?? [],
    };
  });
}

/** What a keyword search of the message gives each passage, by `path:startLine`. */
async function relevanceOf({ home }: AgentHome, index: Index, message: string): Promise<Map<string, number>> {
  const now = Date.now();
  const { hits } = await search(
    { home, index, provider: null },
    {
      query: message,
      profile: { ...home.search, minScore: 0, mmr: { ...home.search.mmr, enabled: false } },
      limit: RELEVANT_ROWS,
      collections: home.collections.filter(({ source }) => source === "memory").map(({ name }) => name),
      asOf: now,
      deadline: now + SEARCH_MS,
    },
  );
  return new Map(hits.map((hit) => [`${hit.path}:${hit.startLine}`, hit.score]));
}

import { basename } from "node:path";
import { MemqError } from "../errors.ts";
import type { OpenedProvider } from "../embed/registry.ts";
import type { AgentHome } from "../home/agent-home.ts";
import type { Collection, SearchProfile } from "../home/types.ts";
import { FOUR_DIGIT_YEARS } from "../notes/dates.ts";
import { sessionIdOf } from "../notes/transcript.ts";
import { parseTime } from "../search/filters.ts";
import { failureMakesUnavailable } from "../search/query-vector.ts";
import { search, type SearchEngine } from "../search/search.ts";
import { cutAtGrapheme } from "../search/snippet.ts";
import type { Hit, HitExplanation, SearchAnswer, SearchRequest } from "../search/types.ts";
import type { Index } from "../store/types.ts";
import type { ServedAgent } from "./backend.ts";
import { citationOf, citationsShown, withoutSource, withSource } from "./citations.ts";
import { judgeScope } from "./scope.ts";
import { readSessions } from "./session-list.ts";
import { exportedSessionId, hasTranscripts, sessionFacts } from "./sessions.ts";
import type { UnavailableAnswer } from "./unavailable.ts";
import { memoryDisabled, providerUnavailable, sessionsUnavailable } from "./unavailable.ts";
import { mayAskAgent, seesAll, visibleSessionIds } from "./visibility.ts";

export type MemorySearchRequest = {
  query: string;
  maxResults?: number | undefined;
  minScore?: number | undefined;
  corpus?: "memory" | "sessions" | "all" | undefined;
  sessionKey?: string | undefined;
  /** The owner asks, at a command line. Without a session key this sees every transcript, which visibility keeps from sessions. */
  byOwner?: boolean | undefined;
  chatType?: string | undefined;
  deadlineMs?: number | undefined;
  since?: string | undefined;
  until?: string | undefined;
  tags?: string[] | undefined;
  asOf?: string | number | undefined;
  explain?: boolean | undefined;
};

export type MemoryResult = {
  path: string;
  startLine: number;
  endLine: number;
  score: number;
  vectorScore?: number;
  textScore?: number;
  snippet: string;
  source: "memory" | "sessions";
  citation?: string;
  importance?: number;
  triggers?: string[];
  explain?: HitExplanation;
};

export type FoundAnswer = {
  results: MemoryResult[];
  provider: string;
  model?: string;
  fallback?: { from: string; reason: string };
  citations: "auto" | "on" | "off";
  mode: "hybrid" | "keyword" | "vector";
  /** What was left out: `vector`, or `index` while the first sync is not done. */
  degraded?: string[];
  /** Why, in words. */
  warning?: string;
  debug?: {
    backend: "builtin" | "qmd";
    /** `memory.qmd.searchMode`, with the qmd backend. */
    configuredMode?: string;
    effectiveMode: string;
    searchMs: number;
    hits: number;
  };
};

export type DeniedAnswer = { results: []; denied: true; reason: string };
export type MemorySearchAnswer = FoundAnswer | UnavailableAnswer | DeniedAnswer;

/** What a search of an agent's memory works with. */
export type SearchContext = {
  agent: ServedAgent;
  /** Milliseconds since 1970. */
  deadline: number;
  index: Index;
  opened: OpenedProvider;
  /** Left out already, with the reason: `index` while nothing is indexed yet. Null where nothing is, but the index may be old. */
  degraded: { what: string | null; why: string }[];
};

/** An answer that needs no index: memory is off, scope denies it, or the corpus asked for is not there. */
export function answerWithoutIndex(agent: ServedAgent, request: MemorySearchRequest): MemorySearchAnswer | null {
  const { memory } = agent;
  if (!memory.enabled) return memoryDisabled(memory);
  const verdict = judgeScope(memory.scope, request.sessionKey, request.chatType);
  if (!verdict.allowed) return { results: [], denied: true, reason: verdict.reason };
  const asking = askingAgent(request, memory.agentId);
  if (!mayAskAgent(asking, memory.agentId, memory.agentToAgent)) {
    const reason = `agent ${asking} may not search the memory of agent ${memory.agentId} (tools.agentToAgent)`;
    return { results: [], denied: true, reason };
  }
  if (request.corpus === "sessions" && !hasTranscripts(agent.home)) {
    return sessionsUnavailable(agent.backend, memory.qmd.sessions.enabled);
  }
  return null;
}

/** The agent whose session asks; the one that is asked where the session key names none. */
function askingAgent({ sessionKey }: Pick<MemorySearchRequest, "sessionKey">, asked: string): string {
  return sessionFacts(sessionKey).agentId ?? asked;
}

/**
 * Searches an agent's memory, and tells whether it met files that changed since the last sync. Failures of a provider are answers;
 * a `since` that is no date throws `BAD_TIME`.
 */
export async function searchMemory(
  context: SearchContext,
  request: MemorySearchRequest,
): Promise<{ answer: MemorySearchAnswer; stale: boolean }> {
  const { agent, opened, index } = context;
  const { home } = agent;
  const missing = opened.provider === undefined && opened.reason !== undefined;
  if (missing && opened.explicit && home.embedding.onFailure !== "keyword")
    return { answer: providerUnavailable(opened.reason ?? ""), stale: false };

  const startedAt = performance.now();
  const provider = opened.provider ?? null;
  const found = await answerOf(agent, { home, index, provider }, searchRequest(context, request));
  const failure = found.providerFailure;
  if (failure !== undefined && provider !== null && failureMakesUnavailable(home.embedding, provider)) {
    return { answer: providerUnavailable(failure.message), stale: found.stale };
  }
  return { answer: foundAnswer(context, request, found, performance.now() - startedAt), stale: found.stale };
}

/** One search, or with the qmd backend's `searchMode: "query"` one in qmd's stages. */
async function answerOf({ qmd, memory }: ServedAgent, engine: SearchEngine, request: SearchRequest) {
  if (qmd === undefined || memory.qmd.searchMode !== "query") return search(engine, request);
  const { searchInStages } = await import("./query-stages.ts");
  return searchInStages(engine, request, { ...qmd, reranks: memory.qmd.rerank });
}

function searchRequest({ agent, deadline }: SearchContext, request: MemorySearchRequest): SearchRequest {
  const now = clockOf(request.asOf);
  const limit = limitOf(agent, request.maxResults);
  const { since, until, tags, minScore } = request;
  const { timeZone } = agent.memory;
  const collections = corpusOf(agent.home.collections, request.corpus);
  const visible = transcriptFilter(agent, collections, request);
  return {
    query: request.query,
    profile: profileFor(agent, limit),
    limit,
    collections: collections.map(({ name }) => name),
    asOf: now,
    deadline,
    ...(minScore === undefined ? {} : { minScore }),
    ...(since === undefined ? {} : { since: parseTime(since, "since", now, timeZone) }),
    ...(until === undefined ? {} : { until: parseTime(until, "until", now, timeZone) }),
    ...(timeZone === undefined ? {} : { timeZone }),
    ...(tags === undefined ? {} : { tags }),
    ...(request.explain ? { explain: true } : {}),
    ...(visible === null ? {} : { visible }),
  };
}

/** How many results are wanted; `memory.qmd.limits` also caps what a call may ask for. */
function limitOf({ backend, memory }: ServedAgent, asked: number | undefined): number {
  if (backend === "builtin") return asked ?? memory.limits.maxResults;
  return Math.min(asked ?? Infinity, memory.qmd.limits.maxResults);
}

/** Keeps transcripts from a session that may not see them; null when it may see everything that is searched. */
function transcriptFilter(
  { home, memory }: AgentHome,
  collections: Collection[],
  { sessionKey, byOwner }: MemorySearchRequest,
): SearchRequest["visible"] | null {
  const transcripts = new Set(collections.filter(({ source }) => source === "sessions").map(({ name }) => name));
  const isOther = askingAgent({ sessionKey }, memory.agentId) !== memory.agentId;
  if (transcripts.size === 0 || seesAll(memory.visibility, isOther)) return null;
  if (byOwner && sessionKey === undefined) return null;
  const sessions = readSessions(home.stateDir ?? "", memory.agentId);
  const ids = visibleSessionIds(memory.visibility, sessionKey, sessions);
  return ({ collection, path }) => !transcripts.has(collection) || ids.has(sessionOf(path));
}

/** The session of a transcript, or of the note that it was exported to. */
function sessionOf(path: string): string {
  const name = basename(path);
  return name.endsWith(".md") ? exportedSessionId(basename(name, ".md")) : sessionIdOf(name);
}

function profileFor({ home, memory }: AgentHome, limit: number): SearchProfile {
  const multiplier = memory.limits.candidateMultiplier;
  return multiplier === undefined ? home.search : { ...home.search, pool: Math.min(200, limit * multiplier) };
}

function corpusOf(collections: Collection[], corpus: MemorySearchRequest["corpus"]): Collection[] {
  if (corpus === undefined) return collections.filter(({ includeByDefault }) => includeByDefault);
  if (corpus === "all") return collections;
  return collections.filter(({ source }) => (source === "sessions") === (corpus === "sessions"));
}

function clockOf(asOf: string | number | undefined): number {
  if (asOf === undefined) return Date.now();
  const time = typeof asOf === "number" ? asOf : Date.parse(asOf);
  if (time >= FOUR_DIGIT_YEARS.from && time <= FOUR_DIGIT_YEARS.to) return time;
  throw new MemqError("BAD_TIME", `asOf: "${asOf}" is neither a date nor a time stamp.`, {
    hint: "Write a day (2026-02-10) or a time stamp (2026-02-10T14:15:00Z).",
    exitCode: 2,
  });
}

function foundAnswer(
  { agent, opened, degraded }: SearchContext,
  request: MemorySearchRequest,
  answer: SearchAnswer,
  searchMs: number,
): FoundAnswer {
  const { home, memory } = agent;
  const collections = new Map(home.collections.map((collection) => [collection.name, collection]));
  const cited = citationsShown(memory.citations, request);
  const leftOut = [...degraded.flatMap(({ what }) => what ?? []), ...answer.degraded];
  // Keywords alone, because a provider that was wanted could not be set up, is a degraded answer too.
  if (opened.provider === undefined && opened.reason !== undefined) leftOut.push("vector");
  const reasons = [
    ...degraded.map(({ why }) => why),
    ...answer.notices,
    ...(leftOut.includes("vector") ? [opened.reason] : []),
  ];
  const warning = reasons.filter((reason) => reason !== undefined).join(" ");
  const { provider } = opened;
  const fallback = agent.fallback ?? opened.fallback;
  return {
    results: withinBudget(
      answer.hits.map((hit) => resultOf(hit, collections.get(hit.collection), cited)),
      agent,
    ),
    provider: provider?.id ?? "none",
    ...(provider === undefined ? {} : { model: provider.model }),
    ...(fallback === undefined ? {} : { fallback }),
    citations: memory.citations,
    mode: answer.mode,
    ...(leftOut.length === 0 ? {} : { degraded: [...new Set(leftOut)] }),
    ...(warning === "" ? {} : { warning }),
    ...(request.explain
      ? {
          debug: {
            backend: agent.backend,
            ...(agent.qmd === undefined ? {} : { configuredMode: memory.qmd.searchMode }),
            effectiveMode: answer.mode,
            searchMs: Math.round(searchMs * 1000) / 1000,
            hits: answer.hits.length,
          },
        }
      : {}),
  };
}

/**
 * The first results whose snippets together stay within `memory.qmd.limits.maxInjectedChars`. The text of the last one is cut to fit;
 * the footer that names its source stays whole, or goes where there is no place for any text beside it.
 */
function withinBudget(results: MemoryResult[], { backend, memory }: ServedAgent): MemoryResult[] {
  if (backend === "builtin") return results;
  let left = memory.qmd.limits.maxInjectedChars;
  const kept: MemoryResult[] = [];
  for (const result of results) {
    if (left <= 0) break;
    const snippet = fitting(result, left);
    left -= snippet.length;
    kept.push({ ...result, snippet });
  }
  return kept;
}

function fitting({ snippet, citation }: MemoryResult, chars: number): string {
  if (snippet.length <= chars) return snippet;
  const text = withoutSource(snippet, citation);
  const footer = snippet.slice(text.length);
  return chars > footer.length ? `${cutAtGrapheme(text, chars - footer.length)}${footer}` : cutAtGrapheme(text, chars);
}

function resultOf(hit: Hit, collection: Collection | undefined, cited: boolean): MemoryResult {
  const path = `${collection?.pathPrefix ?? ""}${hit.path}`;
  const { startLine, endLine, score, vectorScore, textScore, importance, triggers, explain } = hit;
  const citation = citationOf({ path, startLine, endLine });
  return {
    path,
    startLine,
    endLine,
    score,
    ...(vectorScore === undefined ? {} : { vectorScore }),
    ...(textScore === undefined ? {} : { textScore }),
    snippet: cited ? withSource(hit.snippet.text, citation) : hit.snippet.text,
    source: collection?.source === "sessions" ? "sessions" : "memory",
    ...(cited ? { citation } : {}),
    ...(importance === undefined ? {} : { importance }),
    ...(triggers === undefined ? {} : { triggers }),
    ...(explain === undefined ? {} : { explain }),
  };
}

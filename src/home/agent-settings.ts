import { join } from "node:path";
import type { JsonObject } from "../json.ts";
import { sessionsFolder } from "./agent-collections.ts";
import { configuredAgentIds } from "./agents.ts";
import { bytesOf, durationMs } from "./key-values.ts";
import type { KeyReader } from "./key-reader.ts";
import { absolutePath, type Env } from "./paths.ts";
import { DIRECT_CHATS_ONLY, scopePolicy } from "./scope-policy.ts";
import type { MemorySettings, QmdBackendSettings, ScopePolicy, SearchProfile } from "./types.ts";

/** Candidates per way of searching, and the most that a candidate multiplier may ask for. */
const CANDIDATE_POOL = 200;

export type SettingsPlace = {
  agentId: string;
  stateDir: string;
  workspace: string;
  config: JsonObject;
  env: Env;
};

/** Memory's settings beyond search. */
export function memorySettings(keys: KeyReader, place: SettingsPlace, issues: string[]): MemorySettings {
  const disabledReason = reasonForDisabled(keys);
  const scope = scopeOf(keys);
  noteIdleKeys(keys, issues);
  const timeZone = timeZoneOf(keys.optionalText("agents.defaults.userTimezone"), issues);
  const multiplier = keys.optionalNumber("query.hybrid.candidateMultiplier");
  return {
    enabled: disabledReason === undefined,
    ...(disabledReason === undefined ? {} : { disabledReason }),
    agentId: place.agentId,
    agents: configuredAgentIds(place.config),
    citations: keys.text("memory.citations") as MemorySettings["citations"],
    backend: keys.text("memory.backend") as MemorySettings["backend"],
    qmd: qmdSettings(keys, place),
    ...(scope === undefined ? {} : { scope }),
    limits: {
      maxResults: keys.number("query.maxResults"),
      getChars: keys.number("agents.defaults.contextLimits.memoryGetMaxChars"),
      ...(multiplier === undefined ? {} : { candidateMultiplier: multiplier }),
    },
    sync: {
      onSessionStart: keys.flag("sync.onSessionStart"),
      onSearch: keys.flag("sync.onSearch"),
      watch: keys.flag("sync.watch"),
      watchDebounceMs: keys.number("sync.watchDebounceMs"),
      intervalMinutes: keys.number("sync.intervalMinutes"),
    },
    sessions: sessionSettings(keys, place, issues),
    flush: flushSettings(keys),
    ...(timeZone === undefined ? {} : { timeZone }),
    visibility: keys.text("tools.sessions.visibility") as MemorySettings["visibility"],
    agentToAgent: { enabled: keys.flag("tools.agentToAgent.enabled"), allow: keys.texts("tools.agentToAgent.allow") },
  };
}

const SNIPPET_CHARS = 700;

function reasonForDisabled(keys: KeyReader): string | undefined {
  if (keys.text("plugins.slots.memory") === "none") return 'Memory search is off: plugins.slots.memory is "none".';
  return keys.flag("enabled") ? undefined : "Memory search is off: memorySearch.enabled is false.";
}

/** What has to do with a qmd that is called, and means nothing where the home is served in process. */
function noteIdleKeys(keys: KeyReader, issues: string[]): void {
  if (keys.text("memory.backend") !== "qmd") return;
  const idle = [
    ...(keys.flag("memory.qmd.mcporter.enabled") ? ["memory.qmd.mcporter.enabled"] : []),
    ...(keys.optionalText("memory.qmd.searchTool") === undefined ? [] : ["memory.qmd.searchTool"]),
  ];
  for (const key of idle) issues.push(`${key} has no effect: the agent's qmd home is served in process.`);
}

function scopeOf(keys: KeyReader): ScopePolicy | undefined {
  const configured = keys.object("memory.qmd.scope");
  if (configured !== undefined) return scopePolicy(configured, "memory.qmd.scope");
  return keys.text("memory.backend") === "qmd" ? DIRECT_CHATS_ONLY : undefined;
}

function sessionSettings(keys: KeyReader, place: SettingsPlace, issues: string[]): MemorySettings["sessions"] {
  const indexed = keys.flag("experimental.sessionMemory") || keys.flag("rememberAcrossConversations");
  const sources = keys.texts("sources");
  if (sources.includes("sessions") && !indexed) {
    issues.push('sources names "sessions", but experimental.sessionMemory is not true: transcripts are not indexed.');
  }
  const searched = indexed && sources.includes("sessions");
  return {
    indexed,
    searched,
    notesSearched: sources.includes("memory") || !searched,
    directory: sessionsFolder(place.stateDir, place.agentId),
    deltaBytes: keys.number("sync.sessions.deltaBytes"),
    deltaMessages: keys.number("sync.sessions.deltaMessages"),
  };
}

function flushSettings(keys: KeyReader): MemorySettings["flush"] {
  const base = "agents.defaults.compaction.memoryFlush";
  const prompt = keys.optionalText(`${base}.prompt`);
  const systemPrompt = keys.optionalText(`${base}.systemPrompt`);
  return {
    enabled: keys.flag(`${base}.enabled`),
    softThresholdTokens: keys.number(`${base}.softThresholdTokens`),
    reserveTokensFloor: keys.number("agents.defaults.compaction.reserveTokensFloor"),
    forceTranscriptBytes: bytesOf(keys.value(`${base}.forceFlushTranscriptBytes`)) ?? 0,
    ...(prompt === undefined ? {} : { prompt }),
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
  };
}

/** Undefined stands for the system's zone: asking for its name costs more than all the rest here. */
function timeZoneOf(configured: string | undefined, issues: string[]): string | undefined {
  if (configured === undefined) return undefined;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: configured }).resolvedOptions().timeZone;
  } catch {
    issues.push(`agents.defaults.userTimezone "${configured}" is no time zone: the system's is used.`);
    return undefined;
  }
}

function qmdSettings(keys: KeyReader, place: SettingsPlace): QmdBackendSettings {
  const retentionDays = keys.optionalNumber("memory.qmd.sessions.retentionDays");
  const update = (name: string): number => keys.number(`memory.qmd.update.${name}`);
  const startup = keys.optionalText("memory.qmd.update.startup") as QmdBackendSettings["update"]["startup"];
  const interval = (name: string): number => durationMs(keys.value(`memory.qmd.update.${name}`)) ?? 0;
  return {
    searchMode: keys.text("memory.qmd.searchMode") as QmdBackendSettings["searchMode"],
    rerank: keys.optionalFlag("memory.qmd.rerank") ?? true,
    includeDefaultMemory: keys.flag("memory.qmd.includeDefaultMemory"),
    paths: [...keys.paths("memory.qmd.paths"), ...keys.paths("extraPaths"), ...keys.paths("qmd.extraCollections")],
    sessions: {
      enabled: keys.flag("memory.qmd.sessions.enabled"),
      ...(retentionDays === undefined ? {} : { retentionDays }),
      ...exportFolders(keys, place),
    },
    update: {
      intervalMs: interval("interval"),
      debounceMs: update("debounceMs"),
      onBoot: keys.flag("memory.qmd.update.onBoot"),
      ...(startup === undefined ? {} : { startup }),
      startupDelayMs: update("startupDelayMs"),
      waitForBootSync: keys.flag("memory.qmd.update.waitForBootSync"),
      embedIntervalMs: interval("embedInterval"),
      commandTimeoutMs: update("commandTimeoutMs"),
      updateTimeoutMs: update("updateTimeoutMs"),
      embedTimeoutMs: update("embedTimeoutMs"),
    },
    limits: {
      maxResults: keys.number("memory.qmd.limits.maxResults"),
      maxSnippetChars: keys.number("memory.qmd.limits.maxSnippetChars"),
      maxInjectedChars: keys.number("memory.qmd.limits.maxInjectedChars"),
      timeoutMs: keys.number("memory.qmd.limits.timeoutMs"),
    },
  };
}

/**
 * One configured folder would hold the transcripts of all agents, whose sessions may be named alike: each of several has a folder
 * of its own in it.
 */
function exportFolders(
  keys: KeyReader,
  { agentId, config, stateDir, workspace, env }: SettingsPlace,
): Pick<QmdBackendSettings["sessions"], "exportDir" | "exportRoot"> {
  const configured = keys.optionalText("memory.qmd.sessions.exportDir");
  if (configured === undefined) {
    const own = join(stateDir, "agents", agentId, "qmd", "sessions");
    return { exportDir: own, exportRoot: own };
  }
  const exportRoot = absolutePath(configured, workspace, env);
  const isAlone = configuredAgentIds(config).every((id) => id === agentId);
  return { exportDir: isAlone ? exportRoot : join(exportRoot, agentId), exportRoot };
}

/** The memory surface's search profile. */
export function agentSearchProfile(keys: KeyReader): SearchProfile {
  const fusion = keys.text("query.hybrid.fusion") as SearchProfile["fusion"];
  const maxResults = keys.number("query.maxResults");
  const multiplier = keys.optionalNumber("query.hybrid.candidateMultiplier");
  return {
    maxResults,
    minScore: keys.number("query.minScore"),
    fusion,
    textScore: keys.text("query.hybrid.textScore") as SearchProfile["textScore"],
    ...weights(keys, fusion === "weighted" ? [0.7, 0.3] : [0.5, 0.5]),
    pool: multiplier === undefined ? CANDIDATE_POOL : Math.min(CANDIDATE_POOL, maxResults * multiplier),
    hybrid: keys.flag("query.hybrid.enabled"),
    names: true,
    importance: true,
    recency: recencyOf(keys),
    mmr: { enabled: keys.flag("query.hybrid.mmr.enabled"), lambda: keys.number("query.hybrid.mmr.lambda") },
    unit: "passages",
    grammar: "plain",
    snippetChars: SNIPPET_CHARS,
  };
}

/** Both weights, made to sum to 1; the defaults when both are 0. */
function weights(keys: KeyReader, defaults: [number, number]): { vectorWeight: number; textWeight: number } {
  const vector = keys.optionalNumber("query.hybrid.vectorWeight") ?? defaults[0];
  const text = keys.optionalNumber("query.hybrid.textWeight") ?? defaults[1];
  const sum = vector + text;
  if (sum <= 0) return { vectorWeight: defaults[0], textWeight: defaults[1] };
  return { vectorWeight: vector / sum, textWeight: text / sum };
}

/** Age decides between notes that answer about equally well, and not before: most questions ask about no time. */
const NUDGE_FLOOR = 0.97;

const MODES = { true: "documented", false: "off", undefined: "nudge" } as const;

function recencyOf(keys: KeyReader): SearchProfile["recency"] {
  const base = "query.hybrid.temporalDecay";
  const mode = MODES[`${keys.optionalFlag(`${base}.enabled`)}`];
  return {
    mode,
    halfLifeDays: keys.number(`${base}.halfLifeDays`),
    floor: keys.optionalNumber(`${base}.floor`) ?? (mode === "nudge" ? NUDGE_FLOOR : 0),
    undated: keys.text(`${base}.undated`) as SearchProfile["recency"]["undated"],
  };
}

import type { MediaRule } from "./media.ts";
import type { Cutting } from "../notes/types.ts";
import type { VecExtension } from "../store/types.ts";
import type { FileStamp } from "./file-stamp.ts";

/** A named root folder with a pattern. */
export type Collection = {
  name: string;
  /** Absolute path of the folder. */
  root: string;
  /** Globs relative to `root`; a file belongs when one matches. */
  patterns: string[];
  /** Globs relative to `root` that are left out. */
  ignore: string[];
  /** What its documents are to the memory surface; qmd collections are `notes`. */
  source: "memory" | "sessions" | "notes";
  /** Whether symbolic links inside `root` are followed when they stay inside it. An agent home ignores links. */
  followLinks: boolean;
  /** Whether folders and files that begin with a dot are scanned. */
  hidden: boolean;
  /** A root that is missing holds nothing, and is no fault. */
  optional?: true;
  /** What was missing when the configuration was read, the root or a single file in it, and the home's issue that says so. */
  missing?: { path: string; issue: string };
  /** Searched when no collection is named. */
  includeByDefault: boolean;
  /** Put before the relative path where the memory surface prints or reads a path: "" for the workspace, "../team-docs/", … */
  pathPrefix: string;
  /** Image and audio files are taken too (extra paths of an agent with multimodal memory). */
  media?: MediaRule;
};

/** Where embeddings come from, resolved from configuration; keys are already looked up and never printed. */
export type EmbeddingSettings = {
  /** `auto`, `none`, `local`, `openai`, … or a custom `models.providers.<id>`. */
  provider: string;
  /** Whether the provider was named in the configuration: a named remote one that fails makes search unavailable. */
  explicit: boolean;
  model?: string;
  fallback: string;
  outputDimensionality?: number;
  queryInputType?: string;
  documentInputType?: string;
  baseUrl?: string;
  apiKey?: string;
  /** Where `apiKey` stands, by name. */
  keyOrigin?: string;
  /** Why `remote.apiKey` could not be looked up, in one sentence: the provider is then unavailable. */
  problem?: string;
  headers: Record<string, string>;
  /** Where the agent's auth profiles stand, for the message about a missing key; "" in a qmd home. */
  authStore: string;
  /**
   * Only of the provider, the fallback and, with `auto`, those tried up to the first that has a key. Per provider id: key, base URL,
   * headers and API kind of `models.providers.<id>`, the auth profiles and the environment.
   */
  credentials: Record<string, ProviderCredentials>;
  local: { modelPath?: string; modelCacheDir?: string; contextSize?: number; threads?: number };
  batch: { enabled: boolean; wait: boolean; concurrency: number; pollIntervalMs: number; timeoutMinutes: number };
  concurrency?: number;
  batchTimeoutMs?: number;
  cache: { enabled: boolean; maxEntries: number };
  onFailure: "unavailable" | "keyword";
  /** What the home's `.env` files and the configuration's `env` block add to the environment. */
  env?: Record<string, string>;
  multimodal: boolean;
};

export type ProviderCredentials = {
  apiKey?: string;
  /** Where the key stands, by name: a variable, an auth profile, a path of the configuration. */
  keyOrigin?: string;
  /** Further keys of the environment, for when the first has reached its limit. */
  otherKeys?: string[];
  baseUrl?: string;
  headers?: Record<string, string>;
  /** Why the key could not be looked up, in one sentence. */
  problem?: string;
  /** Adapter of a custom provider (`ollama`, `openai-completions`, …). */
  api?: string;
};

/** `session.sendPolicy`'s form: the first rule that matches decides, else `default`. */
export type ScopePolicy = { default: "allow" | "deny"; rules: ScopeRule[] };

export type ScopeRule = {
  action: "allow" | "deny";
  /** Every field given must match; keys and prefixes are in lower case. */
  match: { channel?: string; chatType?: string; keyPrefix?: string; rawKeyPrefix?: string };
};

/** What an agent's memory is beyond search, resolved from configuration. */
export type MemorySettings = {
  enabled: boolean;
  /** Why memory is off, in one sentence; set when `enabled` is false. */
  disabledReason?: string;
  agentId: string;
  /** Every configured agent. */
  agents: string[];
  citations: "auto" | "on" | "off";
  backend: "builtin" | "qmd";
  qmd: QmdBackendSettings;
  /** Undefined: nobody is denied. */
  scope?: ScopePolicy;
  limits: {
    maxResults: number;
    /** Most characters `memory.get` returns. */
    getChars: number;
    /** When set, a call's candidate pool is min(200, its `maxResults` × this). */
    candidateMultiplier?: number;
  };
  sync: {
    onSessionStart: boolean;
    onSearch: boolean;
    watch: boolean;
    watchDebounceMs: number;
    /** 0: no timer. */
    intervalMinutes: number;
  };
  sessions: {
    /** Whether transcripts are indexed. */
    indexed: boolean;
    /** Whether a call without `corpus` searches them, and the notes. */
    searched: boolean;
    notesSearched: boolean;
    /** Folder of the transcripts and of `sessions.json`. */
    directory: string;
    deltaBytes: number;
    deltaMessages: number;
  };
  flush: {
    enabled: boolean;
    softThresholdTokens: number;
    reserveTokensFloor: number;
    /** 0: the size of the transcript never makes a flush due. */
    forceTranscriptBytes: number;
    prompt?: string;
    systemPrompt?: string;
  };
  /** IANA name; absent: the system's zone. */
  timeZone?: string;
  visibility: "self" | "tree" | "agent" | "all";
  agentToAgent: { enabled: boolean; allow: string[] };
};

/** `memory.qmd.*`; times in milliseconds, 0 where a timer is off. */
export type QmdBackendSettings = {
  searchMode: "search" | "vsearch" | "query";
  rerank: boolean;
  includeDefaultMemory: boolean;
  paths: ExtraPath[];
  sessions: {
    enabled: boolean;
    retentionDays?: number;
    /** Folder of this agent's exported transcripts alone. */
    exportDir: string;
    /** Folder of every agent's exported transcripts as it is configured: `exportDir`, or what holds it. */
    exportRoot: string;
  };
  update: {
    intervalMs: number;
    debounceMs: number;
    onBoot: boolean;
    /** When the updates begin: with the first search, after `startupDelayMs`, or with the process, as when absent. */
    startup?: "off" | "idle" | "immediate";
    startupDelayMs: number;
    waitForBootSync: boolean;
    embedIntervalMs: number;
    commandTimeoutMs: number;
    updateTimeoutMs: number;
    embedTimeoutMs: number;
  };
  limits: { maxResults: number; maxSnippetChars: number; maxInjectedChars: number; timeoutMs: number };
};

/** A configured file or folder, as written. */
export type ExtraPath = { path: string; pattern?: string; name?: string };

/** Which stages a search runs and with what numbers; the same pipeline for every surface. */
export type SearchProfile = {
  maxResults: number;
  /** Configured minimum: lets keyword hits survive and fill free places. */
  minScore: number;
  fusion: "relative" | "weighted";
  textScore: "bm25" | "legacy";
  vectorWeight: number;
  textWeight: number;
  /** Candidates per leg; at most 200 unless a caller asks for more rows. */
  pool: number;
  hybrid: boolean;
  names: boolean;
  importance: boolean;
  recency: {
    mode: "off" | "nudge" | "documented";
    halfLifeDays: number;
    floor: number;
    undated: "evergreen" | "mtime";
  };
  mmr: { enabled: boolean; lambda: number };
  /** `passages`, or `documents`: one row per document, its best passage. */
  unit: "passages" | "documents";
  /** Query grammar: `plain` words (memory surface) or qmd's `"phrase"` and `-term`. */
  grammar: "plain" | "qmd";
  snippetChars: number;
};

/** Everything the engine needs to know of who it works for; plain data, so it crosses to the sync Worker as it is. */
export type Home = {
  kind: "agent" | "qmd";
  /** Set for an agent home. */
  agentId?: string;
  stateDir?: string;
  workspace?: string;
  /** Absolute path of the index file. */
  indexPath: string;
  /** For an agent home, whether and from where the vector extension of SQLite is loaded. */
  extension?: VecExtension;
  collections: Collection[];
  /** For an agent home, the file that says which collections there are, as it was then. */
  configuredBy?: FileStamp;
  embedding: EmbeddingSettings;
  search: SearchProfile;
  cutting: Cutting;
  /** What memory configuration did not understand or had to change: one sentence each, for stderr and `status.issues`. */
  issues: string[];
};

import { existsSync } from "node:fs";
import { identityOf } from "../embed/identity.ts";
import { keyOriginOf, probedProvider, type ProviderProbe } from "../embed/probe.ts";
import type { JsonValue } from "../json.ts";
import { explainKeys } from "../home/resolve-keys.ts";
import type { Collection, Home } from "../home/types.ts";
import { onOneLine, withoutCredentials } from "../printable.ts";
import { cachedVectorCount } from "../store/cache.ts";
import { documentCounts } from "../store/documents.ts";
import { nextIdentity, servingIdentity } from "../store/identity.ts";
import { indexSizes } from "../store/maintenance.ts";
import { passageCounts } from "../store/passages.ts";
import type { Index, VectorIdentity } from "../store/types.ts";
import { loadVec } from "../store/vec-extension.ts";
import { vectorDimensions } from "../store/vector-table.ts";
import { missingVectorCounts } from "../store/vectors.ts";
import type { ServedAgent, ServingQmd } from "./backend.ts";
import { comparedFolders, type ScanStatus } from "./compared-folders.ts";
import type { SyncState } from "./keeper.ts";
import type { QueryEmbedding } from "./provider.ts";

/** What is indexed, by whom it is embedded, and what is wrong. */
export type MemoryStatus = {
  backend: "builtin" | "qmd";
  files: number;
  chunks: number;
  /** Files changed that are not indexed yet; only looked at with `looks` or `deep`, else what this process knows. */
  dirty: boolean;
  workspaceDir: string;
  dbPath: string;
  provider: string;
  model?: string;
  requestedProvider: string;
  sources: string[];
  extraPaths: string[];
  sourceCounts: { source: string; files: number; chunks: number }[];
  cache: { enabled: boolean; entries: number; maxEntries: number };
  fts: { enabled: boolean; available: boolean };
  fallback?: { from: string; reason: string };
  vector: {
    enabled: boolean;
    available: boolean;
    engine: "vec0" | "packed";
    /** Another sqlite-vec than ours, as configured, and why it could not be loaded. */
    extensionPath?: string;
    loadError?: string;
    dims?: number;
    missing: number;
    /** Vectors of another model that are made beside those that serve, or will be by the next sync, and passages that lack one. */
    next?: { provider: string; model: string; missing: number };
  };
  batch: { enabled: boolean; wait: boolean; concurrency: number; pollIntervalMs: number; timeoutMs: number };
  custom: {
    searchMode: "hybrid" | "keyword";
    providerUnavailableReason?: string;
    /** Why this provider: what named it, and by name where its key stands. */
    providerOrigin?: string;
    indexIdentity?: object;
  };
  storage: { databaseBytes: number; walBytes: number };
  /** With `deep`: one question embedded as a search would, and how many texts of 100 words the provider embeds a second. */
  embeddingProbe?: ProviderProbe;
  scan?: ScanStatus;
  lastSyncError?: string;
  /** With `deep`: what every key of the configuration resolved to, and where that came from. */
  settings?: { key: string; value: JsonValue; origin: string }[];
  issues: string[];
  disabled?: true;
};

export type StatusContext = {
  agent: ServedAgent;
  index: Index;
  opened: QueryEmbedding;
  syncs: SyncState;
  /** Scans the folders and asks the provider for a vector. */
  deep: boolean;
  /** Scans the folders to tell whether they are as indexed. */
  looks: boolean;
};

/** The status of an agent's memory. Without `deep` and `looks` it costs a few counts; nothing is read from the folders. */
export async function memoryStatus(context: StatusContext): Promise<MemoryStatus> {
  const { agent, index, opened, syncs } = context;
  const { home, memory } = agent;
  const { provider, reason } = opened;
  const fallback = agent.fallback ?? opened.fallback;
  const counts = sourceCounts(index, home.collections);
  const folders = context.deep || context.looks ? comparedFolders(index, home) : undefined;
  const scan = context.deep ? folders?.status : undefined;
  const probe = context.deep && provider !== undefined ? await probedProvider(provider) : undefined;
  const identity = servingIdentity(index);
  const { file, wal } = indexSizes(home.indexPath);
  const { batch, cache } = home.embedding;
  return {
    backend: agent.backend,
    files: sum(counts.map(({ files }) => files)),
    chunks: sum(counts.map(({ chunks }) => chunks)),
    dirty: folders?.dirty ?? (syncs.error !== null || (syncs.endedAt === 0 && index.state !== "ready")),
    workspaceDir: home.workspace ?? "",
    dbPath: home.indexPath,
    provider: provider?.id ?? "none",
    ...(provider === undefined ? {} : { model: withoutCredentials(provider.model) }),
    requestedProvider: home.embedding.provider,
    sources: [...new Set(home.collections.map(({ source }) => source))],
    extraPaths: home.collections.filter(isExtra).map(({ root }) => root),
    sourceCounts: counts,
    cache: { enabled: cache.enabled, entries: cachedVectorCount(index), maxEntries: cache.maxEntries },
    fts: { enabled: true, available: true },
    ...(fallback === undefined ? {} : { fallback }),
    vector: vectorStatus(context, identity),
    batch: {
      enabled: batch.enabled,
      wait: batch.wait,
      concurrency: batch.concurrency,
      pollIntervalMs: batch.pollIntervalMs,
      timeoutMs: batch.timeoutMinutes * 60_000,
    },
    custom: {
      searchMode: provider === undefined ? "keyword" : "hybrid",
      ...(provider === undefined && reason !== undefined ? { providerUnavailableReason: onOneLine(reason) } : {}),
      ...(context.deep ? { providerOrigin: providerOrigin(agent, opened) } : {}),
      ...(identity === null ? {} : { indexIdentity: identity }),
    },
    storage: { databaseBytes: file, walBytes: wal },
    ...(probe === undefined ? {} : { embeddingProbe: probe }),
    ...(scan === undefined ? {} : { scan }),
    ...(syncs.error === null ? {} : { lastSyncError: syncs.error }),
    ...(context.deep ? { settings: explainKeys(agent.config, memory.agentId) } : {}),
    issues: [
      ...issuesNow(home),
      ...index.warnings,
      ...(await issuesOfChange(context)),
      ...(memory.disabledReason === undefined ? [] : [memory.disabledReason]),
    ],
    ...(memory.enabled ? {} : { disabled: true as const }),
  };
}

/** What the configuration's issues are by now: what was missing may have come since. */
function issuesNow({ issues, collections }: Home): string[] {
  const settled = new Set(
    collections.map(({ missing }) => (missing !== undefined && existsSync(missing.path) ? missing.issue : null)),
  );
  return issues.filter((issue) => !settled.has(issue));
}

/** Why the model that is configured can't take over from the one that serves. */
async function issuesOfChange({ opened: { configured }, deep }: StatusContext): Promise<string[]> {
  if (configured === undefined) return [];
  const reason =
    "reason" in configured ? configured.reason : deep ? (await probedProvider(configured)).error : undefined;
  return reason === undefined ? [] : [`The configured embedding model can't be used: ${reason}`];
}

function vectorStatus(
  { agent, index, opened }: StatusContext,
  identity: VectorIdentity | null,
): MemoryStatus["vector"] {
  const dims = vectorDimensions(index);
  const engine = loadVec(index);
  const { extension, extensionError: loadError } = index;
  return {
    enabled: agent.home.embedding.provider !== "none",
    available: dims !== null,
    engine,
    ...(extension?.path === undefined ? {} : { extensionPath: extension.path }),
    ...(loadError === undefined ? {} : { loadError }),
    ...(dims === null ? {} : { dims }),
    missing: identity === null ? 0 : missingVectorCounts(index, identity).passages,
    ...rebuildOf(index, opened, agent.home),
  };
}

/** What a change of models is about to make serve. */
function rebuildOf(index: Index, { configured }: QueryEmbedding, home: Home): Pick<MemoryStatus["vector"], "next"> {
  const next =
    configured === undefined || "reason" in configured ? nextIdentity(index) : identityOf(configured, home.cutting);
  if (next === null) return {};
  const { provider, model } = next;
  return { next: { provider, model: withoutCredentials(model), missing: missingVectorCounts(index, next).passages } };
}

/** What named the provider, and by name where its key stands. */
function providerOrigin(agent: ServedAgent, { provider, fallback }: QueryEmbedding): string {
  const { config, home, memory, qmd } = agent;
  const { embedding } = home;
  if (qmd !== undefined) return modelOrigin(qmd, agent);
  const settings = explainKeys(config, memory.agentId);
  const originOf = (name: string): string => settings.find(({ key }) => key === name)?.origin ?? "the configuration";
  const why = fallback
    ? `named by ${originOf("fallback")}, in place of ${fallback.from}`
    : embedding.explicit
      ? `named by ${originOf("provider")}`
      : "chosen automatically: a local model file, else the first of openai, gemini, voyage and mistral that has a key";
  // What is set for the named provider, its key too, is not the fallback's.
  const { keyOrigin: _, ...withoutKey } = embedding;
  const key = keyOriginOf(fallback ? withoutKey : embedding, provider?.id ?? embedding.provider);
  return key === undefined ? `${why}; no key` : `${why}; key from ${key}`;
}

/** What named the model of a qmd home. */
function modelOrigin({ models, config }: ServingQmd, { memory, env }: ServedAgent): string {
  if (memory.qmd.searchMode === "search") return 'memory.qmd.searchMode "search" embeds nothing';
  if (models.embed === config.models.embed) return "named by models.embed of the agent's index.yml";
  return models.embed === env["QMD_EMBED_MODEL"] ? "named by QMD_EMBED_MODEL" : "qmd's own model";
}

function sourceCounts(index: Index, collections: readonly Collection[]): MemoryStatus["sourceCounts"] {
  const documents = new Map(documentCounts(index).map(({ collection, count }) => [collection, count]));
  const passages = passageCounts(index);
  const bySource = new Map<string, { source: string; files: number; chunks: number }>();
  for (const { name, source } of collections) {
    const row = bySource.get(source) ?? { source, files: 0, chunks: 0 };
    row.files += documents.get(name) ?? 0;
    row.chunks += passages.get(name) ?? 0;
    bySource.set(source, row);
  }
  return [...bySource.values()];
}

/** Neither the workspace's root files nor its memory folder. */
function isExtra({ source, pathPrefix }: Collection): boolean {
  return source === "memory" && pathPrefix !== "" && pathPrefix !== "memory/";
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

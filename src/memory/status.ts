import { keyOriginOf, probedProvider, type ProviderProbe } from "../embed/probe.ts";
import type { OpenedProvider } from "../embed/registry.ts";
import type { EmbeddingProvider } from "../embed/types.ts";
import type { JsonValue } from "../json.ts";
import { explainKeys } from "../home/resolve-keys.ts";
import type { Collection, Home } from "../home/types.ts";
import { cachedVectorCount } from "../store/cache.ts";
import { documentCounts, documentsOf } from "../store/documents.ts";
import { nextIdentity, servingIdentity } from "../store/identity.ts";
import { indexSizes } from "../store/maintenance.ts";
import { passageCounts } from "../store/passages.ts";
import type { Index, VectorIdentity } from "../store/types.ts";
import { loadVec } from "../store/vec-extension.ts";
import { vectorDimensions } from "../store/vector-table.ts";
import { missingVectorCounts } from "../store/vectors.ts";
import { isTooLarge, reasonLeftOut } from "../sync/read-document.ts";
import { scanCollections, type ScannedFile } from "../sync/scan.ts";
import type { ServedAgent, ServingQmd } from "./backend.ts";
import type { SyncState } from "./keeper.ts";

/** What is indexed, by whom it is embedded, and what is wrong. */
export type MemoryStatus = {
  backend: "builtin" | "qmd";
  files: number;
  chunks: number;
  /** Files changed that are not indexed yet; only looked at with `deep`, else what this process knows. */
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
    dims?: number;
    missing: number;
    /** Vectors of another model that are being made beside those that serve, and passages that still lack one. */
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

export type ScanStatus = {
  sources: { source: string; totalFiles: number; issues: string[] }[];
  totalFiles: number;
  issues: string[];
};

export type StatusContext = {
  agent: ServedAgent;
  index: Index;
  opened: OpenedProvider;
  syncs: SyncState;
  /** Scans the folders and asks the provider for a vector. */
  deep: boolean;
};

/** The status of an agent's memory. Without `deep` it costs a few counts; nothing is read from the folders. */
export async function memoryStatus(context: StatusContext): Promise<MemoryStatus> {
  const { agent, index, opened, syncs } = context;
  const { home, memory } = agent;
  const { provider, reason } = opened;
  const fallback = agent.fallback ?? opened.fallback;
  const counts = sourceCounts(index, home.collections);
  const scan = context.deep ? scanStatus(index, home) : undefined;
  const probe = context.deep && provider !== undefined ? await probedProvider(provider) : undefined;
  const identity = servingIdentity(index);
  const { file, wal } = indexSizes(home.indexPath);
  const { batch, cache } = home.embedding;
  return {
    backend: agent.backend,
    files: sum(counts.map(({ files }) => files)),
    chunks: sum(counts.map(({ chunks }) => chunks)),
    dirty: scan?.dirty ?? (syncs.error !== null || (syncs.endedAt === 0 && index.state !== "ready")),
    workspaceDir: home.workspace ?? "",
    dbPath: home.indexPath,
    provider: provider?.id ?? "none",
    ...(provider === undefined ? {} : { model: provider.model }),
    requestedProvider: home.embedding.provider,
    sources: [...new Set(home.collections.map(({ source }) => source))],
    extraPaths: home.collections.filter(isExtra).map(({ root }) => root),
    sourceCounts: counts,
    cache: { enabled: cache.enabled, entries: cachedVectorCount(index), maxEntries: cache.maxEntries },
    fts: { enabled: true, available: true },
    ...(fallback === undefined ? {} : { fallback }),
    vector: vectorStatus(index, identity, home.embedding.provider !== "none"),
    batch: {
      enabled: batch.enabled,
      wait: batch.wait,
      concurrency: batch.concurrency,
      pollIntervalMs: batch.pollIntervalMs,
      timeoutMs: batch.timeoutMinutes * 60_000,
    },
    custom: {
      searchMode: provider === undefined ? "keyword" : "hybrid",
      ...(provider === undefined && reason !== undefined
        ? { providerUnavailableReason: reason.replace(/\s*\n\s*/g, " ") }
        : {}),
      ...(context.deep ? { providerOrigin: providerOrigin(agent, provider) } : {}),
      ...(identity === null ? {} : { indexIdentity: identity }),
    },
    storage: { databaseBytes: file, walBytes: wal },
    ...(probe === undefined ? {} : { embeddingProbe: probe }),
    ...(scan === undefined ? {} : { scan: scan.status }),
    ...(syncs.error === null ? {} : { lastSyncError: syncs.error }),
    ...(context.deep ? { settings: explainKeys(agent.config, memory.agentId) } : {}),
    issues: [
      ...home.issues,
      ...index.warnings,
      ...(memory.disabledReason === undefined ? [] : [memory.disabledReason]),
    ],
    ...(memory.enabled ? {} : { disabled: true as const }),
  };
}

function vectorStatus(index: Index, identity: VectorIdentity | null, enabled: boolean): MemoryStatus["vector"] {
  const dims = vectorDimensions(index);
  return {
    enabled,
    available: dims !== null,
    engine: loadVec(index),
    ...(dims === null ? {} : { dims }),
    missing: identity === null ? 0 : missingVectorCounts(index, identity).passages,
    ...rebuildOf(index),
  };
}

/** What a change of models is about to make serve. */
function rebuildOf(index: Index): Pick<MemoryStatus["vector"], "next"> {
  const next = nextIdentity(index);
  if (next === null) return {};
  const { provider, model } = next;
  return { next: { provider, model, missing: missingVectorCounts(index, next).passages } };
}

/** What named the provider, and by name where its key stands. */
function providerOrigin(agent: ServedAgent, provider: EmbeddingProvider | undefined): string {
  const { config, home, memory, qmd } = agent;
  const { embedding } = home;
  if (qmd !== undefined) return modelOrigin(qmd, agent);
  const named = explainKeys(config, memory.agentId).find(({ key }) => key === "provider")?.origin;
  const why = embedding.explicit
    ? `named by ${named ?? "the configuration"}`
    : "chosen automatically: a local model file, else the first of openai, gemini, voyage and mistral that has a key";
  const key = keyOriginOf(embedding, provider?.id ?? embedding.provider);
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

/**
 * Compares the folders with the index by size and time. Of the files that the index lacks, if they are few, it is told whether a sync
 * would take them: one that holds no text stays out for ever and leaves nothing to do.
 */
function scanStatus(index: Index, home: Home): { status: ScanStatus; dirty: boolean } {
  let dirty = false;
  const sources = new Map<string, ScanStatus["sources"][number]>();
  const scans = scanCollections(home.collections, { shareFiles: home.kind === "qmd" });
  for (const { collection, files, skipped, rootProblem } of scans) {
    const known = new Map(documentsOf(index, collection.name).map((document) => [document.path, document]));
    const lacking = files.filter(({ path }) => !known.has(path));
    const leftOut = lacking.length > MOST_READ ? [] : leftOutOf(lacking, home, collection);
    const isChanged = files.some(({ path, size, mtimeMs }) => {
      const document = known.get(path);
      return document !== undefined && (document.size !== size || document.mtimeMs !== mtimeMs);
    });
    const isGone = files.length - lacking.length !== known.size;
    dirty ||= isChanged || isGone || leftOut.length < lacking.length;
    const row = sources.get(collection.source) ?? { source: collection.source, totalFiles: 0, issues: [] };
    row.totalFiles += files.length;
    if (rootProblem !== undefined) row.issues.push(`${collection.root}: ${rootProblem}`);
    const problems = leftOut.filter(({ reason }) => reason !== "");
    for (const { path, reason } of [...skipped, ...problems]) row.issues.push(`${path}: ${reason}`);
    sources.set(collection.source, row);
  }
  const rows = [...sources.values()];
  const issues = rows.flatMap((row) => row.issues);
  return { status: { sources: rows, totalFiles: sum(rows.map(({ totalFiles }) => totalFiles)), issues }, dirty };
}

/** More files than these are taken for new without a look into them. */
const MOST_READ = 100;

/** And more bytes, since a server answers nobody else meanwhile. */
const MOST_READ_BYTES = 8 * 1024 * 1024;

/** Those of the files that a sync leaves out, with its reason; none for a blank one, which needs no word. */
function leftOutOf(
  files: readonly ScannedFile[],
  home: Home,
  collection: Collection,
): { path: string; reason: string }[] {
  const found: { path: string; reason: string }[] = [];
  let bytes = 0;
  for (const file of files) {
    if (!isTooLarge(file) && (bytes += file.size) > MOST_READ_BYTES) continue;
    const reason = reasonLeftOut(file, home, collection);
    if (reason !== null) found.push({ path: `${collection.root}/${file.path}`, reason });
  }
  return found;
}

/** Neither the workspace's root files nor its memory folder. */
function isExtra({ source, pathPrefix }: Collection): boolean {
  return source === "memory" && pathPrefix !== "" && pathPrefix !== "memory/";
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

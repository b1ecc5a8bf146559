import type { EmbeddingProvider } from "../embed/types.ts";
import { hasChanged } from "../home/file-stamp.ts";
import { isInside, realPath } from "../home/paths.ts";
import type { Collection, Home } from "../home/types.ts";
import { isDamage, reportDamage } from "../store/damage.ts";
import { documentCounts, documentsOf } from "../store/documents.ts";
import { withWriterLock } from "../store/lock.ts";
import {
  beginMergingAllTokens,
  checkpoint,
  forgetGoneDocuments,
  mergeTokens,
  removeOrphanedContents,
} from "../store/maintenance.ts";
import { readMeta, writeMeta } from "../store/meta.ts";
import { inTransaction, openIndex } from "../store/open.ts";
import { lastPassageId, passagesAfter, passagesIn, passageTotal } from "../store/passages.ts";
import { UNCUT } from "../store/schema.ts";
import type { Index } from "../store/types.ts";
import { untilJobsDone } from "./await-jobs.ts";
import type { EmbedResult } from "./embed-missing.ts";
import { type CollectionReport, syncCancelled, type SyncProgress, type SyncReport } from "./report.ts";
import { settleRenaming } from "./rename-collection.ts";
import { scanCollections, type CollectionScan } from "./scan.ts";
import { lockedPath, openForEmbedding } from "./sync-lock.ts";
import { breathe, removeInBatches, syncCollection, type CollectionRun, wasSynced } from "./sync-collection.ts";

export type SyncOptions = {
  /** Reads and cuts every file again; embeddings are reused. */
  force?: boolean;
  /** Names of the collections to sync; all when absent. None: nothing is looked at, and what has no vector is embedded. */
  collections?: readonly string[];
  /**
   * Names of all collections of the configuration, read under the writer lock: by them a renaming that was interrupted is settled, for
   * a caller that has not done so.
   */
  configured?: readonly string[];
  /** Whether passages without a vector are embedded; on unless false. */
  embed?: boolean;
  /** Texts that no document has any more stay, for a caller that removes and counts them. */
  keepsTexts?: boolean;
  onProgress?: (progress: SyncProgress) => void;
  signal?: AbortSignal;
  /** How long another program's transaction is waited for, where the index is opened here. */
  patienceMs?: number;
  /** In place of the one that the home's settings lead to; it stays open. */
  provider?: EmbeddingProvider;
};

/** Part of a sync's time that may go into merging what it wrote with what was there. */
const MERGE_SHARE = 0.05;
/** A sync that wrote this share of all passages merges them to the end: it takes a tenth of its time, and searches a third less. */
const MOST_OF_INDEX = 0.5;

const NEVER = new AbortController().signal;

/**
 * Brings a home's index up to date with its files: scans, reads and cuts what changed, removes what is gone, embeds what has no
 * vector. Runs under the writer lock; a second writer waits for it. Batch jobs that are to be waited for are waited for without
 * it. Cancelling or killing it keeps what was written, and the next sync goes on from there. A provider that fails is reported in
 * `embedding`; it does not undo the rest.
 *
 * Throws `MemqError`: `SYNC_CANCELLED`, or what opening or locking the index throws.
 */
export async function syncIndex(home: Home, options: SyncOptions = {}): Promise<SyncReport> {
  const { signal } = options;
  const sync = (isFirst: boolean): Promise<SyncReport> =>
    withWriterLock(
      lockedPath(home.indexPath, options.collections),
      () => syncLockedIndex(home, isFirst ? options : { ...options, force: false }),
      signal === undefined ? {} : { signal },
    );
  try {
    return await untilJobsDone(home, signal, sync);
  } catch (error) {
    throw signal?.aborted ? syncCancelled() : error;
  }
}

/** `syncIndex` for a caller that holds the writer lock. Damage that shows on the way makes it begin again with a new index. */
export async function syncLockedIndex(home: Home, options: SyncOptions): Promise<SyncReport> {
  for (let attempt = 1; ; attempt++) {
    const index = await openedForSync(home, options);
    try {
      return await syncOpenIndex(index, home, options);
    } catch (error) {
      if (!isDamage(error) || attempt === 2) throw error;
      reportDamage(home.indexPath, index.inode);
    } finally {
      index.close();
    }
  }
}

async function openedForSync(home: Home, { collections, patienceMs, signal }: SyncOptions): Promise<Index> {
  const patience = patienceMs === undefined ? {} : { patienceMs };
  if (lockedPath(home.indexPath, collections) !== home.indexPath)
    return openForEmbedding(home, { ...patience, signal });
  return openIndex(home.indexPath, { mode: "write", extension: home.extension, ...patience });
}

/** `syncIndex` for a caller that holds the writer lock and has the index open. */
export async function syncOpenIndex(index: Index, home: Home, options: SyncOptions): Promise<SyncReport> {
  const started = performance.now();
  const { signal = NEVER, onProgress = () => {} } = options;
  const wanted = home.collections.filter(({ name }) => options.collections?.includes(name) ?? true);
  const known = index.warnings.length;
  const warnings = [...index.warnings];
  const run: CollectionRun = { home, index, signal, onProgress, force: options.force ?? false, skipped: [], warnings };

  if (options.configured !== undefined) settleRenaming(index, new Set(options.configured));
  const lastPassage = lastPassageId(index);

  onProgress({ phase: "scan", done: 0, total: wanted.length });
  const scans = scansOf(home, wanted);
  onProgress({ phase: "scan", done: wanted.length, total: wanted.length });
  await breathe(signal);

  const collections: CollectionReport[] = [];
  const overall = overallProgress(scans, onProgress);
  for (const scan of scans) {
    const own = { skipped: [...scan.skipped], warnings: rootWarnings(scan) };
    collections.push({ ...(await syncCollection(scan, { ...run, ...own, onProgress: overall.report })), ...own });
    run.skipped.push(...own.skipped);
    warnings.push(...own.warnings);
    overall.next();
  }
  let removed = 0;
  // A qmd home keeps the documents of a removed collection until `cleanup`.
  if (home.kind === "agent" && options.collections === undefined) removed = await removeOtherCollections(run);
  const outdated = removed + collections.reduce((sum, report) => sum + report.changed + report.removed, 0);
  if (outdated > 0 && options.keepsTexts !== true) forgetOutdated(index, home);
  if (readMeta(index, UNCUT) !== null && isCut(index, home, scans)) writeMeta(index, UNCUT, null);
  const passages = passageTotal(index);
  const written = passagesAfter(index, lastPassage);
  if (written > 0)
    await mergeWritten(index, signal, {
      all: written >= passages * MOST_OF_INDEX,
      forMs: (performance.now() - started) * MERGE_SHARE,
    });
  const embedding = options.embed === false ? NOT_EMBEDDED : await embedded(run, options);
  // Vectors may have told more of the index.
  warnings.push(...embedding.warnings, ...index.warnings.slice(known));

  const sum = (key: "files" | "added" | "changed" | "removed"): number =>
    collections.reduce((total, report) => total + report[key], 0);
  // Readers keep the journal from shrinking by itself.
  if (written > 0) checkpoint(index);
  return {
    files: sum("files"),
    passages: passagesIn(
      index,
      home.collections.map(({ name }) => name),
    ),
    added: sum("added"),
    changed: sum("changed"),
    removed: removed + sum("removed"),
    embedded: embedding.embedded,
    ms: Math.round(performance.now() - started),
    collections,
    skipped: run.skipped,
    warnings,
    embedding: embedding.outcome,
  };
}

/** Whether every collection that the index may hold documents of has been looked at, now or before. */
function isCut(index: Index, { collections }: Home, scans: readonly CollectionScan[]): boolean {
  const looked = new Set(
    scans.filter(({ rootProblem }) => rootProblem === undefined).map((scan) => scan.collection.name),
  );
  return collections.length > 0 && collections.every(({ name }) => looked.has(name) || wasSynced(index, name));
}

const NOT_EMBEDDED: EmbedResult = { embedded: 0, outcome: { state: "off" }, warnings: [] };

async function embedded(run: CollectionRun, { provider }: SyncOptions): Promise<EmbedResult> {
  const { embedMissing } = await import("./embed-missing.ts");
  return embedMissing(provider === undefined ? run : { ...run, provider });
}

/**
 * Scans of the wanted collections. In an agent's home a file belongs to the first collection that reaches it, so those before are
 * looked at too where they may reach the same.
 */
function scansOf({ kind, collections }: Home, wanted: readonly Collection[]): CollectionScan[] {
  if (kind === "qmd") return scanCollections(wanted, { shareFiles: true });
  const roots = wanted.map(({ root }) => realPath(root));
  const reachesSame = (root: string): boolean => roots.some((one) => isInside(one, root) || isInside(root, one));
  const last = collections.findLastIndex((one) => wanted.includes(one));
  const looked = collections.filter(
    (one, at) => wanted.includes(one) || (at < last && reachesSame(realPath(one.root))),
  );
  return scanCollections(looked, { shareFiles: false }).filter(({ collection }) => wanted.includes(collection));
}

/** Makes the progress of one collection after another that of all. */
function overallProgress(scans: readonly CollectionScan[], onProgress: (progress: SyncProgress) => void) {
  const total = scans.reduce((sum, { files }) => sum + files.length, 0);
  const before = { read: 0, write: 0 };
  const current = { read: 0, write: 0 };
  return {
    report: ({ phase, done }: SyncProgress): void => {
      if (phase !== "read" && phase !== "write") return;
      current[phase] = done;
      onProgress({ phase, done: before[phase] + done, total });
    },
    next: (): void => {
      for (const phase of ["read", "write"] as const) {
        before[phase] += current[phase];
        current[phase] = 0;
      }
    },
  };
}

/** Merges what the full-text index was given in pieces, which makes searches faster: all of it, or as far as the time goes. */
async function mergeWritten(index: Index, signal: AbortSignal, how: { all: boolean; forMs: number }): Promise<void> {
  const end = how.all ? Infinity : performance.now() + how.forMs;
  if (how.all) beginMergingAllTokens(index);
  while (performance.now() < end && mergeTokens(index)) await breathe(signal);
}

function rootWarnings({ collection, rootProblem, unreadable }: CollectionScan): string[] {
  if (rootProblem === undefined || collection.missing !== undefined) return [];
  const kept = unreadable.length > 0 ? " What the index holds of it stays." : "";
  return [`The folder ${collection.root} of "${collection.name}" was not read: ${rootProblem}.${kept}`];
}

/** Old versions of notes would pile up otherwise, and texts of deleted notes stay readable in the file. */
function forgetOutdated(index: Index, { kind }: Home): void {
  inTransaction(index, () => {
    if (kind === "agent") forgetGoneDocuments(index);
    removeOrphanedContents(index);
  });
}

/**
 * Removes the documents of collections that an agent's configuration no longer names; returns how many. A process that read an earlier
 * configuration does not know the collections which the present one has.
 */
async function removeOtherCollections({ index, home, signal, warnings }: CollectionRun): Promise<number> {
  const names = new Set(home.collections.map(({ name }) => name));
  const others = documentCounts(index).filter(({ collection }) => !names.has(collection));
  if (others.length > 0 && home.configuredBy !== undefined && hasChanged(home.configuredBy)) {
    const kept = others.map(({ collection }) => `"${collection}"`).join(", ");
    const { path } = home.configuredBy;
    warnings.push(`What the index holds of ${kept} stays: ${path} has changed since this process read it.`);
    return 0;
  }
  const documents = others.flatMap(({ collection }) => documentsOf(index, collection));
  await removeInBatches(index, documents, signal);
  return documents.length;
}

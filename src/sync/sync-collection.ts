import { cuttingName } from "../embed/identity.ts";
import type { Home } from "../home/types.ts";
import { expectMuchWork } from "../long-running.ts";
import { knownDocuments } from "../store/documents.ts";
import { inTransaction } from "../store/open.ts";
import { lastSyncKey, readMeta, writeMeta } from "../store/meta.ts";
import type { DocumentDraft, KnownDocument, Index } from "../store/types.ts";
import { removeDocuments, touchDocument, writeDocuments } from "../store/write-documents.ts";
import type { ReadDocument } from "./read-document.ts";
import { type FileToRead, readFiles } from "./read-files.ts";
import { type CollectionCounts, syncCancelled, type SyncProgress } from "./report.ts";
import type { CollectionScan, ScannedFile, Skipped } from "./scan.ts";

/** Raised when tokens or cutting change in a way that existing indexes must follow. */
const INDEX_FORMAT = 4;
/** One write transaction: short enough for others, long enough to be quick. */
const BATCH_DOCUMENTS = 200;
const BATCH_CHARACTERS = 2_000_000;
/** Reading so many files takes long enough for compiled code to pay. */
const MANY_FILES = 100;
/** Files between two looks at whether the sync is cancelled. */
const CHECK_EVERY = 1000;

export type CollectionRun = {
  home: Home;
  index: Index;
  force: boolean;
  signal: AbortSignal;
  onProgress: (progress: SyncProgress) => void;
  skipped: Skipped[];
  /** Sentences for people. */
  warnings: string[];
};

/** How a collection was synced last, as `memq_meta` keeps it. */
type LastSync = { at: number; root: string; cut: string };

/**
 * Brings one collection's documents up to date. Only files whose size or time differ are read; a batch of documents is one
 * transaction, so a kill at any moment loses at most the batch. What could not be read keeps its place in the index.
 */
export async function syncCollection(scan: CollectionScan, run: CollectionRun): Promise<CollectionCounts> {
  const { home, index } = run;
  const { collection, files } = scan;
  const state: LastSync = {
    at: scan.startedAt,
    root: collection.root,
    cut: cutOf(home),
  };
  const last = lastSync(index, collection.name);
  const trusted = last?.root === state.root ? last.at : -Infinity;
  const recut = run.force || last?.cut !== state.cut;
  const known = new Map(knownDocuments(index, collection.name).map((document) => [document.path, document]));
  const report: CollectionCounts = { name: collection.name, files: 0, added: 0, changed: 0, unchanged: 0, removed: 0 };
  const batch = createBatch(index, run);

  const toRead: (FileToRead & { document: KnownDocument | undefined })[] = [];
  let found = 0;
  for (const file of files) {
    const document = known.get(file.path);
    if (document !== undefined) found += 1;
    if (document !== undefined && !recut && isUnchanged(file, document, trusted)) report.unchanged += 1;
    // A document that another program wrote has no size: it has to be cut, whatever its hash.
    else
      toRead.push({
        file,
        document,
        knownHash: document === undefined || recut || document.size < 0 ? null : document.hash,
      });
  }
  if (toRead.length >= MANY_FILES) expectMuchWork();
  toRead.sort((a, b) => (a.file.path < b.file.path ? -1 : 1));
  const gone = found === known.size ? [] : without(known, files);
  report.files = report.unchanged;
  let done = report.unchanged;
  let next = 0;
  const wanted = toRead.map(({ file, knownHash }) => ({ file, knownHash }));
  for await (const read of readFiles({ home, collection, files: wanted })) {
    const asked = toRead[next++];
    if (asked === undefined) break;
    const { file, document } = asked;
    if (!take(read, file, document, { scan, run, batch, report }) && document !== undefined) gone.push(document);
    done += 1;
    if (!batch.isFull() && done % CHECK_EVERY !== 0) continue;
    run.onProgress({ phase: "read", done, total: files.length });
    await batch.write();
  }
  run.onProgress({ phase: "read", done, total: files.length });
  await batch.write();

  const unreadable = new Set(scan.unreadable);
  const removable = gone.filter(({ path }) => !isAtOrUnderAny(path, unreadable));
  await removeInBatches(index, removable, run.signal);
  report.removed = removable.length;
  // Where nothing was read, the earlier time vouches for as much, and the index stays as it is: nobody has to wait for the disk.
  const stands = last?.root === state.root && last.cut === state.cut && last.at <= state.at && toRead.length === 0;
  if (scan.unreadable.length === 0 && !stands) writeMeta(index, lastSyncKey(collection.name), JSON.stringify(state));
  return report;
}

/** The documents whose files are not there. */
function without(known: ReadonlyMap<string, KnownDocument>, files: readonly ScannedFile[]): KnownDocument[] {
  const there = new Set(files.map(({ path }) => path));
  return [...known.values()].filter(({ path }) => !there.has(path));
}

/** Removes documents in short transactions, as they are written. */
export async function removeInBatches(
  index: Index,
  documents: readonly KnownDocument[],
  signal: AbortSignal,
): Promise<void> {
  for (let at = 0; at < documents.length; at += BATCH_DOCUMENTS) {
    const batch = documents.slice(at, at + BATCH_DOCUMENTS);
    removeDocuments(
      index,
      batch.map(({ id }) => id),
    );
    await breathe(signal);
  }
}

type TakeContext = { scan: CollectionScan; run: CollectionRun; batch: Batch; report: CollectionCounts };

/** Counts what reading a file came to and queues what has to be written; false when the file has no document any more. */
function take(read: ReadDocument, file: ScannedFile, known: KnownDocument | undefined, context: TakeContext): boolean {
  const { scan, run, batch, report } = context;
  const { collection } = scan;
  const skip = (reason: string): void => void run.skipped.push({ path: `${collection.root}/${file.path}`, reason });
  if (read.kind === "failed") {
    // What was deleted since it was listed is not in the folder, and nothing that was left out.
    if (!read.gone) skip(read.reason);
    return !read.gone;
  }
  if (read.kind === "unsuitable") {
    skip(read.reason);
    return false;
  }
  if (read.kind === "blank") return false;
  report.files += 1;
  if (read.kind === "same") {
    report.unchanged += 1;
    if (known !== undefined && (known.mtimeMs !== file.mtimeMs || known.size !== file.size))
      batch.touch(known.id, file);
    return true;
  }
  if (known === undefined) report.added += 1;
  else if (known.hash === read.draft.hash) report.unchanged += 1;
  else report.changed += 1;
  if (read.notice !== undefined) run.warnings.push(`${collection.root}/${file.path}: ${read.notice}.`);
  batch.add(read.draft);
  return true;
}

/**
 * Whether size and time vouch for a file. A file that changed within the clock's grain of the last sync may have changed once more
 * without showing it; the change time tells that even when a program set the modification time back.
 */
function isUnchanged(file: ScannedFile, document: KnownDocument, lastSyncAt: number): boolean {
  const changedAt = Math.max(file.mtimeMs, file.ctimeMs);
  // File systems with whole seconds (some have two) against those with finer clocks, which tick every few milliseconds.
  const grain = changedAt % 1000 === 0 ? 2000 : 100;
  return file.size === document.size && file.mtimeMs === document.mtimeMs && changedAt < lastSyncAt - grain;
}

/** Whether a path is one of the places or lies below one; "" is above all. There may be as many places as paths. */
function isAtOrUnderAny(path: string, places: ReadonlySet<string>): boolean {
  if (places.has(path) || places.has("")) return true;
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1))
    if (places.has(path.slice(0, at))) return true;
  return false;
}

type Batch = {
  add(draft: DocumentDraft): void;
  touch(id: number, file: ScannedFile): void;
  isFull(): boolean;
  write(): Promise<void>;
};

function createBatch(index: Index, { signal, onProgress }: CollectionRun): Batch {
  let drafts: DocumentDraft[] = [];
  let touched: { id: number; file: ScannedFile }[] = [];
  let characters = 0;
  let written = 0;
  return {
    add(draft) {
      drafts.push(draft);
      characters += draft.text.length;
    },
    touch: (id, file) => void touched.push({ id, file }),
    isFull: () => drafts.length >= BATCH_DOCUMENTS || characters >= BATCH_CHARACTERS,
    async write() {
      if (drafts.length + touched.length > 0) {
        inTransaction(index, () => {
          for (const { id, file } of touched) touchDocument(index, id, file);
          writeDocuments(index, drafts);
        });
        written += drafts.length;
        onProgress({ phase: "write", done: written, total: written });
        drafts = [];
        touched = [];
        characters = 0;
      }
      await breathe(signal);
    },
  };
}

/** Lets messages in, then ends the work if one of them cancelled it. */
export async function breathe(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => void setImmediate(resolve));
  if (signal.aborted) throw syncCancelled();
}

/** Takes along how a collection was synced last when it gets another name, so that its files are not read again. */
export function renameLastSync(index: Index, from: string, to: string): void {
  const stored = readMeta(index, lastSyncKey(from));
  writeMeta(index, lastSyncKey(from), null);
  writeMeta(index, lastSyncKey(to), stored);
}

/** Forgets how a collection was synced last. */
export function forgetLastSync(index: Index, collection: string): void {
  writeMeta(index, lastSyncKey(collection), null);
}

/** Whether a collection was ever synced. */
export function wasSynced(index: Index, collection: string): boolean {
  return lastSync(index, collection) !== null;
}

/** The collections whose words an earlier version indexed as it took them apart: some are not found before the next sync. */
export function outdatedCollections(index: Index, home: Pick<Home, "collections" | "cutting">): string[] {
  const names = home.collections.map(({ name }) => name);
  return names.filter((name) => (lastSync(index, name)?.cut ?? cutOf(home)) !== cutOf(home));
}

function cutOf({ cutting }: Pick<Home, "cutting">): string {
  return `${INDEX_FORMAT}:${cuttingName(cutting)}`;
}

function lastSync(index: Index, collection: string): LastSync | null {
  const stored = readMeta(index, lastSyncKey(collection));
  if (stored === null) return null;
  const { at, root, cut }: Partial<LastSync> = JSON.parse(stored);
  return typeof at === "number" && typeof root === "string" && typeof cut === "string" ? { at, root, cut } : null;
}

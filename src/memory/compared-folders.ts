import type { Collection, Home } from "../home/types.ts";
import { documentsOf } from "../store/documents.ts";
import type { Index } from "../store/types.ts";
import { isTooLarge, reasonLeftOut } from "../sync/read-document.ts";
import { scanCollections, type ScannedFile } from "../sync/scan.ts";

export type ScanStatus = {
  sources: { source: string; totalFiles: number; issues: string[] }[];
  totalFiles: number;
  issues: string[];
};

export type ComparedFolders = {
  status: ScanStatus;
  /** A sync would find something to do. */
  dirty: boolean;
  /** How many files are new or have changed since they were indexed. */
  unindexed: number;
};

/**
 * Compares the folders with the index by size and time. Of the files that the index lacks, if they are few, it is told whether a sync
 * would take them: one that holds no text stays out for ever and leaves nothing to do.
 */
export function comparedFolders(index: Index, home: Home): ComparedFolders {
  let dirty = false;
  let unindexed = 0;
  const sources = new Map<string, ScanStatus["sources"][number]>();
  const scans = scanCollections(home.collections, { shareFiles: home.kind === "qmd" });
  for (const { collection, files, skipped, rootProblem } of scans) {
    const known = new Map(documentsOf(index, collection.name).map((document) => [document.path, document]));
    const lacking = files.filter(({ path }) => !known.has(path));
    const leftOut = lacking.length > MOST_READ ? [] : leftOutOf(lacking, home, collection);
    const changed = files.filter(({ path, size, mtimeMs }) => {
      const document = known.get(path);
      return document !== undefined && (document.size !== size || document.mtimeMs !== mtimeMs);
    });
    const isGone = files.length - lacking.length !== known.size;
    const taken = lacking.length - leftOut.length;
    unindexed += changed.length + taken;
    dirty ||= isGone || changed.length + taken > 0;
    const row = sources.get(collection.source) ?? { source: collection.source, totalFiles: 0, issues: [] };
    row.totalFiles += files.length;
    if (rootProblem !== undefined) row.issues.push(`${collection.root}: ${rootProblem}`);
    const problems = leftOut.filter(({ reason }) => reason !== "");
    for (const { path, reason } of [...skipped, ...problems]) row.issues.push(`${path}: ${reason}`);
    sources.set(collection.source, row);
  }
  const rows = [...sources.values()];
  const issues = rows.flatMap((row) => row.issues);
  const totalFiles = rows.reduce((total, row) => total + row.totalFiles, 0);
  return { status: { sources: rows, totalFiles, issues }, dirty, unindexed };
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

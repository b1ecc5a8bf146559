import { type QmdHome, readQmdHome } from "../../home/qmd-home.ts";
import { type QmdConfig, storeRows } from "../../home/index-yml.ts";
import { isExclusion, patternList } from "../../home/mask.ts";
import { notice, showProgress, writeOut } from "../../output.ts";
import { clearLlmCache } from "../../store/cache.ts";
import { readStoreConfig, replaceStoredCollections, writeStoreConfig } from "../../store/collections.ts";
import { isDamage, reportDamage } from "../../store/damage.ts";
import { withWriterLock } from "../../store/lock.ts";
import { removeOrphanedContents } from "../../store/maintenance.ts";
import { inTransaction, openIndex } from "../../store/open.ts";
import type { Index } from "../../store/types.ts";
import type { CollectionCounts, SyncProgress } from "../../sync/report.ts";
import { settleRenaming } from "../../sync/rename-collection.ts";
import { syncOpenIndex } from "../../sync/sync.ts";

/**
 * Runs `work` on the index as its only writer, with the home as its configuration is by then: it may have changed while others were
 * writing. Where damage shows on the way, once more on a new index.
 */
export function writing<T>({ places }: QmdHome, work: (index: Index, qmd: QmdHome) => Promise<T> | T): Promise<T> {
  const attempt = async (): Promise<T> => {
    const qmd = await readQmdHome(places, { env: process.env, cwd: process.cwd() });
    const index = openIndex(places.indexPath, { mode: "write" });
    try {
      for (const warning of index.warnings) notice(warning);
      matchConfiguration(index, qmd.config);
      return await work(index, qmd);
    } finally {
      index.close();
    }
  };
  return withWriterLock(places.indexPath, async () => {
    try {
      return await attempt();
    } catch (error) {
      if (!isDamage(error)) throw error;
      reportDamage(places.indexPath);
      return attempt();
    }
  });
}

/**
 * Brings the index in line with the configuration where a command was ended between changing the one and the other, and writes the
 * configuration to where other programs look for it in the index, if it has changed.
 */
export function matchConfiguration(index: Index, config: QmdConfig): void {
  settleRenaming(index, new Set(config.collections.map(({ name }) => name)));
  const { collections, configHash, globalContext } = storeRows(config);
  if (readStoreConfig(index, "config_hash") === configHash) return;
  inTransaction(index, () => {
    replaceStoredCollections(index, collections);
    writeStoreConfig(index, "global_context", globalContext);
    writeStoreConfig(index, "config_hash", configHash);
  });
}

/** Brings one collection of an open index up to date and prints what that came to. */
export async function indexCollection(index: Index, qmd: QmdHome, name: string): Promise<CollectionCounts | null> {
  const collection = qmd.home.collections.find((one) => one.name === name);
  if (collection === undefined) return null;
  const pattern = qmd.config.collections.find((one) => one.name === name)?.pattern ?? collection.patterns.join(",");
  writeOut(`Collection: ${collection.root} (${pattern})\n`);
  clearLlmCache(index);
  const { collections, skipped, warnings } = await syncOpenIndex(index, qmd.home, {
    collections: [name],
    embed: false,
    keepsTexts: true,
    onProgress: showIndexing,
  }).finally(() => showProgress(""));
  const report = collections[0] ?? { name, files: 0, added: 0, changed: 0, unchanged: 0, removed: 0 };
  const cleaned = report.changed + report.removed > 0 ? removeOrphanedContents(index) : 0;
  const hint =
    report.files === 0 && warnings.length === index.warnings.length ? "No files found matching pattern.\n" : "";
  const orphans = cleaned > 0 ? `Cleaned up ${cleaned} orphaned content hash(es)\n` : "";
  writeOut(
    `${hint}\nIndexed: ${report.added} new, ${report.changed} updated, ${report.unchanged} unchanged, ${report.removed} removed\n${orphans}`,
  );
  if (report.files === 0 && patternList(pattern).every(isExclusion)) {
    notice(
      `⚠ The mask ${pattern} says only what stays out. Name what belongs to the collection too: **/*.md,${pattern}`,
    );
  }
  for (const warning of warnings.slice(index.warnings.length)) notice(`⚠ ${warning}`);
  for (const { path, reason } of skipped) notice(`⚠ Skipped ${path}: ${reason}`);
  if (skipped.length > 0) notice(`Skipped ${skipped.length} file(s)`);
  return report;
}

const PHASES = { scan: "Scanning", read: "Indexing", write: "Writing", embed: "Embedding" };

function showIndexing({ phase, done, total }: SyncProgress): void {
  showProgress(`${PHASES[phase]}: ${done}/${total}`, total > 0 ? done / total : undefined);
}

/** What is left to embed, as the last line of a command that indexed; nothing when nothing is. */
export function embedHint(documents: number, program: string): string {
  return documents === 0
    ? ""
    : `\nRun '${program} embed' to update embeddings (${documents} unique hashes need vectors)\n`;
}

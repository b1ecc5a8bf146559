import type { QmdHome } from "../../home/qmd-home.ts";
import { notice, writeOut } from "../../output.ts";
import { documentCounts } from "../../store/documents.ts";
import { cleanup, cleanupCounts, removeJournal, type CleanupCounts } from "../../store/maintenance.ts";
import { openIndex } from "../../store/open.ts";
import type { Index } from "../../store/types.ts";
import type { Invocation } from "../parse.ts";
import { flag } from "../parse.ts";
import { qmdHomeOf } from "../qmd/home.ts";
import { writing } from "../qmd/indexing.ts";

/** `cleanup [--dry-run]`: removes what no note needs any more, and gives the space back. */
export async function run(invocation: Invocation): Promise<void> {
  const qmd = await qmdHomeOf(invocation);
  const noteStrangers = (index: Index, { config }: QmdHome): void => {
    const known = new Set(config.collections.map(({ name }) => name));
    const strangers = documentCounts(index).filter(({ collection }) => !known.has(collection));
    for (const { collection, count } of strangers) {
      notice(
        `${count} documents belong to '${collection}', which is not configured; '${invocation.program} collection remove' removes them.`,
      );
    }
  };
  if (flag(invocation, "dry-run")) {
    const index = openIndex(qmd.places.indexPath, { mode: "read" });
    writeOut(`Dry run — no changes made.\n\n${counted(cleanupCounts(index), "dry")}`);
    noteStrangers(index, qmd);
    index.close();
    return;
  }
  // The journal's space is the first to be had on a full disk: locks and lists need some.
  removeJournal(qmd.places.indexPath);
  await writing(qmd, (index, current) => {
    const { removed, notCompacted } = cleanup(index);
    writeOut(counted(removed, { compacted: notCompacted === null }));
    if (notCompacted !== null)
      notice(
        `The database was not compacted: ${notCompacted}. Free some space and run '${invocation.program} cleanup' again.`,
      );
    noteStrangers(index, current);
  });
}

function counted(counts: CleanupCounts, run: "dry" | { compacted: boolean }): string {
  const { cachedAnswers, orphanedVectors, inactiveDocuments, orphanedContents } = counts;
  const [cleared, removed] = run === "dry" ? ["Would clear", "Would remove"] : ["✓ Cleared", "✓ Removed"];
  const lines = [
    `${cleared} ${cachedAnswers} cached API responses`,
    orphanedVectors > 0
      ? `${removed} ${orphanedVectors} orphaned embedding chunks`
      : "No orphaned embeddings to remove",
    ...(inactiveDocuments > 0 ? [`${removed} ${inactiveDocuments} inactive document records`] : []),
    ...(orphanedContents > 0 ? [`${removed} ${orphanedContents} orphaned content hashes`] : []),
    ...(run === "dry" ? ["Would compact FTS and vacuum the database"] : []),
    ...(run !== "dry" && run.compacted ? ["✓ FTS compacted, database vacuumed"] : []),
  ];
  return `${lines.join("\n")}\n`;
}

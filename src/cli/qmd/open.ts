import { messageOf } from "../../errors.ts";
import type { QmdHome } from "../../home/qmd-home.ts";
import { hasDocuments } from "../../store/documents.ts";
import { openIndex } from "../../store/open.ts";
import type { Index } from "../../store/types.ts";
import { notice } from "../output.ts";
import type { Invocation, Program } from "../parse.ts";
import { value } from "../parse.ts";
import { noteHome, qmdHomeOf } from "./home.ts";

/** A qmd home with its index open for reading: what every command that only looks works with. */
export type OpenQmd = {
  qmd: QmdHome;
  index: Index;
  /** Name of the index where it is not the default one: printed names then carry `?index=`. */
  named: string | undefined;
  program: Program;
};

/**
 * Resolves the home that `--index` (or `name`) and the folder lead to and opens its index. Nothing is written, except that an index
 * which only qmd has written to is made ready for searching first, once.
 */
export async function openQmd(
  invocation: Invocation,
  name: string | undefined = value(invocation, "index"),
): Promise<OpenQmd> {
  const { program } = invocation;
  const qmd = await qmdHomeOf(invocation, name);
  noteHome(qmd);
  let index = openIndex(qmd.places.indexPath, { mode: "read" });
  if (index.state === "unprepared" && hasDocuments(index)) index = await prepared(index, qmd);
  for (const warning of index.warnings) notice(warning);
  // The name in full: `--index ./a` means another index in every folder.
  const { indexName } = qmd.places;
  return { qmd, index, named: indexName === "index" ? undefined : indexName, program };
}

/** Another program's file: its documents are cut into passages now, and its vectors taken over. */
async function prepared(index: Index, qmd: QmdHome): Promise<Index> {
  notice("This index has not been used by memq before: making it ready, once.");
  index.close();
  try {
    const { syncIndex } = await import("../../sync/sync.ts");
    await syncIndex(qmd.home, { embed: false });
  } catch (error) {
    notice(`It could not be made ready: ${messageOf(error)}`);
  }
  return openIndex(qmd.places.indexPath, { mode: "read" });
}

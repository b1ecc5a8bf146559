import { MemqError } from "../../errors.ts";
import {
  removeCollection,
  renameCollection,
  setIncludedByDefault,
  setUpdateCommand,
} from "../../home/index-yml-edit.ts";
import type { QmdCollectionConfig } from "../../home/index-yml.ts";
import type { QmdHome } from "../../home/qmd-home.ts";
import { collectionRoot, isProjectConfig } from "../../home/trust.ts";
import { notice, writeOut } from "../../output.ts";
import { checkCollectionName } from "../../qmd/names.ts";
import { deleteCollectionDocuments } from "../../store/collections.ts";
import { documentCounts } from "../../store/documents.ts";
import { removeJournal } from "../../store/maintenance.ts";
import { inTransaction, openIndex } from "../../store/open.ts";
import type { Index } from "../../store/types.ts";
import { printableLine } from "../../printable.ts";
import { renameInIndex } from "../../sync/rename-collection.ts";
import { forgetLastSync } from "../../sync/sync-collection.ts";
import { helpText } from "../help.ts";
import type { Invocation } from "../parse.ts";
import { commandName } from "../parse.ts";
import { editTrusted, qmdHomeOf } from "../qmd/home.ts";
import { matchConfiguration, writing } from "../qmd/indexing.ts";
import { collectionNotFound, doctorHint } from "../qmd/words.ts";

/** `collection` alone, `collection help`, or a sub-command that there is not. */
export function group({ words, program }: Invocation): void {
  if (words.length === 0 || words[0] === "help") return writeOut(helpText(["collection"], program));
  throw new MemqError("USAGE", `Unknown subcommand: ${words[0]}`, {
    hint: `Run '${program} collection help' for usage\n${doctorHint(program)}`,
  });
}

/** `collection show NAME`. */
export async function show(invocation: Invocation): Promise<void> {
  const { qmd, collection } = await named(invocation, "<name>");
  const { name, path, pattern, ignore, includeByDefault, update, context } = collection;
  const contexts = Object.keys(context).length;
  const lines = [
    `Collection: ${name}`,
    `  Path:     ${collectionRoot(path, qmd.places.configPath, process.cwd(), process.env)}`,
    `  Pattern:  ${pattern}`,
    ...(ignore.length === 0 ? [] : [`  Ignore:   ${ignore.join(", ")}`]),
    `  Include:  ${includeByDefault ? "yes (default)" : "no"}`,
    ...(update === undefined ? [] : [`  Update:   ${update}`]),
    ...(contexts === 0 ? [] : [`  Contexts: ${contexts}`]),
  ];
  // A project's configuration comes with its checkout: what it says is shown, not obeyed.
  writeOut(`${lines.map(printableLine).join("\n")}\n`);
}

/** `collection remove NAME`: also one of which only documents are left in the index. */
export async function remove(invocation: Invocation): Promise<void> {
  const name = wanted(invocation, 1, "<name>")[0] ?? "";
  const home = await qmdHomeOf(invocation);
  if (!isConfigured(home, name) && !hasDocuments(home, name)) throw collectionNotFound(name, invocation.program);
  // The journal's space is the first to be had on a full disk: locks and the new index.yml need some.
  removeJournal(home.places.indexPath);
  await writing(home, async (index, before) => {
    const forget = (): ReturnType<typeof deleteCollectionDocuments> =>
      inTransaction(index, () => {
        forgetLastSync(index, name);
        return deleteCollectionDocuments(index, name);
      });
    let gone = { documents: 0, contents: 0 };
    if (isConfigured(before, name)) {
      const both = () => removeCollection(before.places.configPath, name, () => void (gone = forget()));
      await changeBoth(invocation, index, before, both);
    } else gone = forget();
    writeOut(`✓ Removed collection '${name}'\n  Deleted ${gone.documents} documents\n`);
    if (gone.contents > 0) writeOut(`  Cleaned up ${gone.contents} orphaned content hashes\n`);
  });
}

function isConfigured({ config }: QmdHome, name: string): boolean {
  return config.collections.some((one) => one.name === name);
}

function hasDocuments({ places }: QmdHome, name: string): boolean {
  const index = openIndex(places.indexPath, { mode: "read" });
  try {
    return documentCounts(index).some(({ collection }) => collection === name);
  } finally {
    index.close();
  }
}

/** `collection rename OLD NEW`. */
export async function rename(invocation: Invocation): Promise<void> {
  const [from = "", to = ""] = wanted(invocation, 2, "<old-name> <new-name>");
  const home = await qmdHomeOf(invocation);
  if (!isConfigured(home, from)) throw collectionNotFound(from, invocation.program);
  checkCollectionName(to);
  if (from === to) return writeOut(`Collection '${from}' has that name already.\n`);
  await writing(home, async (index, before) => {
    await changeBoth(invocation, index, before, async () => {
      try {
        await renameCollection(before.places.configPath, from, to, () => renameInIndex(index, from, to));
      } catch (error) {
        matchConfiguration(index, before.config);
        throw error;
      }
    });
  });
  writeOut(`✓ Renamed collection '${from}' to '${to}'\n  Virtual paths updated: qmd://${from}/ → qmd://${to}/\n`);
}

/** Changes the configuration and the index by `both`. Once that is complete, nothing that follows can undo it any more. */
async function changeBoth(
  invocation: Invocation,
  index: Index,
  before: QmdHome,
  both: () => Promise<void>,
): Promise<void> {
  const { config } = await editTrusted(invocation, before, both);
  try {
    matchConfiguration(index, config);
  } catch {
    // A disk that is full by now: the next command that writes does the same first.
  }
}

/** `collection include NAME`. */
export function include(invocation: Invocation): Promise<void> {
  return setDefault(invocation, true);
}

/** `collection exclude NAME`. */
export function exclude(invocation: Invocation): Promise<void> {
  return setDefault(invocation, false);
}

async function setDefault(invocation: Invocation, included: boolean): Promise<void> {
  const { qmd, collection } = await named(invocation, "<name>");
  await setIncludedByDefault(qmd.places.configPath, collection.name, included);
  writeOut(`✓ Collection '${collection.name}' ${included ? "included in" : "excluded from"} default queries\n`);
}

/** `collection update-cmd NAME [COMMAND...]`: without a command it is cleared. */
export async function updateCommand(invocation: Invocation): Promise<void> {
  const { qmd, collection } = await named(invocation, "<name> [command]");
  const command = invocation.words.slice(1).join(" ").trim();
  const edit = () => setUpdateCommand(qmd.places.configPath, collection.name, command === "" ? null : command);
  const after = await editTrusted(invocation, qmd, edit);
  if (command === "") writeOut(`✓ Cleared update command for '${collection.name}'\n`);
  else writeOut(`✓ Set update command for '${collection.name}': ${command}\n`);
  if (command !== "" && isProjectConfig(qmd.places.configPath) && after.trust.state === "untrusted") {
    notice(`It runs once this project's configuration is approved: '${invocation.program} trust'.`);
  }
}

/** The collection that the first word names, and its home. */
async function named(
  invocation: Invocation,
  usage: string,
): Promise<{ qmd: QmdHome; collection: QmdCollectionConfig }> {
  const name = wanted(invocation, 1, usage)[0] ?? "";
  const qmd = await qmdHomeOf(invocation);
  const collection = qmd.config.collections.find((one) => one.name === name);
  if (collection === undefined) throw collectionNotFound(name, invocation.program);
  return { qmd, collection };
}

/** The first words, as many as the command needs. Throws a usage error (exit 1, as qmd) when some are missing. */
function wanted({ words, command, program }: Invocation, count: number, usage: string): string[] {
  if (words.length >= count) return words.slice(0, count);
  throw new MemqError("USAGE", `Usage: ${program} ${commandName(command)} ${usage}`, {
    hint: `  Use '${program} collection list' to see available collections`,
  });
}

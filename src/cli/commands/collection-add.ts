import { realpathSync, statSync } from "node:fs";
import { basename } from "node:path";
import { MemqError, reasonOf } from "../../errors.ts";
import { addCollection, removeCollection } from "../../home/index-yml-edit.ts";
import { DEFAULT_PATTERN } from "../../home/index-yml.ts";
import { patternList } from "../../home/mask.ts";
import { absolutePath } from "../../home/paths.ts";
import type { QmdHome } from "../../home/qmd-home.ts";
import { notice, writeOut } from "../../output.ts";
import { checkCollectionName } from "../../qmd/names.ts";
import { anyOf, writtenOut } from "../../sync/globs.ts";
import { pendingEmbeddings } from "../../sync/pending.ts";
import { deleteCollectionDocuments } from "../../store/collections.ts";
import { documentCounts } from "../../store/documents.ts";
import type { Index } from "../../store/types.ts";
import type { Invocation } from "../parse.ts";
import type { Program } from "../../version.ts";
import { value } from "../parse.ts";
import { editTrusted, noteHome, qmdHomeOf, shellFolder } from "../qmd/home.ts";
import { embedHint, indexCollection, matchConfiguration, writing } from "../qmd/indexing.ts";

/** `collection add PATH`: records the collection and indexes it. The very same one again is brought up to date. */
export async function run(invocation: Invocation): Promise<void> {
  const { program, words } = invocation;
  const given = words[0];
  if (given === undefined || given === "") throw missingPath(program);
  const path = folderOf(given, program);
  const name = value(invocation, "name") ?? (basename(path) || "root");
  checkCollectionName(name);
  const pattern = value(invocation, "mask") ?? value(invocation, "glob") ?? DEFAULT_PATTERN;
  // One that can't be compiled is refused before anything is recorded.
  anyOf(patternList(pattern).flatMap(writtenOut), { dot: false });

  await writing(await qmdHomeOf(invocation), async (index, before) => {
    const hadDocuments = documentCounts(index).some(({ collection }) => collection === name);
    let isNew = false;
    const add = async (): Promise<void> => {
      isNew = await addCollection(before.places.configPath, { name, path, pattern });
    };
    try {
      const qmd = await editTrusted(invocation, before, add);
      matchConfiguration(index, qmd.config);
      writeOut(isNew ? `Creating collection '${name}'...\n` : `Collection '${name}' is there already.\n`);
      noteHome({ ...qmd, skipped: qmd.skipped.filter((one) => one.name === name) });
      await indexCollection(index, qmd, name);
      writeOut(embedHint((await pendingEmbeddings(index, qmd.home)).documents, program));
    } catch (error) {
      if (isNew) await takeBack(invocation, index, { name, before, hadDocuments });
      throw error;
    }
    writeOut(`✓ Collection '${name}' ${isNew ? "created successfully" : "is up to date"}\n`);
  });
}

type Added = { name: string; before: QmdHome; hadDocuments: boolean };

/** Leaves everything as it was before a collection that could not be indexed, so that it can be added again or under another name. */
async function takeBack(invocation: Invocation, index: Index, { name, before, hadDocuments }: Added): Promise<void> {
  try {
    const withIt = await qmdHomeOf(invocation);
    await editTrusted(invocation, withIt, () => removeCollection(before.places.configPath, name));
    matchConfiguration(index, before.config);
    if (!hadDocuments) deleteCollectionDocuments(index, name);
  } catch (error) {
    notice(`Adding '${name}' ended halfway (${reasonOf(error)}); '${invocation.program} update' goes on with it.`);
  }
}

function missingPath(program: Program): MemqError {
  return new MemqError("USAGE", `Usage: ${program} collection add <path> [--name NAME] [--mask GLOB]`, {
    hint: "  Pass '.' to index the current directory.\n  --mask / --glob: glob (default **/*.md), brace group, or comma-separated list",
  });
}

/** The folder as it is recorded: `.` as the shell names it, anything else with its links resolved. */
function folderOf(given: string, program: Program): string {
  const resolved = /^\.\/?$/.test(given) ? shellFolder() : absolutePath(given, process.cwd(), process.env);
  const problem = (sentence: string, advice: string): MemqError =>
    new MemqError("COLLECTION_PATH", `${sentence}\n  Received: ${given}\n  Resolved: ${resolved}`, {
      hint: `${advice} and run '${program} collection add <path>' again.`,
    });
  const stat = statSync(resolved, { throwIfNoEntry: false });
  if (stat === undefined) throw problem("Collection path does not exist.", "Provide an existing directory");
  if (!stat.isDirectory()) throw problem("Collection path is not a directory.", "Choose a directory");
  return /^\.\/?$/.test(given) ? resolved : realpathSync(resolved);
}

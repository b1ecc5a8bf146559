import { MemqError } from "../../errors.ts";
import { contextOf } from "../../home/qmd-contexts.ts";
import { documentShown, notice, writeOut } from "../../output.ts";
import { documentText, ignoreRuleOf, lookedUp, resolveContext } from "../../qmd/lookup.ts";
import { diskPath, documentName, shownPath } from "../../qmd/names.ts";
import type { OpenQmd } from "../../qmd/open.ts";
import { linesOf } from "../../qmd/text.ts";
import { similarNames } from "../../search/resolve.ts";
import type { DocumentRow } from "../../store/types.ts";
import { printableName, printableText } from "../../printable.ts";
import type { Invocation } from "../parse.ts";
import { flag, number } from "../parse.ts";
import { openedQmd } from "../qmd/home.ts";
import { fullPathWarning, goneWarning, unreadWarning } from "../qmd/words.ts";

const SIMILAR = 5;

/** `get FILE[:FROM[:COUNT]]`: prints a document as its file is now. */
export async function run(invocation: Invocation): Promise<number> {
  const { program, words } = invocation;
  const [name = ""] = words;
  if (name === "") {
    throw new MemqError(
      "USAGE",
      `Usage: ${program} get <filepath>[:from[:count]] [--from <line>] [-l <lines>] [--no-line-numbers] [--full-path]`,
    );
  }
  const from = number(invocation, "from");
  const most = number(invocation, "l");
  const { open, asked } = await lookedUp(await openedQmd(invocation), name);
  const { resolution } = asked;
  if (resolution.kind === "ambiguous") return ambiguous(open, asked.name, resolution.documents);
  if (resolution.kind === "missing") return missing(open, asked.name, name);
  print(open, resolution.document, {
    from: Math.max(1, from ?? asked.from ?? 1),
    count: most ?? asked.count ?? Infinity,
    lineNumbers: !flag(invocation, "no-line-numbers"),
    fullPath: flag(invocation, "full-path"),
  });
  return 0;
}

function print(
  open: OpenQmd,
  document: DocumentRow,
  { from, count, lineNumbers, fullPath }: { from: number; count: number; lineNumbers: boolean; fullPath: boolean },
): void {
  const { text, file } = documentText(open, document);
  const disk = fullPath ? diskPath(open, document) : null;
  if (fullPath && disk === null) notice(fullPathWarning(1, 1, open.program));
  else if (file === "gone") notice(goneWarning(1, 1, open.program));
  else if (file === "unread") notice(unreadWarning(1, 1, open.program));
  const head =
    disk === null
      ? `${printableName(documentName(open, document))}  #${document.hash.slice(0, 6)}`
      : printableName(shownPath(disk));
  const context = contextOf(open.qmd.config, document.collection, document.path);
  const { text: wanted, beyond } = linesOf(text, { from, count, numbers: lineNumbers });
  if (beyond !== null) notice(beyond);
  const folder = context === undefined ? "" : `Folder Context: ${printableText(context)}\n`;
  const shown = documentShown(wanted);
  writeOut(`${head}\n${folder}---\n\n${shown}\n`);
}

function ambiguous(open: OpenQmd, name: string, documents: readonly DocumentRow[]): number {
  notice(`Ambiguous name: ${name}`);
  notice("Candidates:");
  for (const document of documents) notice(`  ${printableName(documentName(open, document))}`);
  return 1;
}

/** Says that there is no document `name`, and calls it as it was `typed`: with its lines or its index, as qmd does. */
async function missing(open: OpenQmd, name: string, typed: string): Promise<number> {
  const ignored = await ignoreRuleOf(open, name);
  if (ignored !== null) {
    notice(`Document is excluded by ignore rule: ${typed}`);
    notice(`Collection: ${ignored.collection}`);
    notice(`Matched path: ${ignored.path}`);
    notice(`Ignore rule: ${ignored.rule}`);
    return 1;
  }
  notice(`Document not found: ${typed}`);
  const similar = similarNames(resolveContext(open), name, SIMILAR);
  if (similar.length > 0) notice("Similar files:");
  for (const path of similar) notice(`  ${printableName(path)}`);
  return 1;
}

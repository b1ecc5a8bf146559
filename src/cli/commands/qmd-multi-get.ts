import { basename } from "node:path";
import { MemqError } from "../../errors.ts";
import { contextOf } from "../../home/qmd-contexts.ts";
import { notice } from "../../output.ts";
import type { DocumentText } from "../../qmd/lookup.ts";
import { diskPath, shownPath } from "../../qmd/names.ts";
import { type Wanted, wantedDocuments, wantedText } from "../../qmd/several.ts";
import { firstLines, numbered } from "../../qmd/text.ts";
import type { Invocation } from "../parse.ts";
import { flag, number } from "../parse.ts";
import { formatOf } from "../qmd/format.ts";
import { openedQmd } from "../qmd/home.ts";
import { type DocumentPrint, printDocuments } from "../qmd/print-documents.ts";
import { fullPathWarning, goneWarning, unreadWarning } from "../qmd/words.ts";

const DEFAULT_MAX = 65_536;

/** `multi-get PATTERN`: several documents by a glob, or by a list of names and docids. */
export async function run(invocation: Invocation): Promise<number> {
  const { program, words } = invocation;
  const format = formatOf(invocation);
  const [pattern = ""] = words;
  if (pattern === "") {
    throw new MemqError(
      "USAGE",
      `Usage: ${program} multi-get <pattern> [-l <lines>] [--max-bytes <bytes>] [--no-line-numbers] [--full-path] [--format json|csv|md|xml|files]`,
      { hint: "  pattern: glob (e.g., 'journals/2025-05*.md') or comma-separated list" },
    );
  }
  const options = {
    lines: number(invocation, "l") ?? Infinity,
    maxChars: number(invocation, "max-bytes") ?? DEFAULT_MAX,
    lineNumbers: !flag(invocation, "no-line-numbers"),
    fullPath: flag(invocation, "full-path"),
  };
  const open = await openedQmd(invocation);
  const found = await wantedDocuments(open, pattern, notice);
  if (found === null) return 1;
  const rows = found.map((wanted) => documentPrint(wanted, options));
  const [gone, unread] = (["gone", "unread"] as const).map((state) => rows.filter((row) => row.state === state).length);
  if (unread) notice(unreadWarning(unread, rows.length, program));
  if (gone) notice((options.fullPath ? fullPathWarning : goneWarning)(gone, rows.length, program));
  printDocuments(format, rows);
  return 0;
}

function documentPrint(
  wanted: Wanted,
  options: { lines: number; maxChars: number; lineNumbers: boolean; fullPath: boolean },
): DocumentPrint & { state: DocumentText["file"] } {
  const { open, document, name } = wanted;
  const { text, file: state, from, beyond } = wantedText(wanted);
  if (beyond !== null) notice(beyond);
  const disk = options.fullPath ? diskPath(open, document) : null;
  const context = contextOf(open.qmd.config, document.collection, document.path);
  const file = disk === null ? name : shownPath(disk);
  const shared = {
    file,
    ...(disk === null ? { docid: `#${document.hash.slice(0, 6)}` } : {}),
    ...(context === undefined ? {} : { context }),
    state,
  };
  if (text.length > options.maxChars) {
    const kilobytes = (size: number): string => `${Math.round(size / 1024)}KB`;
    const limit = `${kilobytes(text.length)} > ${kilobytes(options.maxChars)}`;
    const skipped = `File too large (${limit}). Use '${open.program} get ${file}' to retrieve.`;
    return { ...shared, title: basename(document.path), skipped };
  }
  const body = firstLines(text, options.lines);
  return {
    ...shared,
    title: document.title,
    body: options.lineNumbers && beyond === null ? numbered(body, from) : body,
  };
}

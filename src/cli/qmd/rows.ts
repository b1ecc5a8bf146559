import { contextOf } from "../../home/qmd-contexts.ts";
import { type LineTerms, hunkOf } from "../../search/hunk.ts";
import type { Hit } from "../../search/types.ts";
import { notice } from "../output.ts";
import type { Format } from "./format.ts";
import { diskPath, documentName, fullPathWarning, shownPath } from "./names.ts";
import type { OpenQmd } from "./open.ts";

/** One result as it is printed. */
export type Row = {
  /** `#` and six hex digits; absent where the path on disk stands for the document. */
  docid?: string;
  score: number;
  /** The document's name, or its path on disk. */
  file: string;
  line: number;
  /** Whether what is printed holds a term of the query. */
  matches: boolean;
  title: string;
  context?: string;
  /** Printed text: the whole document, or some lines under a header. */
  text: string;
  whole: boolean;
  explain?: object;
  explained?: string[];
  collection: string;
  path: string;
  startLine: number;
  endLine: number;
  /** Absolute path of the file, where links on a terminal lead. */
  disk: string | null;
};

/** How the score of a hit came about: as JSON, and in lines for people. */
export type Explain = (hit: Hit) => { json: object; lines: string[] } | undefined;

export type RowOptions = { format: Format; full: boolean; fullPath: boolean; terms: LineTerms; explain?: Explain };

/** Longest snippet of a format, in UTF-16 units. */
const SNIPPET_CHARS = { json: 300, other: 500 };

/** The hits as rows; with `--full-path` what has no file is said on stderr. */
export function rowsOf(open: OpenQmd, hits: readonly Hit[], options: RowOptions): Row[] {
  const rows = hits.map((hit) => rowOf(open, hit, options));
  const missing = options.fullPath ? rows.filter(({ docid }) => docid !== undefined).length : 0;
  if (missing > 0) notice(fullPathWarning(missing, rows.length, open.program));
  return rows;
}

function rowOf(open: OpenQmd, hit: Hit, options: RowOptions): Row {
  const { format, full, fullPath, terms } = options;
  const { collection, path, title, score } = hit;
  const hunk = hunkOf(hit, format === "json" ? SNIPPET_CHARS.json : SNIPPET_CHARS.other, terms);
  const context = contextOf(open.qmd.config, collection, path);
  const disk = fullPath || format === "cli" ? diskPath(open, hit) : null;
  const onDisk = fullPath && disk !== null;
  const whole = full && hit.body !== "";
  const explained = options.explain?.(hit);
  return {
    ...(onDisk ? {} : { docid: `#${hit.hash.slice(0, 6)}` }),
    score,
    file: onDisk ? shownPath(disk) : documentName(open, hit),
    line: hunk.line,
    get matches() {
      return hunk.matches;
    },
    title,
    ...(context === undefined ? {} : { context }),
    text: whole ? hit.body : `${hunk.header}\n${hunk.text}`,
    whole,
    ...(explained === undefined ? {} : { explain: explained.json, explained: explained.lines }),
    collection,
    path,
    startLine: whole ? 1 : hunk.startLine,
    endLine: whole ? hit.body.split("\n").length : hunk.endLine,
    disk,
  };
}

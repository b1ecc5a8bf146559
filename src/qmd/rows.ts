import { contextOf } from "../home/qmd-contexts.ts";
import { withBegunWords } from "../search/begun-words.ts";
import { type LineTerms, hunkOf } from "../search/hunk.ts";
import { type ParsedQuery, parseQuery } from "../search/query.ts";
import { termFinder, termPlacer } from "../search/terms.ts";
import type { Hit } from "../search/types.ts";
import type { Index } from "../store/types.ts";
import { diskPath, documentName, shownPath } from "./names.ts";
import type { OpenQmd } from "./open.ts";

/** One result as it is shown. */
export type Row = {
  /** `#` and six hex digits; absent where the path on disk stands for the document. */
  docid?: string;
  score: number;
  /** The document's name, or its path on disk. */
  file: string;
  line: number;
  /** Whether what is shown holds a term of the query. */
  matches: boolean;
  title: string;
  context?: string;
  /** Shown text: the whole document, or some lines under a header. */
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

type RowOptions = {
  /** Longest snippet, in UTF-16 units. */
  snippetChars: number;
  /** The whole document instead of a snippet. */
  full: boolean;
  /** The path on disk stands for a document whose file is there. */
  fullPath: boolean;
  /** Where the file is must be known for links, too. */
  linked: boolean;
  terms: LineTerms;
  explain?: Explain;
};

/** A hit as a row. */
export function rowOf(open: OpenQmd, hit: Hit, options: RowOptions): Row {
  const { snippetChars, full, fullPath, linked, terms } = options;
  const { collection, path, title, score } = hit;
  const hunk = hunkOf(hit, snippetChars, terms);
  const context = contextOf(open.qmd.config, collection, path);
  const disk = fullPath || linked ? diskPath(open, hit) : null;
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

/** A query as a search of the index understands it. */
export function parsedFor(index: Index, query: string): ParsedQuery {
  return withBegunWords(index, parseQuery(query, "qmd"));
}

/** What makes a line of a hit worth showing: the words of the query, and of the intent. */
export function lineTerms(parsed: ParsedQuery, intent: string | undefined): LineTerms {
  const termsIn = termFinder(parsed);
  const terms = { termsIn, placed: termPlacer(parsed, termsIn) };
  return intent === undefined ? terms : { ...terms, intentIn: termFinder(parseQuery(intent, "plain")) };
}

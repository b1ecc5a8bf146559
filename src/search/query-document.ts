import { MemqError } from "../errors.ts";

/** One typed part of a query: words, a question by meaning, or a text as the answer might stand in a note. */
export type TypedQuery = { type: "lex" | "vec" | "hyde"; query: string };

/** What `query` is asked: plain words, or typed lines with an intent. */
export type QueryDocument =
  | { kind: "plain"; query: string }
  | { kind: "typed"; searches: TypedQuery[]; intent?: string };

type Line = { number: number; text: string };

/**
 * Reads a query as qmd's `query` does: one line without a prefix (or with `expand:`) is plain; otherwise each line begins with
 * `lex:`, `vec:`, `hyde:` or, once, `intent:`. Throws `QUERY_SYNTAX` in qmd's words.
 */
export function parseQueryDocument(text: string): QueryDocument {
  const lines = text
    .split("\n")
    .map((line, at) => ({ number: at + 1, text: line.trim() }))
    .filter((line) => line.text !== "");
  const [first] = lines;
  if (first === undefined) return { kind: "plain", query: "" };
  if (lines.length === 1) {
    const expand = afterPrefix(first.text, "expand");
    if (expand === "") throw syntax("expand: query must include text.");
    if (expand !== null) return { kind: "plain", query: expand };
    if (!/^(lex|vec|hyde|intent):/i.test(first.text)) return { kind: "plain", query: first.text };
  }
  return typedDocument(lines);
}

function typedDocument(lines: readonly Line[]): QueryDocument {
  const searches: (TypedQuery & { line: number })[] = [];
  let intent: string | undefined;
  for (const { number, text } of lines) {
    if (afterPrefix(text, "expand") !== null) {
      throw syntax(
        `Line ${number} starts with expand:, but query documents cannot mix expand with typed lines. Submit a single expand query instead.`,
      );
    }
    const asked = afterPrefix(text, "intent");
    if (asked !== null) {
      if (intent !== undefined) throw syntax(`Line ${number}: only one intent: line is allowed per query document.`);
      if (asked === "") throw syntax(`Line ${number}: intent: must include text.`);
      intent = asked;
      continue;
    }
    // A line may hold what JavaScript takes for the end of one, as pasted text does (U+2028): only \n ends it here.
    const typed = /^(lex|vec|hyde):(.*)$/is.exec(text);
    if (typed === null) {
      throw syntax(
        `Line ${number} is missing a lex:/vec:/hyde:/intent: prefix. Each line in a query document must start with one.`,
      );
    }
    const type = (typed[1] ?? "").toLowerCase() as TypedQuery["type"];
    const query = (typed[2] ?? "").trim();
    if (query === "") throw syntax(`Line ${number} (${type}:) must include text.`);
    searches.push({ type, query, line: number });
  }
  if (searches.length === 0) {
    throw syntax("intent: cannot appear alone. Add at least one lex:, vec:, or hyde: line.");
  }
  for (const { line, ...search } of searches) checkTypedQuery(search, `Line ${line}`);
  return {
    kind: "typed",
    searches: searches.map(({ type, query }) => ({ type, query })),
    ...(intent === undefined ? {} : { intent }),
  };
}

/** Throws `QUERY_SYNTAX` for a typed query that asks for what its type can't do; `place` begins the sentence. */
export function checkTypedQuery({ type, query }: TypedQuery, place = "Structured search"): void {
  if (type === "lex") {
    if ((query.match(/"/g)?.length ?? 0) % 2 === 0) return;
    throw syntax(`${place} (lex): Lex query has an unmatched double quote ("). Add the closing quote or remove it.`);
  }
  if (/(^|\s)-[\w"]/.test(query)) {
    throw syntax(`${place} (${type}): Negation (-term) is not supported in vec/hyde queries. Use lex for exclusions.`);
  }
}

/** The one text that stands for a query where only one can: its first words, else its first question. */
export function primaryQuery(document: QueryDocument): string {
  if (document.kind === "plain") return document.query;
  const { searches } = document;
  const first =
    searches.find(({ type }) => type === "lex") ?? searches.find(({ type }) => type === "vec") ?? searches[0];
  return first?.query ?? "";
}

/** What follows `prefix:`, or null when the text does not begin so. */
function afterPrefix(text: string, prefix: string): string | null {
  const start = `${prefix}:`;
  return text.slice(0, start.length).toLowerCase() === start ? text.slice(start.length).trim() : null;
}

function syntax(sentence: string): MemqError {
  return new MemqError("QUERY_SYNTAX", sentence);
}

import { varints } from "./corpus-stats.ts";
import type { Index, KeywordCandidate, KeywordMatch, KeywordPhrase, Scope } from "./types.ts";

/** The passages in `scope` that match, best BM25 first and equal ones by passage id, at most `limit`. */
export function keywordCandidates(
  index: Index,
  match: KeywordMatch,
  options: Scope & { limit: number },
): KeywordCandidate[] {
  const expression = ftsExpression(match);
  if (expression === null || options.collections.length === 0 || options.documentIds?.length === 0) return [];
  return bestIfAllInScope(index, expression, options) ?? bestInScope(index, expression, options);
}

/**
 * The best of the whole index, or null when some of them are out of scope and others may take their places. Sorted outside of FTS5,
 * which would put every match in order and not only find the best: a third less time for a frequent word.
 */
function bestIfAllInScope(
  index: Index,
  expression: string,
  { collections, documentIds, limit }: Scope & { limit: number },
): KeywordCandidate[] | null {
  if (documentIds !== undefined) return null;
  const rows = index.db
    .query<[number, number, number, number | null], [string, string, number]>(
      `SELECT f.id, p.document_id, f.score, d.active = 1 AND d.collection IN (SELECT value FROM json_each(?2))
       FROM (SELECT rowid AS id, rank AS score FROM memq_fts WHERE memq_fts MATCH ?1 ORDER BY score, id LIMIT ?3) f
       LEFT JOIN memq_passages p ON p.id = f.id LEFT JOIN documents d ON d.id = p.document_id ORDER BY f.score, f.id`,
    )
    .values(expression, JSON.stringify(collections), limit) as [number, number, number, number | null][];
  const candidates: KeywordCandidate[] = [];
  for (const [passageId, documentId, rank, isInScope] of rows)
    if (isInScope === 1) candidates.push({ passageId, documentId, rank });
  return candidates.length === rows.length || rows.length < limit ? candidates : null;
}

/** Collections and documents are filtered inside the ranked scan: it goes on until `limit` passages are found. */
function bestInScope(index: Index, expression: string, options: Scope & { limit: number }): KeywordCandidate[] {
  const inDocuments = options.documentIds === undefined ? "" : "AND p.document_id IN (SELECT value FROM json_each(?4))";
  // CROSS JOIN keeps the order of the loops: ranked passages first, then a look at where each belongs.
  const query = index.db.query<KeywordCandidate, (string | number)[]>(
    `SELECT f.rowid AS passageId, p.document_id AS documentId, f.rank AS rank
     FROM memq_fts f CROSS JOIN memq_passages p ON p.id = f.rowid CROSS JOIN documents d ON d.id = p.document_id
     WHERE memq_fts MATCH ?1 AND d.active = 1 AND d.collection IN (SELECT value FROM json_each(?2))
     ${inDocuments} ORDER BY f.rank LIMIT ?3`,
  );
  const values = [expression, JSON.stringify(options.collections), options.limit];
  return options.documentIds === undefined
    ? query.all(...values)
    : query.all(...values, JSON.stringify(options.documentIds));
}

/** The FTS5 expression of a match, or null when it asks for nothing; every token is a quoted string, so none is ever syntax. */
function ftsExpression(match: KeywordMatch): string | null {
  const phrases = (list: readonly KeywordPhrase[] | undefined): string[] =>
    (list ?? []).map(ftsPhrase).filter((phrase) => phrase !== null);
  const any = phrases(match.any);
  const parts = phrases(match.all);
  if (any.length > 0) parts.push(`(${any.join(" OR ")})`);
  if (parts.length === 0) return null;
  const none = phrases(match.none);
  const positive = parts.join(" AND ");
  return none.length === 0 ? positive : `(${positive}) NOT (${none.join(" OR ")})`;
}

function ftsPhrase(phrase: KeywordPhrase): string | null {
  // A NUL would end the expression; blanks and quotes are kept apart by FTS5's own quoting.
  const tokens = phrase.tokens.map((token) => token.replaceAll("\0", "").trim()).filter((token) => token !== "");
  if (tokens.length === 0) return null;
  return `"${tokens.join(" ").replaceAll('"', '""')}"`;
}

/**
 * How many passages hold each token, in body or name; 0 for a token that none holds. Counting walks over a token's passages: what
 * is `known` is not counted again. One statement for all takes a third of the time of one each.
 */
export function documentFrequencies(
  index: Index,
  tokens: readonly string[],
  known?: ReadonlyMap<string, number>,
): Map<string, number> {
  const frequencies = new Map(tokens.map((token) => [token, known?.get(token) ?? 0]));
  const unknown = tokens.filter((token) => known?.has(token) !== true);
  if (unknown.length === 0) return frequencies;
  const counted = index.db
    .query<[], [string]>(
      "SELECT asked.key, v.doc FROM json_each(?) asked CROSS JOIN memq_terms v WHERE v.term = asked.value",
    )
    .values(JSON.stringify(unknown)) as [number, number][];
  for (const [place, passages] of counted) frequencies.set(unknown[place]!, passages);
  return frequencies;
}

/** Those of the tokens that any passage holds. Cheaper than to count: the first passage settles it. */
export function heldTerms(index: Index, tokens: readonly string[]): Set<string> {
  if (tokens.length === 0) return new Set();
  const rows = index.db
    .query<[], [string]>(
      "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM memq_fts WHERE memq_fts MATCH value)",
    )
    .values(JSON.stringify(tokens.map((token) => ftsPhrase({ tokens: [token] })))) as [string][];
  return new Set(rows.map(([phrase]) => phrase.slice(1, -1)));
}

/** A term, and how many passages hold it. */
export type CountedTerm = { term: string; doc: number };

const OF_LETTERS = /^[\p{L}\p{M}]+$/u;

/** The terms of letters alone that begin with `start`. */
export function termsFrom(index: Index, start: string): CountedTerm[] {
  const query = index.db.query<CountedTerm, [string, string]>(
    "SELECT term, doc FROM memq_terms WHERE term >= ? AND term < ?",
  );
  return query.all(start, `${start}\u{10ffff}`).filter(({ term }) => OF_LETTERS.test(term));
}

/** The terms of letters alone that begin with `start`, those that most passages hold first, at most `limit`. */
export function commonestTermsFrom(index: Index, start: string, limit: number): string[] {
  const terms = termsFrom(index, start).sort((a, b) => b.doc - a.doc);
  return terms.slice(0, limit).map(({ term }) => term);
}

/** The terms of letters alone that end in `end`. All terms are read for it. */
export function termsEndingIn(index: Index, end: string): CountedTerm[] {
  const query = index.db.query<CountedTerm, [string]>(
    "SELECT term, doc FROM memq_terms WHERE substr(term, -length(?1)) = ?1",
  );
  return query.all(end).filter(({ term }) => OF_LETTERS.test(term));
}

/** Index tokens of a passage, each kind joined by blanks, and how many tokens the body has. */
export type PassageTokens = { body: string; name: string; length: number };

/**
 * Index tokens of passages, as they were indexed. From FTS5's own tables (its "docsize" records hold the lengths): one query of few
 * columns, nothing asked of its tokenizer.
 */
export function tokensOf(index: Index, passageIds: readonly number[]): Map<number, PassageTokens> {
  const rows = index.db
    .query<[], [string]>(
      `SELECT c.id, c.c0, c.c1, s.sz FROM json_each(?) asked CROSS JOIN memq_fts_content c ON c.id = asked.value
       CROSS JOIN memq_fts_docsize s ON s.id = c.id`,
    )
    .values(JSON.stringify(passageIds)) as [number, string, string, Uint8Array][];
  const tokens = new Map<number, PassageTokens>();
  for (const [id, body, name, size] of rows) tokens.set(id, { body, name, length: varints(size)[0] ?? 0 });
  return tokens;
}

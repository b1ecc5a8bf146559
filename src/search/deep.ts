import { changeStamp } from "../store/meta.ts";
import { inSnapshot } from "../store/open.ts";
import { withBegunWords } from "./begun-words.ts";
import { cite } from "./cite.ts";
import { type DeepExplanation, explainHits, type FusionName } from "./deep-explanation.ts";
import { expansionOf, VARIANT_WEIGHT } from "./expansion.ts";
import { reciprocalRankFusion, textScoreOf } from "./fuse.ts";
import { keywordLeg, scoreByKeyword } from "./keyword.ts";
import type { LegScope } from "./leg.ts";
import { candidatesOfLists, type QueryList } from "./lists.ts";
import { parseQuery } from "./query.ts";
import { primaryQuery, type QueryDocument, type TypedQuery } from "./query-document.ts";
import type { Expander } from "./query-models.ts";
import { bestPerDocument, type Ranked } from "./rank.ts";
import { NOT_RERANKED, reranked, RERANKED } from "./rerank.ts";
import { collectionsByName, rankedCandidates, scopeOf, type SearchEngine, stamped } from "./search.ts";
import { termFinder } from "./terms.ts";
import type { Hit, Reranker, SearchAnswer, SearchRequest } from "./types.ts";
import { startVectorLeg, type VectorLeg } from "./vector.ts";

/** What `query` asks: a search with more stages. Its profile answers with documents. */
export type DeepRequest = Omit<SearchRequest, "query"> & {
  document: QueryDocument;
  /** What the question is about, for the reranker. */
  intent?: string;
  /** Judges the best documents again; left out when it is not done by the deadline. */
  rerank?: Reranker;
  /** How many of them at most; `RERANKED` when absent. */
  candidateLimit?: number | undefined;
  /** Published reciprocal rank fusion in place of the profile's rule. */
  rrf: boolean;
  expand?: Expander;
};

export type DeepAnswer = SearchAnswer & {
  /** By document, where asked for. */
  explanations?: Map<number, DeepExplanation>;
  /** The keyword score that made expansion unnecessary. */
  strongSignal?: number;
};

/** Documents of one list that count for reciprocal rank fusion. */
const LISTED = 20;
/** The best keyword score and its distance to the next from which nothing has to be asked in other words. */
const STRONG = { score: 0.85, lead: 0.15 };
/** Of a query with more typed lines the first are asked: each one scores what all others found. */
const MAX_SEARCHES = 32;
/** A reranker that has less time than this is not asked. */
const LEAST_RERANK_MS = 100;
/** Kept back of the deadline for printing. */
const RESERVE_MS = 30;

/**
 * Answers `query` in qmd's order: keywords, expansion unless they are sure already, lists for every variant by words and by
 * meaning, fusion, reranking of the first documents, minimum score. Each stage ends by the deadline, and what is not done by then is
 * left out and named in `degraded`.
 */
export async function deepSearch(engine: SearchEngine, request: DeepRequest): Promise<DeepAnswer> {
  const primary = primaryQuery(request.document);
  const inner: SearchRequest = { ...request, query: primary };
  const scope = scopeOf(engine.index, inner);
  if (primary.trim() === "" || scope.collections.length === 0 || request.limit < 1) {
    return { hits: [], mode: "keyword", degraded: [], notices: [], stale: false };
  }
  const most = Math.max(request.limit, request.candidateLimit ?? RERANKED);
  const search = {
    engine,
    request,
    scope: { ...scope, limit: Math.max(request.profile.pool, most * 4), documents: most },
  };
  const found = await (request.document.kind === "plain"
    ? plainLists(search, request.document.query)
    : typedLists(search, request.document.searches));

  const { degraded, notices } = found;
  // A note that is written anew gets other passages: what is found, ranked and cited is read from one state of the index.
  const { lists, cited, parsed } = inSnapshot(engine.index, () => {
    const lists = found.lists();
    const parsed = withBegunWords(
      engine.index,
      parseQuery(primary, request.profile.grammar, request.asOf, request.timeZone),
      {
        onlyWords: !engine.provider,
      },
    );
    const rows = orderedRows(engine, inner, lists, request.rrf);
    const cited = cite(rows, most, {
      index: engine.index,
      home: engine.home,
      request: inner,
      collections: collectionsByName(engine.home),
      termsIn: termFinder(parsed),
    });
    return { lists, cited, parsed };
  });
  notices.push(...cited.notices);
  const judged = await withReranking(cited.hits, primary, request);
  if (judged.left !== null) {
    degraded.push("rerank");
    notices.push(judged.left);
  }
  const minimum = request.minScore ?? request.profile.minScore;
  const hits = judged.hits.filter(({ score }) => score >= minimum).slice(0, request.limit);
  return {
    hits,
    mode: lists.some(({ source }) => source === "vec") ? "hybrid" : "keyword",
    degraded: [...new Set(degraded)],
    notices: [...new Set(notices)],
    stale: cited.stale,
    parsed,
    ...(found.strongSignal === undefined ? {} : { strongSignal: found.strongSignal }),
    ...(request.explain ? { explanations: explainHits(cited.hits, judged.hits, lists, ruleOf(request)) } : {}),
  };
}

/** The rule by which lists were fused. */
function ruleOf({ rrf, profile }: DeepRequest): FusionName {
  return rrf ? "rrf" : profile.fusion;
}

type Search = { engine: SearchEngine; request: DeepRequest; scope: LegScope };
/** `lists` makes them of the index as it is then. */
type Lists = { lists: () => QueryList[]; degraded: string[]; notices: string[]; strongSignal?: number };

async function plainLists(search: Search, query: string): Promise<Lists> {
  const { request } = search;
  const { text } = parseQuery(query, request.profile.grammar);
  const meaning = startVectorLeg(search.engine, text, request.deadline, search.scope);
  const { index } = search.engine;
  const byKeyword = (): QueryList => keywordList(search, "original", query, 1);
  const early = stamped(index, byKeyword);
  const strongSignal = request.intent === undefined && request.expand ? strongSignalOf(early.found) : null;
  const expansion =
    strongSignal === null ? await expansionOf(request.expand, query, request.deadline) : { variants: [], left: null };
  const variants = expansion.variants;
  const degraded = expansion.left === null ? [] : ["expansion"];
  const notices = expansion.left === null ? [] : [expansion.left];

  const leg = meaning && (await meaning);
  if (leg?.degraded) degraded.push("vector");
  notices.push(...(leg?.notices ?? []));
  const byWords = variants.filter(({ type }) => type === "lex");
  const byMeaning = leg?.nearest ? variants.filter(({ type }) => type !== "lex") : [];
  const legs = await Promise.all(byMeaning.map(({ query: text }) => vectorLeg(search, text)));
  const lists = (): QueryList[] =>
    filled([
      early.stamp === changeStamp(index) ? early.found : byKeyword(),
      ...byWords.map(({ query: text }) => keywordList(search, "lex", text, VARIANT_WEIGHT)),
      vectorList(leg, "original", query, 1),
      ...byMeaning.map(({ type, query: text }, at) => vectorList(legs[at] ?? null, type, text, VARIANT_WEIGHT)),
    ]);
  return { lists, degraded, notices, ...(strongSignal === null ? {} : { strongSignal }) };
}

/** The first list that found something counts twice as much as each of the others. */
async function typedLists(search: Search, typed: readonly TypedQuery[]): Promise<Lists> {
  const searches = typed.slice(0, MAX_SEARCHES);
  const byMeaning = searches.filter(({ type }) => type !== "lex");
  const { index } = search.engine;
  const legs = Promise.all(byMeaning.map(({ query }) => vectorLeg(search, query)));
  const byKeyword = (): QueryList[] =>
    searches
      .filter(({ type }) => type === "lex")
      .map(({ query }) => keywordList(search, "lex", query, VARIANT_WEIGHT, true));
  const early = stamped(index, byKeyword);
  const found = await legs;
  const lists = (): QueryList[] => {
    const filledLists = filled([
      ...(early.stamp === changeStamp(index) ? early.found : byKeyword()),
      ...byMeaning.map(({ type, query }, at) => vectorList(found[at] ?? null, type, query, VARIANT_WEIGHT)),
    ]);
    if (filledLists[0] !== undefined) filledLists[0].weight = 1;
    return filledLists;
  };
  return {
    lists,
    degraded: found.some((leg) => leg?.degraded) ? ["vector"] : [],
    notices: [
      ...(typed.length > MAX_SEARCHES ? [`The query is long: its first ${MAX_SEARCHES} lines were searched for.`] : []),
      ...found.flatMap((leg) => leg?.notices ?? []),
    ],
  };
}

function filled(lists: readonly (QueryList | null)[]): QueryList[] {
  return lists.filter((list) => list !== null).filter(({ hits }) => hits.length > 0);
}

/** `typed`: the user wrote it, so that an exact word of it counts as one. */
function keywordList(
  { engine, request, scope }: Search,
  queryType: "original" | "lex",
  query: string,
  weight: number,
  typed = queryType === "original",
): QueryList {
  // What a model wrote is in qmd's grammar, whoever asks.
  const grammar = typed ? request.profile.grammar : "qmd";
  const parsed = withBegunWords(engine.index, parseQuery(query, grammar, request.asOf, request.timeZone), {
    byModel: !typed,
    onlyWords: !engine.provider,
  });
  const hits = keywordLeg(engine.index, parsed, scope).map(({ passageId, documentId, bm25, exact }) => ({
    passageId,
    documentId,
    score: bm25,
    exact: exact && typed,
  }));
  return {
    source: "fts",
    queryType,
    query,
    weight,
    hits,
    scoresOf: (ids) => scoreByKeyword(engine.index, parsed, ids),
  };
}

async function vectorLeg({ engine, request, scope }: Search, text: string): Promise<VectorLeg | null> {
  return startVectorLeg(engine, text, request.deadline, scope);
}

function vectorList(
  leg: VectorLeg | null,
  queryType: QueryList["queryType"],
  query: string,
  weight: number,
): QueryList | null {
  if (!leg?.nearest) return null;
  const hits = leg.nearest().map(({ passageId, documentId, cosine }) => ({
    passageId,
    documentId,
    score: cosine,
    exact: false,
  }));
  return { source: "vec", queryType, query, weight, hits, scoresOf: leg.cosines };
}

/** The best document's keyword score when it is high and far ahead of the next one's, else null. */
function strongSignalOf({ hits }: QueryList): number | null {
  const best = new Map<number, number>();
  for (const { documentId, score } of hits) best.set(documentId, Math.max(best.get(documentId) ?? 0, score));
  const [first = 0, second = 0] = [...best.values()].sort((a, b) => b - a).map((score) => textScoreOf(score, "bm25"));
  return first >= STRONG.score && first - second >= STRONG.lead ? first : null;
}

/** The best passage of each document, in order. */
function orderedRows(engine: SearchEngine, request: SearchRequest, lists: QueryList[], rrf: boolean): Ranked[] {
  const fill = request.profile.fusion === "relative";
  const rows = bestPerDocument(rankedCandidates(engine, request, candidatesOfLists(lists, fill)));
  if (!rrf) return rows;
  const byDocument = new Map(rows.map((row) => [row.documentId, row]));
  return reciprocalRankFusion(lists.map((list) => ({ ids: listedDocuments(list), weight: list.weight * 2 })))
    .flatMap(({ id }) => byDocument.get(id) ?? [])
    .map((row, at) => Object.assign(row, { score: 1 / (at + 1) }));
}

/** The documents of a list, best first, as far as they count for reciprocal rank fusion. */
export function listedDocuments({ hits }: QueryList): number[] {
  return [...new Set(hits.map(({ documentId }) => documentId))].slice(0, LISTED);
}

/** `left`: why the reranker did not answer, if it was wanted. What it did not judge comes after, scoring no more than what it did. */
async function withReranking(
  hits: Hit[],
  primary: string,
  request: DeepRequest,
): Promise<{ hits: Hit[]; left: string | null }> {
  const { rerank, intent, deadline, candidateLimit = RERANKED } = request;
  if (rerank === undefined || hits.length === 0) return { hits, left: null };
  const end = deadline - RESERVE_MS;
  if (end - Date.now() < LEAST_RERANK_MS) return { hits, left: NOT_RERANKED };
  const query = intent === undefined ? primary : `${intent}\n\n${primary}`;
  const ordered = await reranked(query, hits, rerank, end, candidateLimit);
  if (typeof ordered === "string") return { hits, left: ordered };
  const least = ordered.slice(0, candidateLimit).at(-1)?.score ?? 1;
  for (const hit of ordered.slice(candidateLimit)) hit.score = Math.min(hit.score, least);
  return { hits: ordered, left: null };
}

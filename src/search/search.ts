import type { EmbeddingProvider } from "../embed/types.ts";
import type { Collection, Home } from "../home/types.ts";
import { documentsIn } from "../store/documents.ts";
import { tokensOf } from "../store/keyword.ts";
import { changeStamp } from "../store/meta.ts";
import { inSnapshot } from "../store/open.ts";
import { passagesOf, type RankingFacts, rankingFacts } from "../store/passages.ts";
import type { Index, Scope } from "../store/types.ts";
import { withBegunWords } from "./begun-words.ts";
import { type LegHits, fillScores, gather } from "./candidates.ts";
import { cite } from "./cite.ts";
import { filterTest, isFiltering } from "./filters.ts";
import { fuse } from "./fuse.ts";
import { type KeywordHit, keywordLeg, scoreByKeyword } from "./keyword.ts";
import { nameLeg } from "./names.ts";
import { MAX_QUERY_CHARS, type ParsedQuery, parseQuery } from "./query.ts";
import { type Candidate, type Ranked, UNFOUND, answered, bestPerDocument, weighed } from "./rank.ts";
import { termFinder } from "./terms.ts";
import type { SearchAnswer, SearchRequest } from "./types.ts";
import type { StartVectorLeg, VectorLeg } from "./vector.ts";

/** What a search works with: a home, its index, and a provider where there is one. */
export type SearchEngine = { home: Home; index: Index; provider?: EmbeddingProvider | null };

/**
 * Answers a query: tokens, the legs, fusion, recency, importance, diversity, citation, as the request's profile says.
 * Never throws for what a user types or for a provider's failure: what could not take part is named in `degraded`. An empty query
 * finds nothing. `startLeg` may make the vector leg differently.
 */
export async function search(
  engine: SearchEngine,
  request: SearchRequest,
  startLeg?: StartVectorLeg,
): Promise<SearchAnswer> {
  const { profile } = request;
  const query = request.query.trim();
  const scope = scopeOf(engine.index, request);
  if (query === "" || scope.collections.length === 0 || request.limit < 1) return emptyAnswer();
  const isAlone = !engine.provider;
  const parsed = inSnapshot(engine.index, () =>
    withBegunWords(engine.index, parseQuery(query, profile.grammar, request.asOf, request.timeZone), {
      onlyWords: isAlone,
    }),
  );
  const legScope = {
    ...scope,
    limit: Math.max(poolOf(request, isAlone), profile.unit === "documents" ? request.limit * 4 : request.limit),
    ...(profile.unit === "documents" ? { documents: request.limit } : {}),
  };
  // Loaded only where there is a provider: a search by words alone needs nothing of vectors.
  const byVector = engine.provider
    ? (startLeg ?? (await import("./vector.ts")).startVectorLeg)(engine, parsed.text, request.deadline, legScope)
    : null;
  const byKeyword = (): KeywordHit[] => keywordLeg(engine.index, parsed, legScope);
  // The keyword leg works while the provider does.
  const early = byVector && profile.hybrid ? stamped(engine.index, byKeyword) : null;
  const vector = byVector && (await byVector);
  // A note that is written anew gets other passages: what is found, ranked and cited is read from one state of the index.
  const { hits, notices, stale } = inSnapshot(engine.index, () => {
    const nearest = vector?.nearest?.() ?? null;
    const isEarly = early !== null && early.stamp === changeStamp(engine.index);
    // Without `hybrid` words only stand in for a vector leg that can't answer.
    const wantsWords = profile.hybrid || nearest === null;
    const legs: LegHits = { keyword: isEarly ? early.found : wantsWords ? byKeyword() : [], vector: nearest ?? [] };
    const ranked = rankedRows(engine, request, parsed, scope, legs, vector);
    const rows = profile.unit === "documents" ? bestPerDocument(ranked) : ranked;
    return cite(answered(rows, request, tokenReader(engine.index)), request.limit, {
      index: engine.index,
      home: engine.home,
      request,
      collections: collectionsByName(engine.home),
      termsIn: termFinder(parsed),
    });
  });
  return {
    hits,
    mode: modeOf(vector, profile.hybrid),
    degraded: vector?.degraded ? ["vector"] : [],
    notices: [...lengthNotice(query), ...(vector?.notices ?? []), ...notices],
    stale,
    parsed,
    ...(vector?.failure ? { providerFailure: vector.failure } : {}),
  };
}

/** Where words alone rank, what they put below so many candidates is hardly ever answered; a small answer looks at few. */
const LEAST_ALONE = 60;
const ALONE_PER_ROW = 4;

/**
 * How many candidates a leg is asked for. A second opinion on each of them is what a pool is for: without a vector leg less of it will
 * do, except where age may turn the whole order round.
 */
function poolOf({ profile, limit }: SearchRequest, isAlone: boolean): number {
  if (!isAlone || profile.recency.mode === "documented") return profile.pool;
  return Math.min(profile.pool, Math.max(LEAST_ALONE, limit * ALONE_PER_ROW));
}

function emptyAnswer(): SearchAnswer {
  return { hits: [], mode: "keyword", degraded: [], notices: [], stale: false };
}

function lengthNotice(query: string): string[] {
  return query.length <= MAX_QUERY_CHARS
    ? []
    : [`The query is long: its first ${MAX_QUERY_CHARS.toLocaleString("en")} characters were searched for.`];
}

/** What was found, and the state of the index that it was found in. */
export function stamped<T>(index: Index, find: () => T): { found: T; stamp: string } {
  return inSnapshot(index, () => ({ stamp: changeStamp(index), found: find() }));
}

function modeOf(vector: VectorLeg | null, hybrid: boolean): SearchAnswer["mode"] {
  if (!vector?.nearest) return "keyword";
  return hybrid ? "hybrid" : "vector";
}

/** The collections asked for, and where not every note of theirs counts the documents that do. */
export function scopeOf(index: Index, request: SearchRequest): Scope {
  const { collections } = request;
  if (!isFiltering(request)) return { collections };
  const passes = filterTest(request);
  const documents = documentsIn(index, collections).filter(
    (document) => passes(document) && request.visible?.(document) !== false,
  );
  return documents.length === 0 ? { collections: [] } : { collections, documentIds: documents.map(({ id }) => id) };
}

/** The collections of a home by name. */
export function collectionsByName(home: Home): Map<string, Collection> {
  return new Map(home.collections.map((collection) => [collection.name, collection]));
}

function rankedRows(
  engine: SearchEngine,
  request: SearchRequest,
  parsed: ParsedQuery,
  scope: Scope,
  legs: LegHits,
  vector: VectorLeg | null,
): Ranked[] {
  const { index } = engine;
  const fill = {
    bm25: (ids: number[]) => scoreByKeyword(index, parsed, ids),
    cosine: (ids: number[]) => vector?.cosines(ids) ?? new Map<number, number>(),
  };
  const relative = request.profile.fusion === "relative";
  const candidates = gather(legs, relative ? fill : null);
  if (request.profile.names) {
    const added = markNames(candidates, index, request, scope);
    if (relative) fillScores(added, fill, legs);
    candidates.push(...added);
  }
  return rankedCandidates(engine, request, candidates);
}

/** Candidates in order: fused, weighed by recency and importance, sorted. */
export function rankedCandidates(engine: SearchEngine, request: SearchRequest, candidates: Candidate[]): Ranked[] {
  const readFacts = (ids: number[]): Map<number, RankingFacts> => rankingFacts(engine.index, ids);
  return weighed(fuse(candidates, request.profile), readFacts, request, collectionsByName(engine.home));
}

/**
 * Gives the best candidate of each document that was asked for by name its tier; one without candidates adds its first passage. Of
 * very many (`readme`) as many are added as a leg finds.
 */
function markNames(
  candidates: Candidate[],
  index: Index,
  { query, profile, limit }: SearchRequest,
  scope: Scope,
): Candidate[] {
  const best = new Map<number, Candidate>();
  for (const candidate of candidates) {
    const known = best.get(candidate.documentId);
    if (known === undefined || isBetter(candidate, known)) best.set(candidate.documentId, candidate);
  }
  const most = Math.max(profile.pool, limit);
  const added: Candidate[] = [];
  for (const { documentId, tier } of nameLeg(index, query, scope)) {
    const found = best.get(documentId);
    if (found) found.nameTier = tier;
    else if (added.length < most) {
      const first = passagesOf(index, documentId)[0];
      if (!first) continue;
      added.push({ ...UNFOUND, passageId: first.id, documentId, nameTier: tier });
    }
  }
  return added;
}

function isBetter(a: Candidate, b: Candidate): boolean {
  const words = (a.bm25 ?? 0) - (b.bm25 ?? 0);
  return words !== 0 ? words > 0 : (a.cosine ?? 0) > (b.cosine ?? 0);
}

function tokenReader(index: Index): (row: Ranked) => string {
  return (row) => tokensOf(index, [row.passageId]).get(row.passageId)?.body ?? "";
}

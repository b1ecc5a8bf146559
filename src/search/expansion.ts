import { sentenceOf } from "../errors.ts";
import type { TypedQuery } from "./query-document.ts";
import type { Expander } from "./query-models.ts";
import { search, type SearchEngine } from "./search.ts";
import type { SearchAnswer, SearchRequest } from "./types.ts";
import type { VectorCandidate } from "../store/types.ts";
import { startVectorLeg, type StartVectorLeg, type VectorLeg } from "./vector.ts";

/** A variant that a model wrote counts half of the words as typed. */
export const VARIANT_WEIGHT = 0.5;
/** Share of the time left that expansion may take: it helps least. */
const EXPANSION_SHARE = 0.4;

const NOT_EXPANDED = "Not expanded: the model was not done in time.";

/** Other words for a query, and in a sentence why they were left out, if they were. */
export type Expansion = { variants: TypedQuery[]; left: string | null };

/** Asks a model for other words, for part of the time until the deadline (milliseconds since 1970); none without a model. */
export async function expansionOf(expand: Expander | undefined, query: string, deadline: number): Promise<Expansion> {
  if (expand === undefined) return { variants: [], left: null };
  const signal = AbortSignal.timeout(Math.max(1, Math.round((deadline - Date.now()) * EXPANSION_SHARE)));
  const late = new Promise<string>((resolve) =>
    signal.addEventListener("abort", () => resolve(NOT_EXPANDED), { once: true }),
  );
  const failed = (error: unknown): string => (signal.aborted ? NOT_EXPANDED : `Not expanded: ${sentenceOf(error)}`);
  const variants = await Promise.race([expand(query, signal).catch(failed), late]);
  return typeof variants === "string" ? { variants: [], left: variants } : { variants, left: null };
}

/**
 * `search` whose vector leg also looks for what a model wrote in other words. A passage that a variant comes closer to than the words
 * as typed gains by it; none loses.
 */
export async function searchWithVariants(
  engine: SearchEngine,
  request: SearchRequest,
  expand: Expander | undefined,
): Promise<SearchAnswer> {
  if (expand === undefined) return search(engine, request);
  let left: string | null = null;
  const startLeg: StartVectorLeg = (engineOfLeg, text, deadline, scope) => {
    const typed = startVectorLeg(engineOfLeg, text, deadline, scope);
    if (typed === null) return null;
    const withVariants = async (): Promise<VectorLeg> => {
      const expansion = await expansionOf(expand, request.query, deadline);
      left = expansion.left;
      const own = await typed;
      if (own.nearest === null) return own;
      const byMeaning = expansion.variants.filter(({ type }) => type !== "lex");
      const variants = await Promise.all(
        byMeaning.map(async ({ query }) => startVectorLeg(engineOfLeg, query, deadline, scope)),
      );
      return raised(
        own,
        variants.filter((leg) => leg !== null),
      );
    };
    return withVariants();
  };
  const answer = await search(engine, request, startLeg);
  if (left === null) return answer;
  return { ...answer, degraded: [...answer.degraded, "expansion"], notices: [...answer.notices, left] };
}

/** The leg of the words as typed, its cosines raised where a variant's are higher. */
function raised(typed: VectorLeg, variants: readonly VectorLeg[]): VectorLeg {
  const cosines = (ids: number[]): Map<number, number> => {
    const own = typed.cosines(ids);
    const others = variants.map((leg) => leg.cosines(ids));
    const raise = (id: number, cosine: number): number => {
      const best = Math.max(...others.map((other) => other.get(id) ?? 0));
      return Math.max(cosine, (cosine + VARIANT_WEIGHT * best) / (1 + VARIANT_WEIGHT));
    };
    return new Map(Array.from(own, ([id, cosine]) => [id, raise(id, cosine)]));
  };
  const nearest = (): VectorCandidate[] => {
    const found = [typed, ...variants].flatMap((leg) => leg.nearest?.() ?? []);
    const candidates = new Map(found.map((candidate) => [candidate.passageId, candidate]));
    const scores = cosines([...candidates.keys()]);
    const hits = Array.from(candidates.values(), (candidate) => ({
      ...candidate,
      cosine: scores.get(candidate.passageId) ?? candidate.cosine,
    }));
    return hits.sort((a, b) => b.cosine - a.cosine);
  };
  return { ...typed, nearest, cosines };
}

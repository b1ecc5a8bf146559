import { identityOf } from "../embed/identity.ts";
import type { EmbeddingProvider } from "../embed/types.ts";
import type { MemqError } from "../errors.ts";
import type { EmbeddingSettings, Home } from "../home/types.ts";
import type { Cutting } from "../notes/types.ts";
import { withoutCredentials } from "../printable.ts";
import { expectMuchWork } from "../long-running.ts";
import { ofOtherWeights, sameSpace, servingIdentity } from "../store/identity.ts";
import type { Index, VectorCandidate, VectorIdentity } from "../store/types.ts";
import { cosinesOf, nearestPassages } from "../store/nearest.ts";
import { vectorDimensions } from "../store/vector-table.ts";
import { enough, type LegScope } from "./leg.ts";
import { embedQueryBy, failureMakesUnavailable } from "./query-vector.ts";

/** What the vector leg came to. */
export type VectorLeg = {
  /** Looks the nearest passages up, best first, in the index as it is then. Null: the leg does not take part. */
  nearest: (() => VectorCandidate[]) | null;
  /** Cosines of passages that are not among the hits; one without a vector is absent. */
  cosines: (passageIds: number[]) => Map<number, number>;
  /** It should have taken part. */
  degraded: boolean;
  notices: string[];
  /** The provider's error answer. */
  failure?: MemqError;
};

/** What makes the vector leg of a search. */
export type StartVectorLeg = typeof startVectorLeg;

/** Kept back of a deadline for what comes after the query's vector: the scan, fusion and reading the hits. */
const RESERVE_MS = 50;

/**
 * Starts the vector leg: embedding the query races the deadline; the nearest passages are looked up by who has the leg. Null where there
 * is no provider and so nothing is missing. The promise never rejects.
 */
export function startVectorLeg(
  engine: { home: Pick<Home, "embedding">; index: Index; provider?: EmbeddingProvider | null },
  query: string,
  deadline: number,
  scope: LegScope,
): Promise<VectorLeg> | null {
  const { home, index, provider } = engine;
  if (!provider) return null;
  // Vectors are compared by the thousand.
  expectMuchWork();
  const serving = servingIdentity(index);
  if (serving === null) return withoutVectors(home.embedding, provider, query, deadline);
  if (!understands(provider, serving)) {
    return Promise.resolve(
      without(`Searched by keywords only: the index holds ${otherEmbeddings(provider, serving)}.`),
    );
  }
  const remaining = deadline - Date.now();
  return vectorLeg(index, provider, query, deadline - Math.min(RESERVE_MS, remaining / 10), scope);
}

/**
 * There is nothing to compare a query with. A remote provider that somebody named is asked all the same: it may be the very reason
 * why nothing is embedded, and a broken set-up has to show.
 */
async function withoutVectors(
  settings: EmbeddingSettings,
  provider: EmbeddingProvider,
  query: string,
  deadline: number,
): Promise<VectorLeg> {
  const nothing = without("Searched by keywords only: nothing is embedded yet.");
  if (!failureMakesUnavailable(settings, provider)) return nothing;
  const embedded = await embedQueryBy(provider, query, deadline);
  return embedded.state === "failed" ? { ...without(embedded.error.message), failure: embedded.error } : nothing;
}

async function vectorLeg(
  index: Index,
  provider: EmbeddingProvider,
  query: string,
  deadline: number,
  scope: LegScope,
): Promise<VectorLeg> {
  const embedded = await embedQueryBy(provider, query, deadline);
  if (embedded.state === "blank") {
    const notice = `Searched by keywords only: ${withoutCredentials(provider.model)} gives no vector for these words.`;
    return { ...without(notice), degraded: false };
  }
  if (embedded.state === "slow") {
    return without(`Searched by keywords only: ${provider.id} had not embedded the query by the deadline.`);
  }
  if (embedded.state === "failed") {
    return { ...without(`Searched by keywords only: ${embedded.error.message}`), failure: embedded.error };
  }
  const { vector } = embedded;
  const stored = vectorDimensions(index);
  if (stored !== null && stored !== vector.length) return without(ofAnotherLength(provider, vector.length, stored));
  return {
    nearest: () => enough(index, scope, (within) => nearestPassages(index, vector, within)),
    cosines: (ids) => cosinesOf(index, vector, ids),
    degraded: false,
    notices: [],
  };
}

/** A model that was exchanged under its name: the two can't be compared, whatever the identity says. */
function ofAnotherLength({ model }: EmbeddingProvider, now: number, stored: number): string {
  return `Searched by keywords only: ${withoutCredentials(model)} gives vectors of ${now} numbers now, and those of the index have ${stored}. To embed everything anew, run \`embed -f\`, or \`memory index --force\` for an agent's memory.`;
}

/** Stands for any: of a query's vector nothing was cut. */
const UNCUT: Cutting = { kind: "lines", maxWeight: 0, overlapWeight: 0 };

/** Whether a query that `provider` embeds lies in the space of the vectors at hand; how passages were cut does not matter to that. */
export function understands(provider: EmbeddingProvider, serving: VectorIdentity): boolean {
  const own = identityOf(provider, UNCUT);
  if (serving.provider === "") return own.model === serving.model && own.fingerprint === serving.fingerprint;
  return sameSpace(own, serving);
}

/** What the embeddings at hand are that those of `provider` are not; models of one name differ in something else. */
function otherEmbeddings(provider: EmbeddingProvider, serving: VectorIdentity): string {
  const model = withoutCredentials(serving.model);
  if (serving.model !== provider.model) return `embeddings of ${model}, not of ${withoutCredentials(provider.model)}`;
  if (ofOtherWeights(identityOf(provider, UNCUT), serving))
    return `embeddings of ${model} as it was before its file was replaced`;
  if (serving.provider === "") return `embeddings of ${model} made with other prompts or from other passages`;
  const said = (identity: typeof provider | VectorIdentity, by: string): string[] => [
    `by ${by}`,
    `at ${identity.endpoint}`,
    `with ${identity.dimensions ?? "all"} dimensions`,
    `of the input type ${identity.documentInputType ?? "none"}`,
    `with the prompts "${identity.promptForm}"`,
  ];
  const own = said(provider, provider.id);
  const differing = said(serving, serving.provider).map((words, at) => [words, own[at] ?? ""] as const);
  const found = differing.filter(([theirs, ours]) => theirs !== ours);
  // Each kind of provider has an address of its own.
  const telling = serving.provider === provider.id ? found : found.slice(0, 1);
  return `embeddings of ${model} ${telling.map(([theirs, ours]) => `${theirs}, not ${ours}`).join(" and ")}`;
}

const noCosines = (): Map<number, number> => new Map();

function without(notice: string): VectorLeg {
  return { nearest: null, cosines: noCosines, degraded: true, notices: [notice] };
}

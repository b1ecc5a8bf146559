import { identityOf } from "../embed/identity.ts";
import { openFallback, openProvider } from "../embed/registry.ts";
import type { EmbeddingProvider } from "../embed/types.ts";
import { MemqError, messageOf } from "../errors.ts";
import type { Home } from "../home/types.ts";
import { pruneVectorCache, readCachedVectors, writeCachedVectors } from "../store/cache.ts";
import { foreignCachedVectors } from "../store/foreign.ts";
import { cacheSpace, sameIdentity, servingIdentity } from "../store/identity.ts";
import { readMeta, writeMeta } from "../store/meta.ts";
import type { Index, MissingVector, VectorIdentity } from "../store/types.ts";
import { compactVectors } from "../store/vector-table.ts";
import { missingVectorCounts, missingVectors, putVectors, swapVectors } from "../store/vectors.ts";
import { createInputs, type ReadyInput } from "./embed-inputs.ts";
import { jobStoreOf } from "./job-store.ts";
import { type EmbeddingOutcome, syncCancelled } from "./report.ts";
import { breathe, type CollectionRun } from "./sync-collection.ts";

/** Passages handed to the provider at once: enough to fill its parallel requests. */
const SLICE = 256;
/** The same where they travel as one batch job. */
const JOB_SLICE = 20_000;
/** Texts that a provider refused, remembered so that they are not sent again at each sync. */
const MAX_REJECTED = 2000;

/** `collections` confines the work to passages of these. */
export type EmbedRun = CollectionRun & {
  provider?: EmbeddingProvider;
  collections?: readonly string[] | undefined;
};

export type EmbedResult = { embedded: number; outcome: EmbeddingOutcome; warnings: string[] };

/**
 * Gives every passage without a vector one: from the cache of vectors, from OpenClaw's, or from the provider. Vectors are stored as
 * they arrive, so a kill loses only what was under way. Vectors of another identity serve until the new ones are complete.
 */
export async function embedMissing(run: EmbedRun): Promise<EmbedResult> {
  const result: EmbedResult = { embedded: 0, outcome: { state: "off" }, warnings: [] };
  if (run.provider !== undefined) return embedWith(run.provider, run, result);
  const { embedding, kind } = run.home;
  const options = { kind, jobStore: jobStoreOf(run.index), awaitsJobs: false };
  const opened = await openProvider(embedding, options);
  if (opened.fallback !== undefined) result.warnings.push(`${opened.fallback.reason} The fallback stands in.`);
  if (opened.provider === undefined) return unavailable(opened.reason, opened.explicit, result);
  const first = await embedAndClose(opened.provider, run, result);
  if (
    first.outcome.state !== "failed" ||
    opened.fallback !== undefined ||
    hasVectorsOf(run.index, opened.provider, run.home)
  )
    return first;
  // Vectors of the named provider keep serving while it fails; only where there are none does the fallback begin.
  const second = await openFallback(embedding, options, first.outcome.reason ?? "");
  return second.provider === undefined ? first : embedAndClose(second.provider, run, first);
}

function unavailable(reason: string | undefined, explicit: boolean, result: EmbedResult): EmbedResult {
  if (reason === undefined || !explicit)
    return { ...result, outcome: { state: "off", ...(reason === undefined ? {} : { reason }) } };
  return { ...result, outcome: { state: "failed", reason } };
}

function hasVectorsOf(index: Index, provider: EmbeddingProvider, home: Home): boolean {
  const serving = servingIdentity(index);
  return serving !== null && sameIdentity(serving, identityOf(provider, home.cutting));
}

async function embedAndClose(provider: EmbeddingProvider, run: EmbedRun, result: EmbedResult): Promise<EmbedResult> {
  try {
    return await embedWith(provider, run, result);
  } finally {
    await provider.close();
  }
}

async function embedWith(provider: EmbeddingProvider, run: EmbedRun, before: EmbedResult): Promise<EmbedResult> {
  const work = createWork(provider, run);
  try {
    await work.everySlice();
    const outcome: EmbeddingOutcome = { state: "complete" };
    return {
      ...before,
      embedded: before.embedded + work.embedded(),
      outcome,
      warnings: [...before.warnings, ...work.warnings()],
    };
  } catch (error) {
    if (run.signal.aborted) throw syncCancelled();
    const pending = error instanceof MemqError && error.code === "EMBED_PENDING";
    const outcome: EmbeddingOutcome = { state: pending ? "pending" : "failed", reason: messageOf(error) };
    return {
      ...before,
      embedded: before.embedded + work.embedded(),
      outcome,
      warnings: [...before.warnings, ...work.warnings()],
    };
  }
}

type Work = { everySlice(): Promise<void>; embedded(): number; warnings(): string[] };

function createWork(provider: EmbeddingProvider, run: EmbedRun): Work {
  const { index, home, signal, onProgress, collections } = run;
  const chosen = collections === undefined ? {} : { collections };
  const identity = identityOf(provider, home.cutting);
  const rejected = readRejected(index, identity);
  const inputs = createInputs(run, provider.media);
  const total = missingVectorCounts(index, identity, collections).passages;
  let done = 0;
  /** Texts whose new vectors were saved. */
  let saved = 0;
  let refused = 0;
  /** Passages that can have no vector: pictures where the provider takes none, blanks, texts that it refused. */
  let without = 0;
  /** How many passages of the slice share a vector, by its key. */
  let sharing = new Map<string, number>();
  const passagesWith = (vectorKey: string): number => sharing.get(vectorKey) ?? 1;

  const embedGroup = async (group: readonly ReadyInput[]): Promise<void> => {
    const texts = group.map(({ input }) => input);
    await provider.embedDocuments(texts, signal, {
      onVectors: (positions, vectors) => {
        const stored = positions.flatMap((position, i) => {
          const row = group[position]?.row;
          const vector = vectors[i];
          return row === undefined || vector === undefined || vector.length === 0 ? [] : [{ ...row, vector }];
        });
        putVectors(index, identity, stored);
        saved += stored.length;
        done += positions.length;
        onProgress({ phase: "embed", done: Math.min(done, total), total });
      },
      onRejected: (position) => {
        const row = group[position]?.row;
        if (row === undefined) return;
        rejected.add(row.textHash);
        refused += 1;
        without += passagesWith(row.vectorKey);
      },
    });
  };

  const embedSlice = async (slice: readonly MissingVector[]): Promise<void> => {
    sharing = new Map();
    for (const { vectorKey } of slice) sharing.set(vectorKey, (sharing.get(vectorKey) ?? 0) + 1);
    const fresh = withoutCached(
      index,
      home,
      identity,
      distinct(slice, (row) => row.vectorKey),
    );
    const known = fresh.filter((row) => !rejected.has(row.textHash));
    const left = new Set(fresh.map(({ vectorKey }) => vectorKey));
    for (const group of inputs.groupsOf(known)) {
      for (const { row } of group) left.delete(row.vectorKey);
      await embedGroup(group);
    }
    for (const vectorKey of left) without += passagesWith(vectorKey);
  };

  return {
    embedded: () => saved,
    warnings: () => [
      ...inputs.warnings(),
      ...(refused > 0 ? [`The provider refused ${refused} texts; they are found by keyword only.`] : []),
    ],
    async everySlice() {
      if (total > 0) onProgress({ phase: "embed", done: 0, total });
      for (let afterId = 0; ;) {
        const limit = provider.batchStatus?.().enabled ? JOB_SLICE : SLICE;
        const slice = missingVectors(index, identity, { limit, afterId, ...chosen });
        const last = slice.at(-1);
        if (last === undefined) break;
        await breathe(signal);
        const doneBefore = done;
        await embedSlice(slice);
        done = doneBefore + slice.length;
        onProgress({ phase: "embed", done: Math.min(done, total), total });
        afterId = last.passageId;
      }
      writeRejected(index, identity, rejected);
      swapVectors(index, identity, without);
      compactVectors(index);
      if (home.embedding.cache.enabled) pruneVectorCache(index, home.embedding.cache.maxEntries);
    },
  };
}

/** Stores the vectors that a cache knows; returns the passages that are left. */
function withoutCached(
  index: Index,
  home: Home,
  identity: VectorIdentity,
  rows: readonly MissingVector[],
): MissingVector[] {
  if (!home.embedding.cache.enabled) return [...rows];
  const space = cacheSpace(identity);
  const hashes = rows.map(({ textHash }) => textHash);
  const cached = readCachedVectors(index, space, hashes);
  const unknown = hashes.filter((hash) => !cached.has(hash));
  // OpenClaw puts no words in front of documents.
  const isAsked = unknown.length > 0 && identity.promptForm === "raw";
  const foreign = isAsked ? foreignCache(home) : null;
  if (foreign !== null) {
    const theirs = foreignCachedVectors(foreign, identity.provider, identity.model, unknown);
    // Theirs were made with their own settings: another length would be another space.
    for (const [hash, vector] of theirs) if (!fits(vector, identity)) theirs.delete(hash);
    writeCachedVectors(index, space, theirs);
    for (const [hash, vector] of theirs) cached.set(hash, vector);
  }
  putVectors(
    index,
    identity,
    rows.flatMap((row) => {
      const vector = cached.get(row.textHash);
      return vector === undefined ? [] : [{ ...row, vector }];
    }),
  );
  return rows.filter(({ textHash }) => !cached.has(textHash));
}

function fits(vector: Float32Array, { dimensions }: VectorIdentity): boolean {
  return dimensions === null || vector.length === dimensions;
}

/** OpenClaw's own index, beside which ours stands. */
function foreignCache({ kind, indexPath }: Home): string | null {
  return kind === "agent" && indexPath.endsWith(".memq.sqlite")
    ? indexPath.replace(/\.memq\.sqlite$/, ".sqlite")
    : null;
}

function distinct<T>(rows: readonly T[], keyOf: (row: T) => string): T[] {
  return [...new Map(rows.map((row) => [keyOf(row), row])).values()];
}

function rejectedKey({ fingerprint }: VectorIdentity): string {
  return `embed.rejected:${fingerprint}`;
}

function readRejected(index: Index, identity: VectorIdentity): Set<string> {
  const stored: unknown = JSON.parse(readMeta(index, rejectedKey(identity)) ?? "[]");
  return new Set(Array.isArray(stored) ? stored.filter((hash) => typeof hash === "string") : []);
}

function writeRejected(index: Index, identity: VectorIdentity, hashes: ReadonlySet<string>): void {
  const kept = [...hashes].slice(-MAX_REJECTED);
  writeMeta(index, rejectedKey(identity), kept.length === 0 ? null : JSON.stringify(kept));
}

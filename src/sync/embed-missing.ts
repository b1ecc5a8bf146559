import { identityOf } from "../embed/identity.ts";
import { EmbedError } from "../embed/errors.ts";
import { openFallback, openProvider } from "../embed/registry.ts";
import type { EmbeddingProvider } from "../embed/types.ts";
import { hintOf, MemqError, messageOf } from "../errors.ts";
import type { EmbeddingSettings, Home } from "../home/types.ts";
import { pruneVectorCache, readCachedVectors, writeCachedVectors } from "../store/cache.ts";
import { foreignCachedVectors } from "../store/foreign.ts";
import { cacheSpace, completeServing, sameIdentity, servingIdentity } from "../store/identity.ts";
import { readFallbackReason, readMeta, writeFallbackReason, writeMeta } from "../store/meta.ts";
import type { Index, MissingVector, VectorIdentity } from "../store/types.ts";
import { compactVectors } from "../store/vector-table.ts";
import {
  clearVectors,
  missingVectorCounts,
  missingVectors,
  putVectors,
  storedDimensions,
  swapVectors,
} from "../store/vectors.ts";
import { createInputs, type Inputs, type ReadyInput } from "./embed-inputs.ts";
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
  /** Of the provider's vectors, where they are known; a cached one of another length was made by a model that has gone. */
  dimensions?: number | undefined;
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
  if (opened.fallback !== undefined)
    result.warnings.push(`${asSentence(opened.fallback.reason)} The fallback stands in.`);
  if (opened.provider === undefined) return unavailable(opened.reason, opened.explicit, result);
  const first = await embedAndClose(opened.provider, run, result);
  if (opened.fallback !== undefined) return first;
  if (first.outcome.state !== "failed") {
    if (first.outcome.state === "complete" && readFallbackReason(run.index) !== null)
      writeFallbackReason(run.index, null);
    return first;
  }
  // Vectors of the named provider keep serving while it fails: the fallback begins where there are none, or when it is asked for.
  if (!run.force && hasVectorsOf(run.index, opened.provider, run.home)) return withWayOut(first, embedding);
  const reason = first.outcome.reason ?? "";
  const second = await openFallback(embedding, options, reason);
  if (second.provider === undefined)
    return { ...first, outcome: { ...first.outcome, reason: second.reason ?? reason } };
  return standIn(second.provider, run, first);
}

function hasFallback({ provider, fallback }: EmbeddingSettings): boolean {
  return fallback !== "none" && fallback !== "" && fallback !== provider;
}

function withWayOut(result: EmbedResult, settings: EmbeddingSettings): EmbedResult {
  if (!hasFallback(settings)) return result;
  const hint = `'memory index --force' lets ${settings.fallback} take over until ${settings.provider} is back.`;
  return { ...result, outcome: { hint, ...result.outcome } };
}

/** The fallback in place of a provider that failed while it embedded; says why, and when both fail, both reasons. */
async function standIn(provider: EmbeddingProvider, run: EmbedRun, first: EmbedResult): Promise<EmbedResult> {
  const reason = first.outcome.reason ?? "";
  const second = await embedAndClose(provider, run, first);
  const { outcome } = second;
  if (outcome.state === "failed") {
    const both = `${reason}\n\nFallback to ${provider.id} failed: ${outcome.reason ?? ""}`;
    return { ...second, outcome: { ...outcome, reason: both } };
  }
  writeFallbackReason(run.index, reason);
  return { ...second, warnings: [`${asSentence(reason)} The fallback stands in.`, ...second.warnings] };
}

function asSentence(reason: string): string {
  return /[.!?]$/.test(reason) ? reason : `${reason}.`;
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
  const work = workOf(provider, run);
  let outcome: EmbeddingOutcome = { state: "complete" };
  try {
    if (await isExchanged(work)) forgetVectors(work);
    await embedAll(work).catch((error: unknown) => embedAnew(error, work));
  } catch (error) {
    if (run.signal.aborted) throw syncCancelled();
    const pending = error instanceof MemqError && error.code === "EMBED_PENDING";
    const hint = isOfSettings(error) ? undefined : hintOf(error);
    outcome = { state: pending ? "pending" : "failed", reason: messageOf(error), ...(hint !== undefined && { hint }) };
  }
  return {
    ...before,
    embedded: before.embedded + work.saved,
    outcome,
    warnings: [
      ...before.warnings,
      ...work.inputs.warnings(),
      ...jobWarnings(provider),
      ...(work.refused > 0 ? [`The provider refused ${work.refused} texts; they are found by keyword only.`] : []),
    ],
  };
}

/** That batch jobs failed costs money, since ordinary requests are dearer; what they made is complete all the same. */
function jobWarnings({ id, batchStatus }: EmbeddingProvider): string[] {
  const error = batchStatus?.().lastError;
  if (error === undefined) return [];
  return [`A batch job of ${id} failed, and its texts were sent by ordinary requests: ${error}`];
}

/** Whether whoever configured the provider has to look at it; a disk, an index or a busy service has advice of its own. */
function isOfSettings(error: unknown): boolean {
  return error instanceof EmbedError
    ? error.kind !== "rate"
    : error instanceof MemqError && error.code !== "VECTOR_DIMENSIONS";
}

/** The work of one provider: what it goes by, and how far it got. */
type Work = {
  provider: EmbeddingProvider;
  run: EmbedRun;
  identity: VectorIdentity;
  inputs: Inputs;
  /** Hashes of texts that the provider refused, now or before. */
  rejected: Set<string>;
  /** Passages that had no vector at the beginning. */
  total: number;
  done: number;
  /** Texts whose new vectors were saved. */
  saved: number;
  /** Length of the vectors that came last. */
  made: number | undefined;
  refused: number;
  /** Passages that can have no vector: pictures where the provider takes none, blanks, texts that it refused. */
  without: number;
};

function workOf(provider: EmbeddingProvider, run: EmbedRun): Work {
  const identity = identityOf(provider, run.home.cutting);
  return {
    provider,
    run,
    identity,
    inputs: createInputs(run, provider.media),
    rejected: readRejected(run.index, identity),
    total: missingVectorCounts(run.index, identity, run.collections).passages,
    done: 0,
    saved: 0,
    made: run.dimensions,
    refused: 0,
    without: 0,
  };
}

async function embedAll(work: Work): Promise<void> {
  const { provider, identity, rejected } = work;
  const { index, home, signal, collections } = work.run;
  if (work.total > 0) tellProgress(work);
  for (let afterId = 0; ;) {
    const limit = provider.batchStatus?.().enabled ? JOB_SLICE : SLICE;
    const slice = missingVectors(index, identity, {
      limit,
      afterId,
      ...(collections === undefined ? {} : { collections }),
    });
    const last = slice.at(-1);
    if (last === undefined) break;
    await breathe(signal);
    const doneBefore = work.done;
    await embedSlice(work, slice);
    work.done = doneBefore + slice.length;
    tellProgress(work);
    afterId = last.passageId;
  }
  writeRejected(index, identity, rejected);
  // All may have been kept from before, and who has not been asked may be as broken as when the fallback took over.
  const takesOver = readFallbackReason(index) !== null && !hasVectorsOf(index, provider, home);
  if (takesOver && work.saved === 0) await sampleVector(work);
  if (!swapVectors(index, identity, work.without)) completeServing(index, identity);
  compactVectors(index);
  if (home.embedding.cache.enabled) pruneVectorCache(index, home.embedding.cache.maxEntries);
}

/** With `force` and nothing to embed, whether the model makes vectors of another length now than those that are there. */
async function isExchanged(work: Work): Promise<boolean> {
  const { run, identity, total } = work;
  const stored = storedDimensions(run.index, identity);
  if (!run.force || total > 0 || stored === null || run.dimensions !== undefined) return false;
  const vector = await sampleVector(work).catch((error: unknown) => {
    // One that can't be asked has nothing to do here either, unless another is to take over.
    if (hasFallback(run.home.embedding)) throw error;
    return undefined;
  });
  if (vector === undefined || vector.length === 0 || vector.length === stored) return false;
  work.made = vector.length;
  return true;
}

/** What the provider makes of a text now; throws what it answers when it makes nothing. */
async function sampleVector(work: Work): Promise<Float32Array | undefined> {
  const { provider, run } = work;
  const onWait = (sentence: string): void => tellProgress(work, sentence);
  const [vector] = await provider.embedDocuments([{ text: "A first text." }], run.signal, { onWait });
  return vector;
}

/** With `force`, vectors of a model that was exchanged under its name give way to those that it makes now; else `error` is thrown. */
async function embedAnew(error: unknown, work: Work): Promise<void> {
  const isOfLength = error instanceof MemqError && error.code === "VECTOR_DIMENSIONS";
  if (!isOfLength || !work.run.force) throw error;
  forgetVectors(work);
  await embedAll(work);
}

function forgetVectors(work: Work): void {
  const { run, identity, made } = work;
  clearVectors(run.index);
  work.run = { ...run, dimensions: made };
  work.done = 0;
  work.without = 0;
  work.total = missingVectorCounts(run.index, identity, run.collections).passages;
}

function tellProgress({ run, done, total }: Work, waiting?: string): void {
  const isHeldUp = waiting === undefined ? {} : { waiting };
  run.onProgress({ phase: "embed", done: Math.min(done, total), total, ...isHeldUp });
}

async function embedSlice(work: Work, slice: readonly MissingVector[]): Promise<void> {
  const { run, identity, rejected, inputs } = work;
  /** How many passages share a vector, by its key. */
  const sharing = new Map<string, number>();
  for (const { vectorKey } of slice) sharing.set(vectorKey, (sharing.get(vectorKey) ?? 0) + 1);
  const fresh = withoutCached(
    run,
    identity,
    distinct(slice, (row) => row.vectorKey),
  );
  const known = fresh.filter((row) => !rejected.has(row.textHash));
  const left = new Set(fresh.map(({ vectorKey }) => vectorKey));
  for (const group of inputs.groupsOf(known)) {
    for (const { row } of group) left.delete(row.vectorKey);
    for (const vectorKey of await embedGroup(work, group)) left.add(vectorKey);
  }
  for (const vectorKey of left) work.without += sharing.get(vectorKey) ?? 1;
}

/** Embeds texts and stores their vectors as they arrive; returns the keys of those that the provider refused to make. */
async function embedGroup(work: Work, group: readonly ReadyInput[]): Promise<string[]> {
  const { provider, run, identity, rejected } = work;
  const refused: string[] = [];
  const texts = group.map(({ input }) => input);
  await provider.embedDocuments(texts, run.signal, {
    onVectors: (positions, vectors) => {
      const stored = positions.flatMap((position, i) => {
        const row = group[position]?.row;
        const vector = vectors[i];
        return row === undefined || vector === undefined || vector.length === 0 ? [] : [{ ...row, vector }];
      });
      work.made = stored[0]?.vector.length ?? work.made;
      putVectors(run.index, identity, stored);
      work.saved += stored.length;
      work.done += positions.length;
      tellProgress(work);
    },
    onRejected: (position) => {
      const row = group[position]?.row;
      if (row === undefined) return;
      rejected.add(row.textHash);
      work.refused += 1;
      refused.push(row.vectorKey);
    },
    onWait: (sentence) => tellProgress(work, sentence),
  });
  return refused;
}

/** Stores the vectors that a cache knows; returns the passages that are left. */
function withoutCached(
  { index, home, dimensions }: EmbedRun,
  identity: VectorIdentity,
  rows: readonly MissingVector[],
): MissingVector[] {
  if (!home.embedding.cache.enabled) return [...rows];
  const space = cacheSpace(identity);
  const hashes = rows.map(({ textHash }) => textHash);
  const length = storedDimensions(index, identity) ?? dimensions ?? identity.dimensions;
  const fits = (vector: Float32Array): boolean => length === null || vector.length === length;
  const cached = readCachedVectors(index, space, hashes);
  for (const [hash, vector] of cached) if (!fits(vector)) cached.delete(hash);
  const unknown = hashes.filter((hash) => !cached.has(hash));
  // OpenClaw puts no words in front of documents.
  const isAsked = unknown.length > 0 && identity.promptForm === "raw";
  const foreign = isAsked ? foreignCache(home) : null;
  if (foreign !== null) {
    const theirs = foreignCachedVectors(foreign, identity.provider, identity.model, unknown);
    // Theirs were made with their own settings: another length would be another space.
    for (const [hash, vector] of theirs) if (!fits(vector)) theirs.delete(hash);
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

import { basename } from "node:path";
import { parseModelSpec } from "../../embed/spec.ts";
import { hintOf, MemqError, messageOf } from "../../errors.ts";
import { MAX_TIMER_MS } from "../../home/key-values.ts";
import type { QmdHome } from "../../home/qmd-home.ts";
import { notice, noticeBetween, showProgress, writeOut } from "../../output.ts";
import { withoutCredentials } from "../../printable.ts";
import { documentCounts, documentsWithoutPassages } from "../../store/documents.ts";
import { openIndex } from "../../store/open.ts";
import type { Index } from "../../store/types.ts";
import { missingVectorCounts } from "../../store/vectors.ts";
import { embedIndex } from "../../sync/embed-index.ts";
import type { EmbedResult } from "../../sync/embed-missing.ts";
import { obstacleToChange, pendingEmbeddings, type Pending } from "../../sync/pending.ts";
import type { SyncProgress } from "../../sync/report.ts";
import { syncOpenIndex } from "../../sync/sync.ts";
import type { Invocation } from "../parse.ts";
import { flag, number, values } from "../parse.ts";
import { qmdHomeOf } from "../qmd/home.ts";
import { writing } from "../qmd/indexing.ts";
import { abortWithParent } from "../qmd/parent.ts";
import { gated } from "../qmd/trust-gate.ts";
import { collectionNotFound, sizeText, spanText } from "../qmd/words.ts";

/** `embed`: gives every passage without a vector one. What is done stays done; the next run goes on from there. */
export async function run(invocation: Invocation): Promise<number> {
  const limits = limitsOf(invocation);
  const qmd = await gated(invocation, await qmdHomeOf(invocation));
  const collections = collectionsOf(invocation, qmd);
  if (qmd.home.embedding.provider === "none") {
    writeOut("Embeddings are off: models.embed is none.\n");
    return 0;
  }
  await madeReady(qmd);
  const force = flag(invocation, "force");
  const before = await pendingOf(qmd, collections, force);
  if (before.passages === 0) {
    const obstacle = force ? null : await reading(qmd, (index) => obstacleToChange(index, qmd.home));
    if (obstacle !== null) throw unavailable(obstacle, { qmd });
    writeOut(force ? "✓ No non-empty documents to embed.\n" : "✓ All content hashes already have embeddings.\n");
    return 0;
  }
  if (force) writeOut("Force re-indexing: clearing all vectors...\n");
  writeOut(`Model: ${basename(withoutCredentials(qmd.models.embed))}\n\n`);
  if (limits.shown !== null) writeOut(`Batch: ${limits.shown}\n\n`);
  const started = performance.now();
  const timeout = new AbortController();
  const timer = limits.timeoutMs === null ? undefined : setTimeout(() => timeout.abort(), limits.timeoutMs);
  const stopWatching = abortWithParent(timeout);
  let done: EmbedResult;
  try {
    done = await embedIndex(qmd.home, {
      collections,
      force,
      signal: timeout.signal,
      onProgress: progressShown(started),
    });
  } catch (error) {
    if (isOfIndex(error)) throw error;
    if (!timeout.signal.aborted) throw unavailable(messageOf(error), { qmd, cause: error });
    const { passages } = await pendingOf(qmd, collections);
    notice(`Stopped before the end: ${passages} chunks are left. Run '${invocation.program} embed' again to go on.`);
    return 0;
  } finally {
    clearTimeout(timer);
    stopWatching();
    showProgress("");
  }
  await report(done, qmd, { before, collections, started });
  return 0;
}

type Run = { before: Pending; collections: string[] | undefined; started: number };

async function report(result: EmbedResult, qmd: QmdHome, { before, collections, started }: Run): Promise<void> {
  showProgress("");
  for (const warning of result.warnings) notice(`⚠ ${warning}`);
  const { state, reason, hint } = result.outcome;
  if (state === "failed" || state === "off") {
    const kept = result.embedded === 0 ? "" : ` ${result.embedded} texts were embedded before that and stay embedded.`;
    throw unavailable(`${reason ?? "There is no provider."}${kept}`, { qmd, hint });
  }
  if (state === "pending") {
    notice(reason ?? "A batch job is under way; the next run fetches its vectors.");
    return;
  }
  const after = await pendingOf(qmd, collections);
  const took = spanText(performance.now() - started);
  const chunks = Math.max(0, before.passages - after.passages);
  const documents = Math.max(0, before.documents - after.documents);
  writeOut(`✓ Done! Embedded ${chunks} chunks from ${documents} documents in ${took}\n`);
}

/** What could not be embedded, as an error that says what to set; `hint` where the provider is not what failed. */
function unavailable(
  reason: string,
  { qmd, hint, cause }: { qmd: QmdHome; hint?: string | undefined; cause?: unknown },
): MemqError {
  const { places, models } = qmd;
  const toSet =
    parseModelSpec(models.embed).provider === "local"
      ? `Set QMD_EMBED_MODEL (or models.embed in ${places.configPath}) to the path of a GGUF file or to a provider, or HF_ENDPOINT to a mirror that can be reached.`
      : `Check models.embed in ${places.configPath}, and the key and address of its provider.`;
  return new MemqError("EMBED_UNAVAILABLE", reason, { hint: hint ?? toSet, cause });
}

/** Whether the disk, a lock or the index refused, and not the provider. */
function isOfIndex(error: unknown): boolean {
  return error instanceof MemqError ? error.code.startsWith("INDEX_") : hintOf(error) !== undefined;
}

/** What is left to embed, or with `all` what there is to embed at all. */
function pendingOf(qmd: QmdHome, collections: string[] | undefined, all = false): Promise<Pending> {
  return reading(qmd, (index) =>
    all ? missingVectorCounts(index, null, collections) : pendingEmbeddings(index, qmd.home, collections),
  );
}

async function reading<T>(qmd: QmdHome, work: (index: Index) => Promise<T> | T): Promise<T> {
  const index = openIndex(qmd.places.indexPath, { mode: "read" });
  try {
    return await work(index);
  } finally {
    index.close();
  }
}

/** Documents that only qmd has written are cut into passages first. */
async function madeReady(qmd: QmdHome): Promise<void> {
  const index = openIndex(qmd.places.indexPath, { mode: "read" });
  const unprepared = index.state === "unprepared" && documentCounts(index).length > 0;
  const lacking = unprepared || documentsWithoutPassages(index).length > 0;
  index.close();
  if (lacking) await writing(qmd, (index, { home }) => syncOpenIndex(index, home, { embed: false }));
}

/** The collections to embed, or undefined for all. Throws `COLLECTION_NOT_FOUND`. */
function collectionsOf(invocation: Invocation, { config }: QmdHome): string[] | undefined {
  const names = [...new Set(values(invocation, "collection"))];
  const unknown = names.find((name) => !config.collections.some((one) => one.name === name));
  if (unknown !== undefined) throw collectionNotFound(unknown, invocation.program);
  return names.length === 0 ? undefined : names;
}

/** The limits asked for. */
function limitsOf(invocation: Invocation): { timeoutMs: number | null; shown: string | null } {
  const docs = number(invocation, "max-docs-per-batch");
  const megabytes = number(invocation, "max-batch-mb");
  const minutes = number(invocation, "timeout") ?? 0;
  const isAsked = docs !== undefined || megabytes !== undefined;
  return {
    timeoutMs: minutes === 0 ? null : Math.min(minutes * 60_000, MAX_TIMER_MS),
    shown: isAsked ? `${docs ?? 64} docs / ${sizeText((megabytes ?? 64) * 1024 * 1024)}` : null,
  };
}

function progressShown(started: number): (progress: SyncProgress) => void {
  return ({ done, total, waiting }) => {
    if (waiting !== undefined) noticeBetween(waiting);
    if (total === 0) return;
    const elapsed = performance.now() - started;
    const left = done > 0 ? `, ${spanText((elapsed / done) * (total - done))} left` : "";
    const share = done / total;
    showProgress(`Embedding: ${done}/${total} (${Math.floor(share * 100)}%${left})`, share);
  };
}

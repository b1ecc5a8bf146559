import type { EmbeddingSettings } from "../../home/types.ts";
import { sha256 } from "../../sha256.ts";
import { pooled, type Item } from "../batches.ts";
import { EmbedError, embedErrorOf } from "../errors.ts";
import type { ExchangeContext } from "../exchange.ts";
import type { Protocol } from "../protocol.ts";
import { withRetries, type Patience, type Sender, type SendReport } from "../send.ts";
import type { BatchStatus, EmbedInput } from "../types.ts";
import { NOT_AVAILABLE } from "./gemini-jobs.ts";
import { createDelivery, type Delivery, type DeliveryOptions, NotStored } from "./results.ts";
import type { Job, JobService, JobStore } from "./types.ts";

export type JobOptions = {
  protocol: Protocol;
  fingerprint: string;
  service: JobService;
  store: JobStore;
  batch: EmbeddingSettings["batch"];
  /** Whether a call waits for its jobs where `batch.wait` says so; else its caller asks again. */
  awaitsJobs: boolean;
  /** What takes over when a job fails. */
  inline: Sender["documents"];
  patience: Patience;
  context: ExchangeContext;
};

/** After so many failures no more jobs are submitted in this process. */
const FAILURE_LIMIT = 2;
const MAX_POLL_MS = 300_000;
/** Providers keep results for some weeks at most; what nobody fetched in a week was deleted or edited since. */
const FORGET_AFTER_MS = 7 * 24 * 3600_000;

/** Names an input across restarts: the first 32 hexadecimal digits of SHA-256 over title and text. */
export function jobKey(input: EmbedInput): string {
  return sha256(`${input.title ?? ""}\0${input.text}`).slice(0, 32);
}

/** What this process has met with batch jobs so far. */
type Experience = {
  failures: number;
  lastError: string | undefined;
  /** Of vectors, once known. */
  length: number | undefined;
};

/** Jobs for the documents of one call. */
type Call = {
  options: JobOptions;
  met: Experience;
  wanted: Wanted;
  signal: AbortSignal;
  report: SendReport;
};

/**
 * Sends documents as asynchronous batch jobs. Submitted jobs are kept in `store`, and inputs that one of them already holds are
 * not submitted again, also after a restart. A job that fails is replaced by ordinary requests; after two failures all is.
 * Where they are not waited for, unfinished jobs end in `EMBED_PENDING`.
 */
export function createJobSender(options: JobOptions): { documents: Sender["documents"]; status: () => BatchStatus } {
  const { protocol, batch, inline } = options;
  const met: Experience = { failures: 0, lastError: undefined, length: protocol.dimensions ?? undefined };

  const documents: Sender["documents"] = async (items, width, signal, report) => {
    const text = items.filter((item) => !item.input.media);
    const media = items.filter((item) => item.input.media);
    const wanted: Wanted = Map.groupBy(text, (item) => jobKey(item.input));
    const call: Call = { options, met, wanted, signal, report };
    const tasks = isOn(call) ? await plan(wanted, options) : [{ keys: [...wanted.keys()] }];
    const rest: string[] = [];
    let pending = 0;
    await pooled(tasks, batch.concurrency, async (task) => {
      const missing = isOn(call) ? await run(task, call) : task.keys;
      if (missing === null) pending++;
      else rest.push(...missing);
    });
    const remaining = [...media, ...rest.flatMap((key) => wanted.get(key) ?? [])];
    if (remaining.length > 0) await inline(remaining, width, signal, report);
    if (pending > 0) throw pendingError(protocol.id, pending);
  };

  return {
    documents,
    status: () => ({
      enabled: isOn({ options, met }),
      failures: met.failures,
      limit: FAILURE_LIMIT,
      wait: batch.wait,
      concurrency: batch.concurrency,
      pollIntervalMs: batch.pollIntervalMs,
      timeoutMs: timeoutOf(options),
      ...(met.lastError === undefined ? {} : { lastError: met.lastError, lastProvider: protocol.id }),
    }),
  };
}

function isOn({ options, met }: Pick<Call, "options" | "met">): boolean {
  return options.batch.enabled && met.failures < FAILURE_LIMIT;
}

function timeoutOf({ batch }: JobOptions): number {
  return batch.timeoutMinutes * 60_000;
}

/** Runs one job to its end; returns keys that need ordinary requests, null when it is still pending. */
async function run(task: Task, call: Call): Promise<string[] | null> {
  const { options, met, signal } = call;
  let job = task.job;
  let delivery: Delivery | undefined;
  for (let attempt = 1; ; attempt++) {
    try {
      job ??= await submit(task.keys, call);
      const files = await filesOf(job, call);
      if (files === null) return null;
      // One for all attempts: what was handed out once must not be so again.
      delivery ??= createDelivery({ jobId: job.id, keys: task.keys, ...deliveryOf(call) });
      await read(files, delivery, call);
      const missing = delivery.missing();
      if (missing.length < task.keys.length) met.failures = 0;
      // Waiting once more helped: nothing has to be sent in another way.
      if (attempt > 1 && met.failures === 0) met.lastError = undefined;
      await forget(job, call);
      return missing;
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      if (thrown instanceof NotStored) throw thrown.reason;
      const error = embedErrorOf(thrown);
      met.failures += error.message.includes(NOT_AVAILABLE) ? FAILURE_LIMIT : 1;
      met.lastError = error.message;
      if (error.kind === "timeout" && attempt === 1 && isOn(call)) continue;
      if (job) await options.store.remove(job.id);
      return delivery?.missing() ?? task.keys;
    }
  }
}

/** Waits for what a job made; null while it is unfinished and is not waited for. */
async function filesOf(job: Job, call: Call): Promise<string[] | null> {
  const { protocol, service, batch, awaitsJobs, context } = call.options;
  const timeoutMs = timeoutOf(call.options);
  // Who asks now and then gives a job both of its times at once.
  const end = awaitsJobs ? context.clock.now() + timeoutMs : job.submittedAt + 2 * timeoutMs;
  for (let pause = batch.pollIntervalMs; ; pause = Math.min(MAX_POLL_MS, pause * 1.5)) {
    const state = await retried(call, (limited) => service.poll(job.id, limited, context));
    if (state.state === "done") return state.files;
    if (state.state === "failed") throw await jobFailure(job, state, call);
    if (!batch.wait || (!awaitsJobs && context.clock.now() <= end)) return null;
    if (context.clock.now() + pause > end) {
      throw new EmbedError("timeout", `${protocol.id} batch ${job.id} timed out after ${timeoutMs}ms`);
    }
    await context.clock.sleep(pause, call.signal);
  }
}

function deliveryOf({ options, met, wanted, report }: Call): Omit<DeliveryOptions, "jobId" | "keys"> {
  const { id: provider, normalise } = options.protocol;
  return { wanted, provider, normalise, met, report };
}

/** Hands out what is in the files of a finished job. */
async function read(files: string[], delivery: Delivery, call: Call): Promise<void> {
  const { service, context } = call.options;
  for (const file of files) {
    await retried(call, (limited) =>
      service.download(file, limited, context, async (line) => {
        const found = service.parse(jsonOf(line));
        if (found !== null && "vector" in found) await delivery.take(found.key, found.vector);
      }),
    );
  }
  await delivery.end();
}

/** Forgets a job whose results were handed out, but for those that others wait for. */
async function forget(job: Job, { options: { store }, wanted }: Call): Promise<void> {
  const unclaimed = job.keys.filter((key) => !wanted.has(key));
  if (unclaimed.length === 0) await store.remove(job.id);
  else await store.save({ ...job, keys: unclaimed });
}

type Wanted = Map<string, Item[]>;
/** Inputs of one job, and the job when it was submitted before. */
type Task = { keys: string[]; job?: Job };

/** Known jobs that hold wanted inputs, then new groups of the others. */
async function plan(wanted: Wanted, options: JobOptions): Promise<Task[]> {
  const { store, fingerprint, protocol, service, context } = options;
  const tasks: Task[] = [];
  const covered = new Set<string>();
  for (const job of await store.load()) {
    if (job.provider !== protocol.id || job.fingerprint !== fingerprint) continue;
    if (context.clock.now() - job.submittedAt > FORGET_AFTER_MS) {
      await store.remove(job.id);
      continue;
    }
    const keys = job.keys.filter((key) => wanted.has(key) && !covered.has(key));
    if (keys.length > 0) tasks.push({ keys, job });
    for (const key of keys) covered.add(key);
  }
  let group: string[] = [];
  let bytes = 0;
  for (const [key, items] of wanted) {
    if (covered.has(key)) continue;
    const size = (items[0]?.bytes ?? 0) * 2 + 256;
    if (group.length > 0 && (group.length >= service.maxRequests || bytes + size > service.maxBytes)) {
      tasks.push({ keys: group });
      group = [];
      bytes = 0;
    }
    group.push(key);
    bytes += size;
  }
  if (group.length > 0) tasks.push({ keys: group });
  return tasks;
}

/** Uploads, creates and remembers one job. */
async function submit(keys: string[], call: Call): Promise<Job> {
  const { service, store, protocol, fingerprint, context } = call.options;
  const lines = keys.map((key) => service.line({ key, input: call.wanted.get(key)?.[0]?.input ?? { text: "" } }));
  const jsonl = `${lines.join("\n")}\n`;
  const fileId = await retried(call, (limited) => service.upload(jsonl, limited, context));
  const id = await retried(call, (limited) =>
    service.create(fileId, limited, context).catch((error: unknown) => {
      // Without an answer the job may exist: asking again could make and pay it twice.
      if (error instanceof EmbedError && error.status === undefined) throw new EmbedError("fatal", error.message);
      throw error;
    }),
  );
  const job = { id, provider: protocol.id, fingerprint, keys, submittedAt: context.clock.now() };
  await store.save(job);
  return job;
}

function retried<T>({ options, signal }: Call, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return withRetries(work, options.patience, "document", options.context.clock, { until: 0 }, signal);
}

/** The reason of a failed job with the first message of its error file. */
async function jobFailure(
  job: Job,
  { reason, errorFile }: { reason: string; errorFile?: string },
  call: Call,
): Promise<EmbedError> {
  const { service, context } = call.options;
  let first: string | undefined;
  const note = async (text: string): Promise<void> => {
    const line = service.parse(jsonOf(text));
    if (line !== null && "error" in line) first ??= line.error;
  };
  if (errorFile !== undefined)
    await retried(call, (limited) => service.download(errorFile, limited, context, note)).catch(() => undefined);
  return new EmbedError("fatal", first === undefined ? reason || job.id : `${reason}: ${first}`);
}

/** The value of a line of JSON; null for any other. */
function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

function pendingError(provider: string, count: number): EmbedError {
  const jobs = count === 1 ? "A batch job was" : `${count} batch jobs were`;
  return new EmbedError(
    "fatal",
    `${jobs} submitted to ${provider} and not awaited; enable remote.batch.wait to await completion.`,
    {
      code: "EMBED_PENDING",
      hint: "The results are fetched at a later sync.",
    },
  );
}

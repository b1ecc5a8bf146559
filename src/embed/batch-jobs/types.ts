import type { ExchangeContext } from "../exchange.ts";
import type { EmbedInput } from "../types.ts";

/** A submitted batch job, as it is kept so that another process can fetch its results. Plain data. */
export type Job = {
  /** The provider's name for it. */
  id: string;
  provider: string;
  /** Of the provider's vectors: a job of another model is none of ours. */
  fingerprint: string;
  /** Inputs whose vectors have not been handed out yet, by `jobKey`. */
  keys: string[];
  /** Milliseconds since 1970. */
  submittedAt: number;
};

/** Where jobs are kept across restarts. */
export type JobStore = {
  load(): Job[] | Promise<Job[]>;
  /** Adds the job or replaces the one of the same id. */
  save(job: Job): void | Promise<void>;
  remove(id: string): void | Promise<void>;
};

export type JobState =
  | { state: "pending" }
  /** `files` hold results and failures, one JSON object a line. */
  | { state: "done"; files: string[] }
  | { state: "failed"; reason: string; errorFile?: string };

/** One line of a result file: a raw vector, or why there is none. */
export type JobLine = { key: string; vector: unknown } | { key: string; error: string };

export type JobEntry = { key: string; input: EmbedInput };

/** A provider's batch API. All of it throws `EmbedError`. */
export type JobService = {
  /** Inputs and bytes that one job may carry. */
  maxRequests: number;
  maxBytes: number;
  /** One line of the job's file, without line feed. */
  line(entry: JobEntry): string;
  upload(jsonl: string, signal: AbortSignal, context: ExchangeContext): Promise<string>;
  create(fileId: string, signal: AbortSignal, context: ExchangeContext): Promise<string>;
  poll(jobId: string, signal: AbortSignal, context: ExchangeContext): Promise<JobState>;
  /** Gives a file line by line. */
  download(
    fileId: string,
    signal: AbortSignal,
    context: ExchangeContext,
    onLine: (line: string) => Promise<void>,
  ): Promise<void>;
  parse(line: unknown): JobLine | null;
};

/** Keeps jobs for the life of the process only. */
export function memoryJobStore(): JobStore {
  const jobs = new Map<string, Job>();
  return {
    load: () => [...jobs.values()],
    save: (job) => void jobs.set(job.id, job),
    remove: (id) => void jobs.delete(id),
  };
}

import type { Job, JobStore } from "../embed/batch-jobs/types.ts";
import { readMeta, writeMeta } from "../store/meta.ts";
import { inTransaction } from "../store/open.ts";
import type { Index } from "../store/types.ts";

const KEY = "embed.jobs";

/** Keeps submitted batch jobs in the index they are for, so that any later sync fetches their results. */
export function jobStoreOf(index: Index): JobStore {
  const load = (): Job[] => {
    const stored: unknown = JSON.parse(readMeta(index, KEY) ?? "[]");
    return Array.isArray(stored) ? (stored as Job[]) : [];
  };
  const change = (id: string, added: Job[]): void =>
    inTransaction(index, () => {
      const jobs = [...load().filter((job) => job.id !== id), ...added];
      writeMeta(index, KEY, jobs.length === 0 ? null : JSON.stringify(jobs));
    });
  return { load, save: (job) => change(job.id, [job]), remove: (id) => change(id, []) };
}

import type { ExitCode } from "../errors.ts";
import type { Home } from "../home/types.ts";
import type { SyncProgress, SyncReport } from "./report.ts";

/** What a sync in the Worker can be told; everything else is in the home. */
export type WorkerSyncOptions = { force?: boolean; collections?: readonly string[]; embed?: boolean };

export type ToWorker = { type: "start"; home: Home; options: WorkerSyncOptions } | { type: "cancel" };

export type FromWorker =
  | { type: "progress"; progress: SyncProgress }
  | { type: "done"; report: SyncReport }
  | { type: "failed"; error: { code: string; message: string; hint?: string; exitCode: ExitCode } };

import type { ExitCode } from "../errors.ts";
import type { Collection, Home } from "../home/types.ts";
import type { ReadDocument } from "./read-document.ts";
import type { FileToRead } from "./read-files.ts";
import type { SyncProgress, SyncReport } from "./report.ts";

/** What a sync in the Worker can be told; everything else is in the home. */
export type WorkerSyncOptions = { force?: boolean; collections?: readonly string[]; embed?: boolean };

export type ToWorker =
  | { type: "start"; home: Home; options: WorkerSyncOptions & { configured?: readonly string[] } }
  | { type: "cancel" }
  | { type: "read"; group: number; home: Home; collection: Collection; files: readonly FileToRead[] };

export type FromWorker =
  | { type: "progress"; progress: SyncProgress }
  | { type: "done"; report: SyncReport }
  | { type: "read"; group: number; documents: ReadDocument[] }
  | { type: "failed"; error: { code: string; message: string; hint?: string; exitCode: ExitCode } };

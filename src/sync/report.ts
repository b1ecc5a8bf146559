import { MemqError } from "../errors.ts";
import type { Skipped } from "./scan.ts";

export type SyncPhase = "scan" | "read" | "write" | "embed";

/**
 * How far a phase is: `scan` in collections, `embed` in passages, `read` and `write` in files, few of which may need writing.
 * `waiting` says in a sentence what holds it up.
 */
export type SyncProgress = { phase: SyncPhase; done: number; total: number; waiting?: string };

/** What a sync did to one collection, in files. */
export type CollectionCounts = {
  name: string;
  files: number;
  added: number;
  changed: number;
  unchanged: number;
  removed: number;
};

/** The same with its part of what the whole sync skipped and warned of. */
export type CollectionReport = CollectionCounts & { skipped: Skipped[]; warnings: string[] };

/** What came of embedding: `off` (no provider wanted), `complete`, `pending` (a batch job runs on), `failed` (see `reason`). */
export type EmbeddingOutcome = { state: "off" | "complete" | "pending" | "failed"; reason?: string; hint?: string };

export type SyncReport = {
  /** Files that are indexed now, blank ones too. */
  files: number;
  /** Passages in the index. */
  passages: number;
  added: number;
  changed: number;
  removed: number;
  /** Texts whose vectors a provider made now and that were saved; what the cache knew is not among them. */
  embedded: number;
  ms: number;
  collections: CollectionReport[];
  /** Files and folders that could not be indexed. */
  skipped: Skipped[];
  /** Sentences for people. */
  warnings: string[];
  embedding: EmbeddingOutcome;
};

/** The error of a sync that its caller ended. */
export function syncCancelled(): MemqError {
  return new MemqError("SYNC_CANCELLED", "The sync was cancelled; what it wrote so far stays.");
}

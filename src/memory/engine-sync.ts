import { asMemqError, MemqError } from "../errors.ts";
import { hasDocuments } from "../store/documents.ts";
import type { Index } from "../store/types.ts";
import type { SyncReport } from "../sync/report.ts";
import type { ServedAgent } from "./backend.ts";
import { byDeadline } from "./deadline.ts";
import type { EngineOptions, IndexOptions } from "./engine.ts";
import { isCancelled, type Keeper, type KeeperTools, type SyncParts, type SyncState, syncTeller } from "./keeper.ts";
import type { SearchContext } from "./search.ts";

/** Keeps the index of an agent up to date, whichever home serves it. */
export type EngineSync = {
  readonly watching: boolean;
  readonly state: SyncState;
  /** Syncs: what had changed by now is indexed then. Rejects with what made it impossible. */
  index(wanted: IndexOptions): Promise<SyncReport>;
  /**
   * Before a search: what it has to do without because nothing is indexed yet at the deadline, or can't be, and why the index may be
   * old. Any but the first never waits.
   */
  searchBegins(deadline: number): Promise<SearchContext["degraded"]>;
  /** After a search; `isStale`: it met files that have changed. */
  searchEnded(isStale: boolean): void;
  /** Makes a damaged index anew; what is left out when that is not done at the deadline. */
  rebuild(deadline: number): Promise<SearchContext["degraded"]>;
  /** Something was written that has to be found soon. */
  appended(): void;
  sessionStarted(): void;
  /** A transcript (absolute path) has grown. */
  transcriptGrown(path: string): void;
  close(): Promise<void>;
};

/** The syncs of an agent's index in this process. */
type Syncs = {
  agent: ServedAgent;
  tools: KeeperTools;
  keeper: Keeper;
  boot: Boot;
  isLive: boolean;
  hasBegun: boolean;
  /** The first sync: resolves when the notes are written. */
  first: Promise<void> | null;
  /** The sync that makes an index which is gone or damaged anew: one for all who wait. */
  repair: Promise<void> | null;
};

/** Sets up what syncs an agent's index; in a living process the first sync begins at once, or when the configuration says. */
export async function openEngineSync(
  agent: ServedAgent,
  parts: SyncParts,
  options: EngineOptions,
): Promise<EngineSync> {
  const state: SyncState = { last: null, error: null, endedAt: 0 };
  const boot = bootOf(agent);
  const isLive = options.live && agent.memory.enabled;
  const teller = syncTeller(options);
  const tools: KeeperTools = { ...parts, state, teller, noted: (sync) => noted(sync, state, parts) };
  const keeper = await openKeeper(agent, { ...options, live: isLive }, tools);
  const { freshness } = keeper;
  const syncs: Syncs = { agent, tools, keeper, boot, isLive, hasBegun: false, first: null, repair: null };

  const idle = boot.at === "idle" && isLive ? setTimeout(() => void begin(syncs), boot.delayMs) : undefined;
  idle?.unref();
  const begun = boot.at === "start" ? begin(syncs) : null;
  if (boot.waits) await begun;

  return {
    state,
    get watching() {
      return freshness?.watching ?? false;
    },
    async index(wanted) {
      freshness?.begin();
      const report = await tools.noted(keeper.sync(wanted));
      teller.problems(report);
      return report;
    },
    searchBegins: (deadline) => searchBegins(syncs, deadline),
    searchEnded(isStale) {
      if (isStale) freshness?.outdated();
      else freshness?.searched();
    },
    rebuild: (deadline) => rebuild(syncs, deadline),
    appended: () => freshness?.appended(),
    sessionStarted: () => freshness?.sessionStarted(),
    transcriptGrown: (path) => freshness?.transcriptChanged(path),
    async close() {
      clearTimeout(idle);
      freshness?.close();
      if (!isLive) return;
      const { syncsEnded } = await import("../sync/client.ts");
      await syncsEnded(agent.home.indexPath);
    },
  };
}

/** Remembers what a sync came to. */
async function noted(
  sync: Promise<SyncReport>,
  state: SyncState,
  { reader, provider }: SyncParts,
): Promise<SyncReport> {
  try {
    state.last = await sync;
    state.error = null;
    if (state.last.embedding.state === "complete" && state.last.embedded > 0) provider.recovered();
    reader.warm();
    return state.last;
  } catch (error) {
    if (!isCancelled(error)) state.error = asMemqError(error).message;
    throw error;
  } finally {
    state.endedAt = Date.now();
  }
}

/** In a living process, once: lets timers and events count, and syncs where that belongs to the beginning. */
async function begin(syncs: Syncs): Promise<void> {
  const { keeper, boot, isLive } = syncs;
  if (syncs.hasBegun || !isLive) return;
  syncs.hasBegun = true;
  keeper.freshness?.begin();
  if (boot.syncs) await (syncs.first = startSync(keeper));
}

/** Resolves when the notes are written. */
function startSync(keeper: Keeper): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  void keeper
    .syncInBackground(resolve)
    .catch(() => {})
    .finally(resolve);
  return promise;
}

function repaired(syncs: Syncs): Promise<void> {
  syncs.repair ??= startSync(syncs.keeper).finally(() => (syncs.repair = null));
  return syncs.repair;
}

async function searchBegins(syncs: Syncs, deadline: number): Promise<SearchContext["degraded"]> {
  const { agent, keeper, boot, isLive } = syncs;
  const { reader, state } = syncs.tools;
  const isEmpty = (): boolean => !reader.now(hasDocuments);
  void begin(syncs);
  if (!isLive) return [];
  const isFirst = state.endedAt === 0 && (boot.waits || isEmpty());
  if (isFirst || reader.now(isLost)) {
    const syncing = isFirst ? (syncs.first ??= startSync(keeper)) : repaired(syncs);
    if (!(await inTime(syncing, deadline))) return [{ what: "index", why: "The first sync is not done yet." }];
  }
  if (state.error === null) return [];
  if (!isEmpty()) return [{ what: null, why: `The index may be out of date, its last sync failed: ${state.error}` }];
  const why = `Nothing could be indexed: ${state.error}`;
  // The built-in index can stand in for a qmd home.
  if (agent.qmd !== undefined) throw new MemqError("QMD_HOME_UNUSABLE", why);
  return [{ what: "index", why }];
}

/** Whether there is no index file, never made or taken away since, or one in its place that holds nothing. */
function isLost(index: Index): boolean {
  return index.state === "missing" || (index.state === "unprepared" && !hasDocuments(index));
}

async function rebuild(syncs: Syncs, deadline: number): Promise<SearchContext["degraded"]> {
  const { teller, noted } = syncs.tools;
  if (!syncs.isLive) {
    teller.report(await noted(syncs.keeper.sync({})));
    return [];
  }
  const done = await inTime(repaired(syncs), deadline);
  return done ? [] : [{ what: "index", why: "The index was damaged and is being rebuilt." }];
}

/** When the first sync of a process begins, whether there is one, and whether a start waits for it. */
type Boot = { at: "start" | "idle" | "search"; delayMs: number; syncs: boolean; waits: boolean };

function bootOf({ backend, memory }: ServedAgent): Boot {
  if (backend === "builtin") return { at: "start", delayMs: 0, syncs: true, waits: false };
  const { startup, startupDelayMs, onBoot, waitForBootSync } = memory.qmd.update;
  const at = startup === "off" ? "search" : startup === "idle" ? "idle" : "start";
  return { at, delayMs: startupDelayMs, syncs: onBoot, waits: onBoot && waitForBootSync };
}

function inTime(work: Promise<void>, deadline: number): Promise<boolean> {
  return byDeadline(
    work.then(() => true),
    deadline,
    false,
  );
}

async function openKeeper(agent: ServedAgent, options: EngineOptions, tools: KeeperTools): Promise<Keeper> {
  const { qmd } = agent;
  if (qmd === undefined) {
    const { keepBuiltin } = await import("./keeper-builtin.ts");
    return keepBuiltin(agent, options, tools);
  }
  const { keepQmd } = await import("./keeper-qmd.ts");
  return keepQmd({ ...agent, qmd }, options, tools);
}

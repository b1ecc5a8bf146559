import { asMemqError, MemqError } from "../errors.ts";
import type { Home } from "../home/types.ts";
import { hasDocuments } from "../store/documents.ts";
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
  /** Syncs, or joins the sync that is running; rejects with what made it impossible. */
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

/** Sets up what syncs an agent's index; in a living process the first sync begins at once, or when the configuration says. */
export async function openEngineSync(
  agent: ServedAgent,
  parts: SyncParts,
  options: EngineOptions,
): Promise<EngineSync> {
  const { home } = agent;
  const { reader, provider } = parts;
  const state: SyncState = { last: null, error: null, endedAt: 0 };
  const boot = bootOf(agent);
  const isLive = options.live && agent.memory.enabled;
  const isEmpty = (): boolean => !reader.now(hasDocuments);
  /** Whether there is no index file: never made, or taken away since. */
  const isMissing = (): boolean => reader.now((index) => index.state === "missing");

  /** Remembers what a sync came to. */
  async function noted(sync: Promise<SyncReport>): Promise<SyncReport> {
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

  const teller = syncTeller(options);
  const keeper = await openKeeper(agent, { ...options, live: isLive }, { noted, state, teller, ...parts });
  const { freshness } = keeper;

  /** Resolves when the notes are written. */
  function startSync(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    void keeper
      .syncInBackground(resolve)
      .catch(() => {})
      .finally(resolve);
    return promise;
  }

  /** The sync that makes an index which is gone or damaged anew: one for all who wait. */
  let repair: Promise<void> | null = null;
  function repaired(): Promise<void> {
    repair ??= startSync().finally(() => (repair = null));
    return repair;
  }

  let written: Promise<void> | null = null;
  let hasBegun = false;
  async function begin(): Promise<void> {
    if (hasBegun || !isLive) return;
    hasBegun = true;
    freshness?.begin();
    if (boot.syncs) await (written = startSync());
  }
  const idle = boot.at === "idle" && isLive ? setTimeout(() => void begin(), boot.delayMs) : undefined;
  idle?.unref();
  const begun = boot.at === "start" ? begin() : null;
  if (boot.waits) await begun;

  return {
    state,
    get watching() {
      return freshness?.watching ?? false;
    },
    async index(wanted) {
      freshness?.begin();
      const report = await noted(keeper.sync(wanted));
      teller.problems(report);
      return report;
    },
    async searchBegins(deadline) {
      void begin();
      if (!isLive) return [];
      const isFirst = state.endedAt === 0 && (boot.waits || isEmpty());
      if (isFirst || isMissing()) {
        const syncing = isFirst ? (written ??= startSync()) : repaired();
        if (!(await inTime(syncing, deadline))) return [{ what: "index", why: "The first sync is not done yet." }];
      }
      if (state.error === null) return [];
      if (!isEmpty())
        return [{ what: null, why: `The index may be out of date, its last sync failed: ${state.error}` }];
      const why = `Nothing could be indexed: ${state.error}`;
      // The built-in index can stand in for a qmd home.
      if (agent.qmd !== undefined) throw new MemqError("QMD_HOME_UNUSABLE", why);
      return [{ what: "index", why }];
    },
    searchEnded(isStale) {
      if (isStale) freshness?.outdated();
      else freshness?.searched();
    },
    async rebuild(deadline) {
      if (!isLive) {
        teller.report(await noted(keeper.sync({})));
        return [];
      }
      const done = await inTime(repaired(), deadline);
      return done ? [] : [{ what: "index", why: "The index was damaged and is being rebuilt." }];
    },
    appended: () => freshness?.appended(),
    sessionStarted: () => freshness?.sessionStarted(),
    transcriptGrown: (path) => freshness?.transcriptChanged(path),
    async close() {
      clearTimeout(idle);
      freshness?.close();
      if (isLive) await syncEnded(home);
    },
  };
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

/** A sync in a Worker lets go of its lock before the process ends. */
async function syncEnded(home: Home): Promise<void> {
  const { isSyncing } = await import("../sync/client.ts");
  while (isSyncing(home.indexPath)) await Bun.sleep(5);
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

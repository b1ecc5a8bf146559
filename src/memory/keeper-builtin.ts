import { asMemqError } from "../errors.ts";
import type { Collection, Home } from "../home/types.ts";
import { findDocument } from "../store/documents.ts";
import type { Index } from "../store/types.ts";
import type { Freshness } from "../sync/freshness.ts";
import type { SyncReport } from "../sync/report.ts";
import type { ServedAgent } from "./backend.ts";
import type { EngineOptions, IndexOptions } from "./engine.ts";
import { inBackground, type Keeper, type KeeperTools, type KeptFresh } from "./keeper.ts";

/** The built-in index. */
export async function keepBuiltin(agent: ServedAgent, options: EngineOptions, tools: KeeperTools): Promise<Keeper> {
  const { home } = agent;
  const freshness = options.live ? await openFreshness(agent, tools, options) : null;
  const sync = (wanted: IndexOptions): Promise<SyncReport> =>
    freshness === null ? syncOnce(home, wanted) : freshness.sync(wanted);
  return {
    freshness: freshness && kept(freshness),
    sync,
    async syncInBackground(written) {
      const work = tools.noted(sync({ onProgress: ({ phase }) => phase === "embed" && written() }));
      await inBackground(work, tools.teller);
    },
  };
}

/** Timers of the built-in index run from the start, and what was written is like what has changed. */
function kept(freshness: Freshness): KeptFresh {
  return {
    ...freshness,
    get watching() {
      return freshness.watching;
    },
    begin() {},
    appended: () => freshness.outdated(),
  };
}

async function openFreshness(
  agent: ServedAgent,
  { reader, teller, state }: KeeperTools,
  options: EngineOptions,
): Promise<Freshness> {
  const { keepFresh } = await import("../sync/freshness.ts");
  const { transcriptDeltas } = await import("./deltas.ts");
  const { home, memory } = agent;
  const deltas = transcriptDeltas(memory.sessions);
  return keepFresh(home, {
    settings: { ...memory.sync, watch: memory.sync.watch && options.watch },
    onReport(report) {
      state.error = null;
      reader.warm();
      teller.report(report);
    },
    onFailed(error) {
      state.error = asMemqError(error).message;
      teller.failed(error);
    },
    onWarning: options.log,
    transcriptDue: (path) =>
      deltas.grown(
        path,
        reader.now((index) => indexedSize(path, home.collections, index)),
      ),
  });
}

/** Bytes of a transcript that the index holds. */
function indexedSize(path: string, collections: readonly Collection[], index: Index): number {
  const owner = collections.find(({ source, root }) => source === "sessions" && path.startsWith(`${root}/`));
  return owner === undefined ? 0 : (findDocument(index, owner.name, path.slice(owner.root.length + 1))?.size ?? 0);
}

async function syncOnce(home: Home, wanted: IndexOptions): Promise<SyncReport> {
  const { syncIndex } = await import("../sync/sync.ts");
  return syncIndex(home, wanted);
}

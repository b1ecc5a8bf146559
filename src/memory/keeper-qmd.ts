import { syncCancelled } from "../sync/report.ts";
import type { ServedAgent, ServingQmd } from "./backend.ts";
import type { EngineOptions } from "./engine.ts";
import { inBackground, type Keeper, type KeeperTools, type KeptFresh } from "./keeper.ts";

/** The qmd home: transcripts and collections come first, and embedding keeps to a rhythm of its own. */
export async function keepQmd(
  agent: ServedAgent & { qmd: ServingQmd },
  options: EngineOptions,
  tools: KeeperTools,
): Promise<Keeper> {
  const { qmdUpdater, withEmbedding } = await import("./qmd-update.ts");
  const { state, noted, provider } = tools;
  const updater = qmdUpdater(agent, agent.qmd, options.live);
  const closed = new AbortController();
  const { signal } = closed;

  let isEmbedding = false;

  async function embed(when: "interval" | "timer"): Promise<void> {
    if (isEmbedding) return;
    isEmbedding = true;
    // It rejects only when the process ends.
    const embedded = await updater.embed(when, { signal }).catch(() => null);
    isEmbedding = false;
    if (embedded === null) return;
    if (embedded.embedded > 0) provider.recovered();
    if (embedded.embedding.state === "failed") options.log(`Embedding failed: ${embedded.embedding.reason}`);
    for (const warning of embedded.warnings) options.log(warning);
    if (state.last !== null) state.last = withEmbedding(state.last, embedded);
    tools.reader.warm();
  }
  async function syncInBackground(written: () => void): Promise<void> {
    const report = await inBackground(noted(updater.update({ joins: false, signal })), tools.teller);
    written();
    // It may take long, and whoever waits for an update does not wait for it.
    if (report !== null) void embed("interval");
  }
  const keepFresh = async (): Promise<KeptFresh> => {
    const { keepQmdFresh } = await import("./qmd-freshness.ts");
    const freshness = keepQmdFresh(agent, {
      watch: options.watch,
      update: () => syncInBackground(() => {}),
      embed: () => embed("timer"),
      updatedAt: () => state.endedAt,
      exportedSize: (path) => updater.exportedSize(path),
      log: options.log,
    });
    return {
      ...freshness,
      get watching() {
        return freshness.watching;
      },
      close() {
        closed.abort(syncCancelled());
        freshness.close();
      },
    };
  };
  return {
    freshness: options.live ? await keepFresh() : null,
    async sync({ force, onProgress, signal: leave = signal }) {
      const asked = {
        ...(onProgress === undefined ? {} : { onProgress }),
        signal: AbortSignal.any([signal, leave]),
      };
      const updated = await updater.update({ ...asked, force: force ?? false });
      return withEmbedding(updated, await updater.embed("asked", asked));
    },
    syncInBackground,
  };
}

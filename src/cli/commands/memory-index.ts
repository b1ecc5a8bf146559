import { statSync } from "node:fs";
import { MemqError } from "../../errors.ts";
import type { MemoryEngine } from "../../memory/engine.ts";
import { indexAnswer } from "../../memory/engine.ts";
import { notice, noticeBetween, showProgress, writeJson, writeOut } from "../../output.ts";
import type { SyncProgress, SyncReport } from "../../sync/report.ts";
import type { Invocation } from "../parse.ts";
import { flag } from "../parse.ts";
import { withEngine } from "./memory-engine.ts";

/** `memq memory index`; with `--watch` it stays until it is interrupted. */
export function run(invocation: Invocation): Promise<number> {
  const watch = flag(invocation, "watch");
  const work = async (engine: MemoryEngine): Promise<number> => {
    const { memory, home } = engine.agent;
    if (!memory.enabled) {
      throw new MemqError("MEMORY_DISABLED", "Memory search disabled.", { hint: memory.disabledReason ?? "" });
    }
    if (flag(invocation, "verbose")) describe(engine);
    const report = await indexWithProgress(engine, flag(invocation, "force"));
    print(report, engine, flag(invocation, "json"));
    if (watch) await interrupted(engine);
    // The notes are indexed and can be found by keyword, but not as configured.
    return report.embedding.state === "failed" && home.embedding.explicit ? 1 : 0;
  };
  return withEngine(invocation, work, { live: watch });
}

function print(report: SyncReport, { agent }: MemoryEngine, json: boolean): void {
  if (json) return writeJson(indexAnswer(report));
  const { files, passages, added, changed, removed, embedded, ms } = report;
  writeOut(`Memory index updated (${agent.memory.agentId}): ${files} files, ${passages} passages indexed.\n`);
  writeOut(
    `${added} added, ${changed} changed, ${removed} removed, ${embedded} embedded in ${(ms / 1000).toFixed(1)} s.\n`,
  );
  if (agent.backend === "qmd") {
    const { indexPath } = agent.home;
    writeOut(`QMD index: ${indexPath} (${statSync(indexPath).size} bytes)\n`);
  }
}

async function interrupted(engine: MemoryEngine): Promise<void> {
  notice(
    engine.watching ? "Watching for changes; interrupt to end." : "Looking for changes now and then; interrupt to end.",
  );
  const { promise, resolve } = Promise.withResolvers<void>();
  const alive = setInterval(() => {}, 60_000);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, resolve);
  await promise;
  clearInterval(alive);
}

/** Syncs with a progress line on a terminal, and says on stderr what was left out. */
export async function indexWithProgress(engine: MemoryEngine, force: boolean): Promise<SyncReport> {
  try {
    const report = await engine.index({ force, onProgress: showIndexing });
    showProgress("");
    noteProblems(report, engine.agent.home.embedding.provider);
    return report;
  } finally {
    showProgress("");
  }
}

/** What the engine has not said already. */
function noteProblems({ skipped, embedding }: SyncReport, provider: string): void {
  if (skipped.length > 0) notice(`${skipped.length} skipped.`);
  if (embedding.state === "failed" || embedding.state === "pending")
    notice([embedding.reason ?? `Embedding: ${embedding.state}.`, embedding.hint ?? ""].join(" ").trimEnd());
  // A named provider that could not be set up; that none is at hand where none was named is nothing to tell.
  else if (embedding.state === "off" && embedding.reason !== undefined && provider !== "auto") notice(embedding.reason);
}

const PHASES = { scan: "Looking at folders", read: "Reading notes", write: "Writing", embed: "Embedding" };

function showIndexing({ phase, done, total, waiting }: SyncProgress): void {
  if (waiting !== undefined) noticeBetween(waiting);
  showProgress(`${PHASES[phase]} ${done}/${total}`, total > 0 ? done / total : undefined);
}

function describe({ agent: { home } }: MemoryEngine): void {
  notice(
    `Provider: ${home.embedding.provider}${home.embedding.model === undefined ? "" : `, model ${home.embedding.model}`}`,
  );
  for (const { source, root, patterns } of home.collections) notice(`${source}: ${root} (${patterns.join(", ")})`);
  notice(`Index: ${home.indexPath}`);
}

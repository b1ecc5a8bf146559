import { messageOf } from "../../errors.ts";
import type { MemoryEngine } from "../../memory/engine.ts";
import type { MemoryStatus } from "../../memory/status.ts";
import { notice, styled, writeJson, writeOut } from "../../output.ts";
import type { Invocation } from "../parse.ts";
import { flag, value } from "../parse.ts";
import { withEngine } from "./memory-engine.ts";
import { indexWithProgress } from "./memory-index.ts";

type Row = { agentId: string; status: MemoryStatus; indexError?: string };

/** `memq memory status`: of every configured agent unless one is named. */
export async function run(invocation: Invocation): Promise<number | void> {
  const named = value(invocation, "agent");
  const first = await withEngine(invocation, (engine) => agentStatus(engine, invocation));
  const rows = [first.row];
  const others = named === undefined && value(invocation, "workspace") === undefined ? first.agents : [];
  let failed = false;
  for (const agentId of others.filter((id) => id !== first.row.agentId)) {
    try {
      rows.push((await withEngine(invocation, (engine) => agentStatus(engine, invocation), { agentId })).row);
    } catch (error) {
      failed = true;
      notice(`${agentId}: ${messageOf(error)}`);
    }
  }
  if (flag(invocation, "json")) writeJson(rows);
  else writeOut(rows.map((row) => textOf(row, flag(invocation, "verbose"))).join("\n"));
  return failed || rows.some(({ indexError }) => indexError !== undefined) ? 1 : 0;
}

async function agentStatus(engine: MemoryEngine, invocation: Invocation): Promise<{ row: Row; agents: string[] }> {
  const { agentId, agents, enabled } = engine.agent.memory;
  let indexError: string | undefined;
  if (flag(invocation, "index") && enabled) {
    await indexWithProgress(engine, flag(invocation, "force")).catch(
      (error: unknown) => (indexError = messageOf(error)),
    );
  }
  // Nobody watches the folders for a command: it looks at them itself.
  const status = await engine.status({ deep: flag(invocation, "deep") || flag(invocation, "index"), looks: enabled });
  return { row: { agentId, status, ...(indexError === undefined ? {} : { indexError }) }, agents };
}

function textOf({ agentId, status, indexError }: Row, verbose: boolean): string {
  const title = `${styled("bold", "Memory Search")} (${agentId})`;
  if (status.disabled) return [title, "Memory search disabled.", ...issueLines(status.issues), ""].join("\n");
  const { vector, cache, batch, scan, embeddingProbe: probe, fallback } = status;
  const files = scan === undefined ? `${status.files}` : `${status.files}/${scan.totalFiles}`;
  const embeddings =
    probe === undefined
      ? null
      : probe.ok
        ? `ready (${probe.dims} dimensions, ${probe.ms} ms, ${probe.textsPerSecond} texts of 100 words a second)`
        : `unavailable: ${probe.error}`;
  const rows: [string, string | null | undefined][] = [
    ["Backend", status.backend === "qmd" ? "the agent's qmd home" : null],
    ["Provider", `${status.provider} (requested: ${status.requestedProvider})`],
    ["Why", status.custom.providerOrigin],
    ["Model", status.model],
    ["Sources", status.sources.join(", ")],
    ["Extra paths", status.extraPaths.join(", ")],
    ["Indexed", `${files} files · ${status.chunks} passages`],
    ["Dirty", status.dirty ? "yes" : "no"],
    ["Store", status.dbPath],
    ["Workspace", status.workspaceDir],
    ["Embeddings", embeddings ?? reasonText(status.custom.providerUnavailableReason)],
    [
      "By source",
      status.sourceCounts
        .map(({ source, files, chunks }) => `${source} ${files} files · ${chunks} passages`)
        .join("; "),
    ],
    ["Fallback", fallback === undefined ? null : `from ${fallback.from}: ${fallback.reason}`],
    ["Vector", vector.enabled ? (vector.available ? "ready" : "no vectors yet") : "disabled"],
    ["Vector dims", vector.dims?.toString()],
    ["Without a vector", vector.missing > 0 ? `${vector.missing} passages` : null],
    [
      "To be made",
      vector.next && `vectors of ${vector.next.model} for ${vector.next.missing} passages; 'memory index' makes them`,
    ],
    ["FTS", status.fts.available ? "ready" : "unavailable"],
    ["Embedding cache", cache.enabled ? `enabled (${cache.entries} entries, cap ${cache.maxEntries})` : "disabled"],
    ["Batch", batch.enabled ? "enabled" : "disabled"],
    ["Last sync failed", status.lastSyncError ?? indexError],
  ];
  return [
    title,
    ...rows.flatMap(([label, text]) =>
      text === null || text === undefined || text === "" ? [] : [`${label}: ${text}`],
    ),
    ...settingLines(status.settings ?? [], verbose),
    ...issueLines([...status.issues, ...(scan?.issues ?? [])]),
    "",
  ].join("\n");
}

/** Why there is no provider; that automatic selection found no key is no fault, and one line. `--json` has every sentence. */
function reasonText(reason: string | undefined): string | undefined {
  const missing = /No API key found for provider "(\w+)"\.(?: Auth store: .*? \(agentDir: .*?\)\.)?\s*/g;
  if (reason === undefined || reason.replace(missing, "") !== "") return reason;
  const providers = [...reason.matchAll(missing)].map((match) => match[1]);
  if (providers.length < 2) return reason;
  return `none, so words are searched, not meaning; no API key was found for ${providers.join(", ")}`;
}

/** What each setting resolved to and where that stands: those that are set, and with `--verbose` those at their default too. */
function settingLines(settings: NonNullable<MemoryStatus["settings"]>, verbose: boolean): string[] {
  if (settings.length === 0) return [];
  const shown = verbose ? settings : settings.filter(({ origin }) => origin !== "default");
  const others = settings.length - shown.length;
  return [
    "Settings:",
    ...shown.map(({ key, value, origin }) => `  ${key} = ${JSON.stringify(value)} (${origin})`),
    ...(others === 0 ? [] : [`  ${others} others are at their default; --verbose shows them`]),
  ];
}

function issueLines(issues: readonly string[]): string[] {
  return issues.length === 0 ? [] : ["Issues:", ...issues.map((issue) => `  ${issue}`)];
}

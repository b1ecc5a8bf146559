import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { asMemqError, MemqError } from "../errors.ts";
import type { AgentHome } from "../home/agent-home.ts";
import type { QmdHome } from "../home/qmd-home.ts";
import type { Home, MemorySettings } from "../home/types.ts";
import { LEAST_COSINE } from "../search/threshold.ts";
import { openIndex } from "../store/open.ts";

/** An agent with the home that serves it: its own, or the qmd home of `memory.backend: "qmd"`. */
export type ServedAgent = AgentHome & {
  backend: "builtin" | "qmd";
  /** Why the built-in index serves where the qmd home was wanted. */
  fallback?: { from: "qmd"; reason: string };
  /** With the qmd backend. */
  qmd?: ServingQmd;
};

/** The qmd home that serves an agent, with its configuration file, models and places; `builtin` is the home of the built-in index. */
export type ServingQmd = QmdHome & { builtin: Home };

/** The home that serves the agent; where its qmd home can't be used, the built-in one stands in. Nothing is written. */
export async function servedAgent(agent: AgentHome, cwd: string): Promise<ServedAgent> {
  if (!agent.memory.enabled || agent.memory.backend !== "qmd") return { ...agent, backend: "builtin" };
  try {
    const { agentQmdHome } = await import("../home/agent-qmd-home.ts");
    const qmd = await agentQmdHome(agent, cwd);
    const index = openIndex(qmd.home.indexPath, { mode: "read" });
    index.close();
    if (index.state === "missing") requireWritable(dirname(qmd.home.indexPath));
    const home = withSearchMode(qmd.home, agent.memory);
    return { ...agent, home, backend: "qmd", qmd: { ...qmd, builtin: agent.home } };
  } catch (error) {
    return { ...agent, backend: "builtin", fallback: { from: "qmd", reason: asMemqError(error).message } };
  }
}

/** The agent served from its built-in index, because its qmd home can't be used. */
export function builtinAgent({ qmd, ...agent }: ServedAgent, reason: string): ServedAgent {
  return { ...agent, home: qmd?.builtin ?? agent.home, backend: "builtin", fallback: { from: "qmd", reason } };
}

/** Throws when a folder is not there and could not be made: an index would never come to be in it. */
function requireWritable(folder: string): void {
  let nearest = folder;
  while (!existsSync(nearest)) nearest = dirname(nearest);
  if (!statSync(nearest).isDirectory()) {
    throw new MemqError("QMD_HOME_UNUSABLE", `${folder} can't be made: ${nearest} is not a folder.`);
  }
  accessSync(nearest, constants.W_OK | constants.X_OK);
}

/** `search` asks keywords alone and embeds nothing, `vsearch` vectors alone, `query` both. */
function withSearchMode(home: Home, { qmd }: MemorySettings): Home {
  const { search, embedding } = home;
  if (qmd.searchMode === "search") return { ...home, embedding: { ...embedding, provider: "none" } };
  if (qmd.searchMode === "query") return home;
  return { ...home, search: { ...search, hybrid: false, minScore: LEAST_COSINE } };
}

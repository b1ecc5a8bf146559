import { basename, dirname, extname, join } from "node:path";
import { sha256 } from "../sha256.ts";
import { absolutePath, realPath, type Env } from "./paths.ts";

export type IndexPlace = {
  agentId: string;
  stateDir: string;
  /** `store.path` as configured. */
  storePath: string | undefined;
  workspace: string;
  /** The agent's workspace as the configuration names it. */
  configuredWorkspace: string;
  env: Env;
};

/**
 * The index file of an agent: `store.path` with `{agentId}` replaced, else `<state>/memory/<agentId>.sqlite`. A workspace
 * other than the configured one has an index of its own, named after its real path.
 */
export function agentIndexPath(place: IndexPlace): string {
  const { agentId, stateDir, env, storePath = join(stateDir, "memory", "{agentId}.sqlite") } = place;
  const path = absolutePath(storePath.replaceAll("{agentId}", agentId), stateDir, env);
  const workspace = realPath(place.workspace);
  if (workspace === realPath(place.configuredWorkspace)) return path;
  return withSuffix(path, `-${sha256(workspace).slice(0, 8)}`);
}

/** The file of ours beside an index of OpenClaw's own at `path`: `main.sqlite` and `main.memq.sqlite`. */
export function besideForeignIndex(path: string): string {
  return withSuffix(path, ".memq");
}

function withSuffix(path: string, suffix: string): string {
  const extension = extname(path);
  return join(dirname(path), `${basename(path, extension)}${suffix}${extension}`);
}

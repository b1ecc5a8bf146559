import { basename, dirname, extname, join } from "node:path";
import { sha256 } from "../sha256.ts";
import { absolutePath, realPath, type Env } from "./paths.ts";

export type IndexPlace = {
  agentId: string;
  stateDir: string;
  /** `store.path` as configured. */
  storePath: string | undefined;
  workspace: string;
  /** The agent's configured workspace, or null when none is. */
  configuredWorkspace: string | null;
  env: Env;
};

/**
 * The index file of an agent: `store.path` with `{agentId}` replaced, else `<state>/memory/<agentId>.sqlite`. A workspace
 * other than the configured one has an index of its own, named after its real path.
 */
export function agentIndexPath(place: IndexPlace): string {
  const pattern = place.storePath ?? join(place.stateDir, "memory", "{agentId}.sqlite");
  const real = realPath(place.workspace);
  if (place.configuredWorkspace !== null && real === realPath(place.configuredWorkspace)) {
    return absolutePath(pattern.replaceAll("{agentId}", place.agentId), place.stateDir, place.env);
  }
  const suffix = sha256(real).slice(0, 8);
  const path = absolutePath(pattern.replaceAll("{agentId}", place.agentId), place.stateDir, place.env);
  return withSuffix(path, `-${suffix}`);
}

/** The file of ours beside an index of OpenClaw's own at `path`: `main.sqlite` and `main.memq.sqlite`. */
export function besideForeignIndex(path: string): string {
  return withSuffix(path, ".memq");
}

function withSuffix(path: string, suffix: string): string {
  const extension = extname(path);
  return join(dirname(path), `${basename(path, extension)}${suffix}${extension}`);
}

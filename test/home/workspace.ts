import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { resolveAgentHome, type AgentHome, type AgentHomeRequest } from "../../src/home/agent-home.ts";
import { temporaryFolder } from "../temporary.ts";

/** A throw-away user's home with a state folder and a workspace in it; nothing of this machine's environment shines through. */
export type Sandbox = {
  home: string;
  state: string;
  workspace: string;
  env: Record<string, string | undefined>;
  /** Writes a file below the home folder and returns its path. */
  write(path: string, content: string): string;
  /** Writes `openclaw.json` of the state folder. */
  config(value: unknown): string;
  resolve(request?: Partial<AgentHomeRequest>): Promise<AgentHome>;
};

/** A fresh sandbox below the system's temp folder. */
export function sandbox(): Sandbox {
  const home = temporaryFolder("home-");
  const state = join(home, ".openclaw");
  const workspace = join(state, "workspace");
  mkdirSync(workspace, { recursive: true });
  const env: Record<string, string | undefined> = { HOME: home };
  const write = (path: string, content: string): string => {
    const full = join(home, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, content);
    return full;
  };
  return {
    home,
    state,
    workspace,
    env,
    write,
    config: (value) =>
      write(".openclaw/openclaw.json", typeof value === "string" ? value : JSON.stringify(value, null, 2)),
    resolve: (request = {}) => resolveAgentHome({ env, cwd: home, ...request }),
  };
}

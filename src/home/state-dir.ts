import { existsSync } from "node:fs";
import { join } from "node:path";
import { absolutePath, envText, expandTilde, givenPath, userHome, type Env } from "./paths.ts";

/** The home folder that OpenClaw keeps its state in: `OPENCLAW_HOME`, else the user's home. */
function openclawHome(env: Env): string {
  const named = envText(env, "OPENCLAW_HOME");
  return named === undefined ? userHome(env) : expandTilde(named, env);
}

/**
 * The state folder: the option, `OPENCLAW_STATE_DIR`, then `.openclaw` in the home folder, or `.moltbot` or `.clawdbot` when
 * only that exists. It need not exist.
 */
export function stateFolder(option: string | undefined, env: Env, cwd: string): string {
  if (option !== undefined) return givenPath(option, "state folder", cwd, env);
  const named = envText(env, "OPENCLAW_STATE_DIR") ?? envText(env, "CLAWDBOT_STATE_DIR");
  if (named !== undefined) return absolutePath(named, cwd, env);
  const home = absolutePath(openclawHome(env), cwd, env);
  const profile = envText(env, "OPENCLAW_PROFILE");
  if (profile !== undefined && profile !== "default") return join(home, `.openclaw-${profile}`);
  const folders = [".openclaw", ".moltbot", ".clawdbot"].map((name) => join(home, name));
  return folders.find((folder) => existsSync(folder)) ?? join(home, ".openclaw");
}

/** The configuration file to read and who named it; the file of the state folder need not exist. */
export function configFile(
  option: string | undefined,
  stateDir: string,
  env: Env,
  cwd: string,
): { path: string; namedBy: "option" | "environment" | null } {
  if (option !== undefined) return { path: givenPath(option, "configuration file", cwd, env), namedBy: "option" };
  const named = envText(env, "OPENCLAW_CONFIG_PATH") ?? envText(env, "CLAWDBOT_CONFIG_PATH");
  if (named !== undefined) return { path: absolutePath(named, cwd, env), namedBy: "environment" };
  const files = ["openclaw.json", "moltbot.json", "clawdbot.json"].map((name) => join(stateDir, name));
  return { path: files.find((file) => existsSync(file)) ?? join(stateDir, "openclaw.json"), namedBy: null };
}

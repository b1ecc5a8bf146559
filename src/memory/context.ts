import { lstat, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import type { AgentHome } from "../home/agent-home.ts";
import { decodeNote } from "../notes/decode.ts";
import { cutAtGrapheme } from "../search/snippet.ts";
import { dateInZone, dayBefore } from "./dates.ts";
import { isMainPrivate, sessionFacts } from "./sessions.ts";

export type ContextFile = { path: string; text: string; truncated: boolean };

/** A file longer than this is cut, as gateways do with the files they load at a session's start. */
const MAX_CONTEXT_CHARS = 20_000;

/** What a session of an agent reads at its start. */
export async function contextForSession(
  { home, memory }: AgentHome,
  request: { sessionKey?: string | undefined; chatType?: string | undefined },
): Promise<{ files: ContextFile[] }> {
  const { workspace = "" } = home;
  return {
    files: await sessionContext({
      workspace,
      agentId: memory.agentId,
      timeZone: memory.timeZone,
      now: Date.now(),
      ...request,
    }),
  };
}

/**
 * What an agent reads at session start: today's and yesterday's note in the user's time zone, and `MEMORY.md` and `USER.md`
 * only for the main private session. Files that do not exist are left out.
 */
export async function sessionContext(options: {
  workspace: string;
  agentId?: string;
  timeZone?: string;
  now: number;
  sessionKey?: string | undefined;
  chatType?: string | undefined;
}): Promise<ContextFile[]> {
  const today = dateInZone(options.now, options.timeZone);
  const paths = [`memory/${today}.md`, `memory/${dayBefore(today)}.md`];
  const facts = sessionFacts(options.sessionKey, options.chatType);
  if (isMainPrivate(facts, options.agentId ?? "main")) paths.unshift("MEMORY.md", "USER.md");
  const files = await Promise.all(paths.map((path) => readContextFile(options.workspace, path)));
  return files.filter((file) => file !== null);
}

async function readContextFile(workspace: string, path: string): Promise<ContextFile | null> {
  const full = join(workspace, path);
  try {
    // A link, of the file or of its folder, could lead anywhere: only regular files are the agent's own memory.
    if (!(await lstat(full)).isFile() || (await realpath(full)) !== join(await realpath(workspace), path)) return null;
    const text = decodeNote(await readFile(full)).text;
    if (text === null) return null;
    return { path, text: cutAtGrapheme(text, MAX_CONTEXT_CHARS), truncated: text.length > MAX_CONTEXT_CHARS };
  } catch {
    return null;
  }
}

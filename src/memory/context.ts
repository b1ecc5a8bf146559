import { lstat, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../errors.ts";
import type { AgentHome } from "../home/agent-home.ts";
import { decodeNote } from "../notes/decode.ts";
import { cutAtGrapheme } from "../search/snippet.ts";
import { dateInZone, dayBefore } from "./dates.ts";
import { isMainPrivate, sessionFacts } from "./sessions.ts";

export type ContextFile = { path: string; text: string; truncated: boolean };

export type SessionContext = {
  files: ContextFile[];
  /** What was left out though it is there, and why. */ warning?: string;
};

/** A file longer than this is cut, as gateways do with the files they load at a session's start. */
const MAX_CONTEXT_CHARS = 20_000;

/** What a session of an agent reads at its start. */
export async function contextForSession(
  { home, memory }: AgentHome,
  request: { sessionKey?: string | undefined; chatType?: string | undefined },
): Promise<SessionContext> {
  const { workspace = "" } = home;
  const { agentId, timeZone } = memory;
  return sessionContext({ workspace, agentId, timeZone, now: Date.now(), ...request });
}

/**
 * What an agent reads at session start: today's and yesterday's note in the user's time zone, and `MEMORY.md` and `USER.md`
 * only for the main private session. Files that do not exist are left out; `warning` names what is there and was not read.
 */
export async function sessionContext(options: {
  workspace: string;
  agentId?: string;
  timeZone?: string;
  now: number;
  sessionKey?: string | undefined;
  chatType?: string | undefined;
}): Promise<SessionContext> {
  const today = dateInZone(options.now, options.timeZone);
  const paths = [`memory/${today}.md`, `memory/${dayBefore(today)}.md`];
  const facts = sessionFacts(options.sessionKey, options.chatType);
  if (isMainPrivate(facts, options.agentId ?? "main")) paths.unshift("MEMORY.md", "USER.md");
  const read = await Promise.all(paths.map((path) => readContextFile(options.workspace, path)));
  const faults = read.filter((one) => typeof one === "string");
  return {
    files: read.filter((one) => one !== null && typeof one !== "string"),
    ...(faults.length === 0 ? {} : { warning: faults.join(" ") }),
  };
}

/** The file, null when there is none, or a sentence that says why it was not read. */
async function readContextFile(workspace: string, path: string): Promise<ContextFile | string | null> {
  const full = join(workspace, path);
  try {
    // A link, of the file or of its folder, could lead anywhere: only regular files are the agent's own memory.
    if (!(await lstat(full)).isFile() || (await realpath(full)) !== join(await realpath(workspace), path)) {
      return `${path} was not read: it is not a regular file inside the workspace.`;
    }
    const text = decodeNote(await readFile(full)).text;
    if (text === null) return `${path} was not read: it is not a text file.`;
    return { path, text: cutAtGrapheme(text, MAX_CONTEXT_CHARS), truncated: text.length > MAX_CONTEXT_CHARS };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? null : `${path} was not read: ${messageOf(error)}.`;
  }
}

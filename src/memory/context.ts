import type { AgentHome } from "../home/agent-home.ts";
import { cutAtGrapheme } from "../search/snippet.ts";
import { dateInZone } from "../notes/dates.ts";
import { MAX_NOTE_BYTES } from "../notes/decode.ts";
import { dayBefore } from "./dates.ts";
import { readOwnNote } from "./own-note.ts";
import { isMainPrivate, sessionFacts } from "./sessions.ts";

export type ContextFile = { path: string; text: string; truncated: boolean };

export type SessionContext = {
  files: ContextFile[];
  /** What was left out though it is there, and why. */
  warning?: string;
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
  const note = await readOwnNote(workspace, path, MAX_NOTE_BYTES);
  if (note === null || typeof note === "string") return note;
  const { text } = note;
  return { path, text: cutAtGrapheme(text, MAX_CONTEXT_CHARS), truncated: text.length > MAX_CONTEXT_CHARS };
}

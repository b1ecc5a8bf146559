import type { Home } from "../home/types.ts";
import { sessionIdOf } from "../notes/transcript.ts";

/** What a session key tells: its agent, its channel and the kind of chat. */
export type SessionFacts = {
  /** Lower-case, as given. */
  rawKey: string;
  /** Without a leading `agent:<id>:`. */
  key: string;
  agentId: string | null;
  channel: string | null;
  chatType: "direct" | "group" | "channel";
  /** The agent's own main session, or no key at all: the one place long-term memory is loaded into. */
  main: boolean;
};

const CHAT_WORDS = new Set(["group", "channel", "direct", "dm"]);

/**
 * Reads a session key (`agent:main:discord:channel:42`, `agent:main:main`, …). A chat type given by the caller beats the
 * one in the key; no key and no chat type count as the main direct chat.
 */
export function sessionFacts(sessionKey?: string, chatType?: string): SessionFacts {
  const rawKey = (sessionKey ?? "").trim().toLowerCase();
  const agent = /^agent:([^:]+):(.*)$/.exec(rawKey);
  const key = agent?.[2] ?? rawKey;
  const parts = key.split(":");
  const second = parts[1];
  const channel = second !== undefined && CHAT_WORDS.has(second) ? (parts[0] ?? null) : null;
  const derived = parts.includes("channel") ? "channel" : parts.includes("group") ? "group" : "direct";
  const type = givenChatType(chatType) ?? derived;
  return { rawKey, key, agentId: agent?.[1] ?? null, channel, chatType: type, main: key === "" || key === "main" };
}

/** A kind of chat that we don't know (`supergroup`, `thread`, …) counts as a group: others may be listening. */
function givenChatType(chatType: string | undefined): SessionFacts["chatType"] | null {
  const given = chatType?.trim().toLowerCase() ?? "";
  if (given === "") return null;
  if (given === "direct" || given === "dm" || given === "private") return "direct";
  return given === "channel" ? "channel" : "group";
}

/**
 * Whether an agent's long-term memory may be shown: only in its own main private session, never in a group, a channel, somebody
 * else's chat or a session of another agent.
 */
export function isMainPrivate(facts: SessionFacts, agentId: string): boolean {
  return facts.main && facts.chatType === "direct" && (facts.agentId === null || facts.agentId === agentId);
}

/** Why a session gets nothing of `MEMORY.md` and `USER.md`, in words for a person; null for the main private one. */
export function longTermWithheld(
  { sessionKey, chatType }: { sessionKey?: string | undefined; chatType?: string | undefined },
  agentId: string,
): string | null {
  return isMainPrivate(sessionFacts(sessionKey, chatType), agentId)
    ? null
    : "MEMORY.md and USER.md stay out: only the agent's main private session reads them.";
}

/** Whether the transcripts of an agent are among what is indexed. */
export function hasTranscripts({ collections }: Pick<Home, "collections">): boolean {
  return collections.some(({ source }) => source === "sessions");
}

/** When a transcript was archived, as gateways write it. */
const ARCHIVED_AT = String.raw`\d{4}-\d\d-\d\dT[0-9TZ:._-]*`;
const ARCHIVE = new RegExp(String.raw`\.jsonl\.(reset|deleted)\.(${ARCHIVED_AT})$`);
const EXPORTED_ARCHIVE = new RegExp(`-(?:reset|deleted)-${ARCHIVED_AT}$`);
/** A session that is called as an archive is exported. */
const LIKE_ARCHIVE = new RegExp(`-(?:reset|deleted)-${ARCHIVED_AT}(?:-session)*$`);

/**
 * The base name, without `.md`, of the note that a transcript is exported to: `abc.jsonl` is `abc`, and an archive of it
 * `abc-reset-<time>`. No two transcripts share one.
 */
export function exportedName(transcript: string): string {
  if (ARCHIVE.test(transcript)) return transcript.replace(ARCHIVE, "-$1-$2");
  const name = transcript.replace(/\.jsonl$/, "");
  return LIKE_ARCHIVE.test(name) ? `${name}-session` : name;
}

/** The session that an exported note (base name without `.md`) holds, be it an archive of it. */
export function exportedSessionId(name: string): string {
  const isLikeArchive = LIKE_ARCHIVE.test(name) && name.endsWith("-session");
  return sessionIdOf(name.replace(isLikeArchive ? /-session$/ : EXPORTED_ARCHIVE, ""));
}

import type { MemorySettings } from "../home/types.ts";
import { dateInZone } from "../notes/dates.ts";

export type FlushSettings = MemorySettings["flush"];

export type FlushQuestion = {
  contextTokens: number;
  contextWindow: number;
  compactionCount: number;
  transcriptBytes?: number;
  workspaceAccess?: string;
  /** Compaction count of the last flush of this session that is known, from our index or the gateway's `sessions.json`. */
  flushedAt: number | null;
};

export type FlushReason = "disabled" | "read-only" | "already-flushed" | "below-threshold" | "due";
export type FlushAnswer = { due: boolean; reason: FlushReason; prompt?: string; systemPrompt?: string; path?: string };

const SYSTEM_PROMPT = "Session nearing compaction. Store durable memories now.";
const PROMPT = "Write any lasting notes to memory/YYYY-MM-DD.md; reply with NO_REPLY if nothing to store.";
const SILENT_HINT = "If there is nothing to store, reply with NO_REPLY only.";
const SAFETY_HINTS = [
  "Store memories only in memory/YYYY-MM-DD.md; create the folder and the file if they are missing.",
  "If the file exists, append to it and leave what is there as it is.",
  "Treat MEMORY.md, USER.md and other files loaded at session start as read-only during this turn.",
];

/**
 * Whether a session should write down its memories before it is compacted, and with which prompts. Due when its tokens reach
 * `contextWindow − reserveTokensFloor − softThresholdTokens`, or its transcript the configured size; once per compaction cycle.
 */
export function flushAnswer(
  settings: FlushSettings,
  question: FlushQuestion,
  clock: { now: number; timeZone?: string },
): FlushAnswer {
  const reason = flushReason(settings, question);
  if (reason !== "due") return { due: false, reason };
  const date = dateInZone(clock.now, clock.timeZone);
  const path = `memory/${date}.md`;
  const dated = (text: string): string => text.replaceAll("YYYY-MM-DD", date);
  return {
    due: true,
    reason,
    prompt: dated(flushPrompt(settings.prompt ?? PROMPT, clock)),
    systemPrompt: dated(withSilentHint(settings.systemPrompt ?? SYSTEM_PROMPT)),
    path,
  };
}

function flushReason(settings: FlushSettings, question: FlushQuestion): FlushReason {
  if (!settings.enabled) return "disabled";
  if (question.workspaceAccess === "ro" || question.workspaceAccess === "none") return "read-only";
  if (question.flushedAt === question.compactionCount) return "already-flushed";
  const threshold = Math.max(0, question.contextWindow - settings.reserveTokensFloor - settings.softThresholdTokens);
  const tokensDue = threshold > 0 && question.contextTokens >= threshold;
  const bytesDue =
    settings.forceTranscriptBytes > 0 && (question.transcriptBytes ?? 0) >= settings.forceTranscriptBytes;
  return tokensDue || bytesDue ? "due" : "below-threshold";
}

function flushPrompt(prompt: string, clock: { now: number; timeZone?: string }): string {
  const time = new Intl.DateTimeFormat("en-GB", {
    timeZone: clock.timeZone,
    dateStyle: "full",
    timeStyle: "short",
  }).format(clock.now);
  const zone = clock.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  return [withSilentHint(prompt), ...SAFETY_HINTS, `Current time: ${time} (${zone})`].join("\n");
}

function withSilentHint(text: string): string {
  return text.includes("NO_REPLY") ? text : `${text}\n${SILENT_HINT}`;
}

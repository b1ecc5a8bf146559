import type { MemorySettings } from "../home/types.ts";
import { sessionFacts } from "./sessions.ts";

/** Whether hits name their source: always, never, or (`auto`) in direct chats only, so that a group never sees a path. */
export function citationsShown(
  citations: MemorySettings["citations"],
  asking: { sessionKey?: string | undefined; chatType?: string | undefined },
): boolean {
  if (citations !== "auto") return citations === "on";
  return sessionFacts(asking.sessionKey, asking.chatType).chatType === "direct";
}

/** `path#L3` or `path#L3-L7`. */
export function citationOf(hit: { path: string; startLine: number; endLine: number }): string {
  const end = hit.endLine === hit.startLine ? "" : `-L${hit.endLine}`;
  return `${hit.path}#L${hit.startLine}${end}`;
}

/** The snippet with a footer that names its source. */
export function withSource(snippet: string, citation: string): string {
  return `${snippet.trim()}${footerOf(citation)}`;
}

/** The snippet without the footer that `withSource` gave it. */
export function withoutSource(snippet: string, citation: string | undefined): string {
  const footer = citation === undefined ? "" : footerOf(citation);
  return snippet.endsWith(footer) ? snippet.slice(0, snippet.length - footer.length) : snippet;
}

function footerOf(citation: string): string {
  return `\n\nSource: ${citation}`;
}

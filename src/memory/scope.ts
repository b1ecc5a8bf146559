import type { ScopePolicy, ScopeRule } from "../home/types.ts";
import { sessionFacts } from "./sessions.ts";

export type ScopeVerdict = { allowed: true } | { allowed: false; reason: string };

/**
 * Whether a session may search. The first rule that matches decides, else the policy's default. Prefixes are
 * compared in lower case; a `keyPrefix` that begins with `agent:` means the whole key.
 */
export function judgeScope(policy: ScopePolicy | undefined, sessionKey?: string, chatType?: string): ScopeVerdict {
  if (policy === undefined) return { allowed: true };
  const facts = sessionFacts(sessionKey, chatType);
  const rule = policy.rules.find((rule) => matches(rule, facts));
  const action = rule?.action ?? policy.default;
  if (action === "allow") return { allowed: true };
  return {
    allowed: false,
    reason: `memory search is denied for this session by memory.qmd.scope (channel ${facts.channel ?? "none"}, chat type ${facts.chatType})`,
  };
}

function matches(rule: ScopeRule, facts: ReturnType<typeof sessionFacts>): boolean {
  const { match } = rule;
  // The key of a sub-agent tells nothing of the chat it works for: only a rule without conditions applies.
  if (facts.key.startsWith("subagent:") && Object.keys(match).length > 0) return false;
  if (match.channel !== undefined && match.channel.toLowerCase() !== facts.channel) return false;
  if (match.chatType !== undefined && normalChatType(match.chatType) !== facts.chatType) return false;
  if (match.rawKeyPrefix !== undefined && !facts.rawKey.startsWith(match.rawKeyPrefix.toLowerCase())) return false;
  if (match.keyPrefix !== undefined) {
    const prefix = match.keyPrefix.toLowerCase();
    if (!(prefix.startsWith("agent:") ? facts.rawKey : facts.key).startsWith(prefix)) return false;
  }
  return true;
}

function normalChatType(value: string): string {
  const lower = value.toLowerCase();
  return lower === "dm" ? "direct" : lower;
}

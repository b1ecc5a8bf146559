import { describe, expect, test } from "bun:test";
import type { ScopePolicy } from "../../src/home/types.ts";
import { judgeScope } from "../../src/memory/scope.ts";
import { isMainPrivate, sessionFacts } from "../../src/memory/sessions.ts";

describe("session keys", () => {
  test.each([
    [undefined, undefined, "direct", null, true],
    ["agent:main:main", undefined, "direct", null, true],
    ["agent:main:discord:channel:42", undefined, "channel", "discord", false],
    ["agent:main:telegram:group:-100", undefined, "group", "telegram", false],
    ["agent:work:slack:direct:u1", undefined, "direct", "slack", false],
    ["Agent:Main:Main", "group", "group", null, false],
    ["agent:main:discord:channel:42", "direct", "direct", "discord", false],
    // A kind of chat that is not known could have anybody in it.
    [undefined, "supergroup", "group", null, false],
    ["agent:main:main", "thread", "group", null, false],
    ["agent:main:main", "private", "direct", null, true],
    // Another agent's session.
    ["agent:work:main", undefined, "direct", null, false],
  ] as const)("%s (%s)", (key, chatType, type, channel, mainPrivate) => {
    const facts = sessionFacts(key, chatType);
    expect(facts.chatType).toBe(type);
    expect(facts.channel).toBe(channel);
    expect(isMainPrivate(facts, "main")).toBe(mainPrivate);
  });
});

describe("scope", () => {
  const policy: ScopePolicy = {
    default: "deny",
    rules: [
      { action: "deny", match: { rawKeyPrefix: "agent:main:slack:" } },
      { action: "allow", match: { chatType: "direct" } },
      { action: "allow", match: { keyPrefix: "discord:channel:7" } },
      { action: "allow", match: { channel: "irc", chatType: "group" } },
    ],
  };
  test.each([
    [undefined, undefined, true],
    ["agent:main:main", undefined, true],
    ["agent:main:slack:direct:u", undefined, false],
    ["agent:other:slack:direct:u", undefined, true],
    ["agent:main:discord:channel:7", undefined, true],
    ["agent:main:discord:channel:8", undefined, false],
    ["agent:main:irc:group:x", undefined, true],
    ["agent:main:irc:channel:x", undefined, false],
    ["agent:main:subagent:9", undefined, false],
  ] as const)("%s is allowed: %p", (key, chatType, allowed) => {
    expect(judgeScope(policy, key, chatType).allowed).toBe(allowed);
  });

  test("a denial names channel and chat type", () => {
    const verdict = judgeScope(policy, "agent:main:discord:channel:8");
    expect(verdict).toMatchObject({ allowed: false });
    expect("reason" in verdict && verdict.reason).toContain("channel discord, chat type channel");
  });

  test("without a policy nothing is denied", () => {
    expect(judgeScope(undefined, "agent:main:discord:channel:8").allowed).toBe(true);
  });
});

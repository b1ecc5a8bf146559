import { describe, expect, test } from "bun:test";
import { array, assert, oneof, property, string } from "fast-check";
import { redactSecrets } from "../../src/notes/redact.ts";
import { isTranscriptName, renderTranscript, sessionIdOf } from "../../src/notes/transcript.ts";

const turn = (role: string, content: unknown, more: Record<string, unknown> = {}): string =>
  JSON.stringify({
    type: "message",
    id: "x",
    timestamp: "2026-03-01T10:00:00.000Z",
    message: { role, content, ...more },
  });

describe("transcript names", () => {
  test.each([
    ["a.jsonl", true],
    ["a-topic-12.jsonl", true],
    ["a.jsonl.reset.2026-03-29T04-11-02.123Z", true],
    ["a.jsonl.deleted.2026-03-29T04", true],
    ["a.trajectory.jsonl", false],
    ["a.checkpoint.7.jsonl", false],
    ["a.jsonl.bak", false],
    ["a.jsonl.lock", false],
    ["sessions.json", false],
    [".a.jsonl", false],
    ["a.jsonl.tmp", false],
  ])("%s: %p", (name, expected) => {
    expect(isTranscriptName(name)).toBe(expected);
  });

  test("the session id is the name up to .jsonl", () => {
    expect(sessionIdOf("abc-topic-4.jsonl.reset.2026-03-29T04")).toBe("abc-topic-4");
  });
});

describe("rendering a transcript", () => {
  test("keeps user and assistant turns, with the line of the file each came from", () => {
    const rendered = renderTranscript(
      [
        JSON.stringify({ type: "session", id: "s" }),
        turn("user", "Where does the backup run?"),
        "not json {",
        turn("toolResult", "secret tool output"),
        turn("assistant", [
          { type: "thinking", text: "hm" },
          { type: "text", text: "At 04:30\n  on kestrel." },
          { type: "toolCall" },
        ]),
        "",
      ].join("\n"),
    );
    expect(rendered.text).toBe("User: Where does the backup run?\nAssistant: At 04:30 on kestrel.");
    expect(rendered.sourceLines).toEqual([2, 5]);
    expect(rendered.lastActivityMs).toBe(Date.parse("2026-03-01T10:00:00.000Z"));
  });

  test.each([
    ["milliseconds", 1_772_359_200_000],
    ["seconds", 1_772_359_200],
    ["microseconds", 1_772_359_200_000_000],
    ["nanoseconds", 1_772_359_200_000_000_000],
  ])("a time stamp in %s is the same time", (_, timestamp) => {
    expect(renderTranscript(turn("user", "tea", { timestamp })).lastActivityMs).toBe(1_772_359_200_000);
  });

  test.each([0, -1, 1e30, -1e18, "no time", "+275760-09-13T00:00:00.000Z", null])(
    "a time stamp that is no sane time gives way to that of the entry: %p",
    (timestamp) => {
      expect(renderTranscript(turn("user", "tea", { timestamp })).lastActivityMs).toBe(Date.parse("2026-03-01T10:00Z"));
      const alone = JSON.stringify({
        type: "message",
        timestamp,
        message: { role: "user", content: "tea", timestamp },
      });
      expect(renderTranscript(alone)).toMatchObject({ sourceLines: [1], lastActivityMs: null });
    },
  );

  test("leaves out what machines wrote", () => {
    const rendered = renderTranscript(
      [
        turn("user", "System: [2026-03-01 10:00] exec finished"),
        turn("user", "[cron:nightly] run the sweep"),
        turn("user", "from another session", { provenance: { kind: "inter_session" } }),
        turn("assistant", "NO_REPLY"),
        turn("assistant", "HEARTBEAT_OK"),
        turn(
          "user",
          'Conversation info (untrusted metadata):\n```json\n{"a": 1}\n```\n\nSender (untrusted metadata):\n```json\n{}\n```\nHello there',
        ),
      ].join("\n"),
    );
    expect(rendered.text).toBe("User: Hello there");
    expect(rendered.sourceLines).toEqual([6]);
  });

  test("wraps a monologue at blanks, each piece with its label and its line", () => {
    const rendered = renderTranscript(turn("user", "word ".repeat(500)));
    const lines = rendered.text.split("\n");
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.every((line) => line.startsWith("User: ") && line.length <= 806)).toBe(true);
    expect(new Set(rendered.sourceLines)).toEqual(new Set([1]));
  });

  test("any lines give a line map as long as the text, and no half characters", () => {
    assert(
      property(
        array(
          oneof(
            string({ unit: "binary" }),
            string({ unit: "grapheme" }).map((text) => turn("user", text)),
          ),
        ),
        (lines) => {
          const rendered = renderTranscript(lines.map((line) => line.replaceAll("\n", " ")).join("\n"));
          const count = rendered.text === "" ? 0 : rendered.text.split("\n").length;
          expect(rendered.sourceLines.length).toBe(count);
          expect(rendered.text.isWellFormed()).toBe(true);
        },
      ),
    );
  });
});

describe("masking secrets", () => {
  test.each([
    ["OPENAI_API_KEY=sk-abcdefghijklmnopqrstuvwxyz", "sk-abcdefghijklmnopqrstuvwxyz"],
    ['{"apiKey": "abcd1234"}', "abcd1234"],
    ["curl --token tok-0987654321", "tok-0987654321"],
    ["Authorization: Bearer abcdefghijklmnopqrst", "abcdefghijklmnopqrst"],
    ["use ghp_0123456789abcdefghijABCDEFGHIJ please", "ghp_0123456789abcdefghijABCDEFGHIJ"],
    ["bot 123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc", "AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"],
    [`cut off: -----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN${"Bgkq".repeat(13)}\nhkiG9w0`, "MIIEvQIBADAN"],
    [
      `-----BEGIN PRIVATE KEY-----\n${"MIIE".repeat(16)}\n…\n-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----`,
      "MIIE",
    ],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----", "MIIEow"],
  ])("%s", (text, secret) => {
    expect(redactSecrets(text)).not.toContain(secret);
  });

  test("leaves ordinary prose alone", () => {
    const prose = "The key to a good password policy is a token of trust; see issue 12345:67.";
    expect(redactSecrets(prose)).toBe(prose);
  });
});

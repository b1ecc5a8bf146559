import { describe, expect, test } from "bun:test";
import { array, assert, constantFrom, property } from "fast-check";
import { cutPassages } from "../../src/notes/cut.ts";
import { redactSecrets } from "../../src/notes/redact.ts";
import { renderTranscript } from "../../src/notes/transcript.ts";
import { workMeter } from "../work.ts";

/** No time is measured: where it grew with the square of the length, each of these would take many minutes. */
const SIZE = 4_000_000;
const filled = (piece: string): string => piece.repeat(Math.ceil(SIZE / piece.length));

function said(content: string): string {
  return renderTranscript(JSON.stringify({ type: "message", message: { role: "user", content } })).text;
}

/** Whether a rendered text is this one, wherever it was wrapped. */
const says = (rendered: string, text: string): boolean =>
  rendered.replace(/User: |\s/g, "") === text.replace(/\s/g, "");

describe("a message is cleaned in time that grows with its length", () => {
  test.each([" ", "\n", "\r\n", "\u2028", "\t\n "])("begins with many blanks: %j", (blank) => {
    expect(said(`${filled(blank)}the end`)).toBe("User: the end");
  });

  test.each([
    "<runtime-context>",
    "<relevant-memories><system-reminder>",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN A",
  ])("opens many blocks and closes none: %s", (opening) => {
    expect(says(said(filled(opening)), filled(opening))).toBe(true);
  });

  test("begins with many envelopes", () => {
    expect(said(`${filled("Sender (untrusted metadata):\n```json\n{}\n```\n")}the end`)).toBe("User: the end");
  });

  test("begins with an envelope that announces many and closes none", () => {
    for (const text of [filled("(untrusted metadata): "), `(untrusted metadata):\n${filled("```json ")}`]) {
      expect(says(said(text), text)).toBe(true);
    }
  });

  test("holds one word without an end", () => {
    for (const piece of ["KEY", "TOKEN_", "sk-", "1", "123456:"]) expect(redactSecrets(filled(piece))).not.toBe("");
  });
});

test("a line without an end was looked through to its end at every passage of it", () => {
  const text = "word ".repeat(SIZE);
  const cutting = { kind: "breakpoints", maxChars: 50, overlapChars: 10, windowChars: 20 } as const;
  expect(cutPassages(`${text}\nthe end`, cutting).length).toBe(text.length / 40);
}, 120_000);

test("lines that close one comment and open hundreds are cut as quickly as others", () => {
  const line = `<!-- trigger: a -->${"<!-- project:".repeat(600)}\n`;
  const spent = workMeter();
  cutPassages(filled(line), { kind: "lines", maxWeight: 1600, overlapWeight: 0 });
  expect(spent()).toBeLessThan(4000);
});

describe("blocks are found as the expressions that describe them find them", () => {
  const ENVELOPE = /^\s*[^\n]*\(untrusted metadata\):\s*\n```(?:json)?\n[\s\S]*?\n```[ \t]*\n?/;
  const CONTEXT = /<(runtime-context|system-reminder|relevant-memories)>[\s\S]*?<\/\1>/g;
  const KEY = /(-----BEGIN [A-Z ]*PRIVATE KEY-----)[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----)/g;
  const pieces = [
    ..." \n|x|\n\n|\t|```|```json|\n```\n|{}|Sender |(untrusted metadata):|-----|\u2028".split("|"),
    "<runtime-context>",
    "</runtime-context>",
    "<system-reminder>",
    "</system-reminder>",
    "</relevant-memories>",
    "(untrusted metadata):\n```json\n",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
  ];
  const texts = array(constantFrom(...pieces), { maxLength: 20 }).map((parts) => parts.join(""));

  test("in front of and within a message", () => {
    assert(
      property(texts, (text) => {
        let rest = text;
        while (ENVELOPE.test(rest)) rest = rest.replace(ENVELOPE, "");
        const cleaned = rest.replace(CONTEXT, " ").replace(/\s+/g, " ").trim();
        const masked = cleaned.replace(KEY, "$1 …redacted… $2");
        expect(said(text)).toBe(masked === "" ? "" : `User: ${masked}`);
      }),
      { numRuns: 2000 },
    );
  });
});

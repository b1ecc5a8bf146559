import { describe, expect, test } from "bun:test";
import { array, assert, constantFrom, integer, json, property, tuple } from "fast-check";
import type { Frame, Framing } from "../../src/gateway/framing.ts";
import { frameMessage, MessageDecoder } from "../../src/gateway/framing.ts";
import { workMeter } from "../work.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

function decodeAll(bytes: Uint8Array, cuts: readonly number[], maxBytes?: number): Frame[] {
  const decoder = new MessageDecoder(maxBytes);
  const frames: Frame[] = [];
  let from = 0;
  for (const cut of [...cuts.map((one) => one % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)) {
    frames.push(...decoder.push(bytes.slice(from, cut)));
    from = Math.max(from, cut);
  }
  return [...frames, ...decoder.end()];
}

describe("messages survive any chunking", () => {
  const message = json({ noUnicodeString: false });
  const cuts = array(integer({ min: 0, max: 4000 }), { maxLength: 12 });

  test.each(["lines", "headers"] as Framing[])("framed by %s", (framing) => {
    assert(
      property(tuple(array(message, { maxLength: 6 }), cuts), ([messages, cuts]) => {
        const bytes = encode(messages.map((text) => frameMessage(text, framing)).join(""));
        expect(decodeAll(bytes, cuts)).toEqual(messages.map((text) => ({ text })));
      }),
    );
  });

  test("with white space first, either line end, and no line end last", () => {
    assert(
      property(
        array(message, { minLength: 1, maxLength: 4 }),
        constantFrom("\n", "\r\n", "\n\n"),
        cuts,
        (messages, end, cuts) => {
          expect(decodeAll(encode(`\n ${messages.join(end)}`), cuts)).toEqual(messages.map((text) => ({ text })));
        },
      ),
    );
  });
});

describe("lines", () => {
  test("a character cut in two by a chunk is whole again", () => {
    const bytes = encode('{"query":"請求 🦔"}\n');
    for (let cut = 0; cut <= bytes.length; cut++)
      expect(decodeAll(bytes, [cut])).toEqual([{ text: '{"query":"請求 🦔"}' }]);
  });

  test("a message that is too long is skipped, and the next one read", () => {
    const frames = decodeAll(encode(`${"x".repeat(500)}\n{}\n`), [7, 120, 333], 100);
    expect(frames).toEqual([{ fault: "a message is longer than 100 bytes" }, { text: "{}" }]);
  });

  test("bytes that are no UTF-8 are a fault, and the next message is read", () => {
    const bytes = new Uint8Array([0x7b, 0xff, 0x7d, 0x0a, 0x7b, 0x7d, 0x0a]);
    expect(decodeAll(bytes, [2])).toEqual([{ fault: "a message is not valid UTF-8" }, { text: "{}" }]);
  });

  test("a huge message in small chunks takes time in proportion to its length", () => {
    const decoder = new MessageDecoder();
    const chunk = encode("y".repeat(4096));
    const spent = workMeter();
    for (let count = 0; count < 3000; count++) expect(decoder.push(chunk)).toEqual([]);
    expect(decoder.push(encode("\n"))).toHaveLength(1);
    expect(spent()).toBeLessThan(2000);
  });
});

describe("headers", () => {
  test.each([
    ["other headers and any case", "content-type: application/json\r\nCONTENT-LENGTH:2\r\n\r\n{}", [{ text: "{}" }]],
    ["bare line ends", "Content-Length: 2\n\n{}", [{ text: "{}" }]],
    [
      "blank lines between messages",
      "Content-Length: 2\r\n\r\n{}\r\n\r\nContent-Length: 2\r\n\r\n[]",
      [{ text: "{}" }, { text: "[]" }],
    ],
    [
      "a block without a length",
      "Content-Type: x\r\n\r\nContent-Length: 2\r\n\r\n{}",
      [{ fault: "a header block names no Content-Length" }, { text: "{}" }],
    ],
    [
      "a body that is too long",
      `Content-Length: 101\r\n\r\n${"x".repeat(101)}Content-Length: 2\r\n\r\n{}`,
      [{ fault: "a message is longer than 100 bytes" }, { text: "{}" }],
    ],
    ["an end inside a body", "Content-Length: 9\r\n\r\n{}", [{ fault: "the input ended inside a message" }]],
  ])("%s", (_name, input, frames) => {
    for (let cut = 0; cut <= input.length; cut += 3)
      expect(decodeAll(encode(input), [cut], 100)).toEqual(frames as Frame[]);
  });

  test("a header block without an end is dropped", () => {
    const decoder = new MessageDecoder();
    expect(decoder.push(encode(`Content-Length: ${"1".repeat(20_000)}`))).toEqual([
      { fault: "a header block has no end" },
    ]);
  });

  test("lengths count bytes, not characters", () => {
    expect(frameMessage('"é"', "headers")).toBe('Content-Length: 4\r\n\r\n"é"');
  });
});

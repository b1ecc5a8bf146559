import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { decodeNote } from "../../src/notes/decode.ts";
import { noteFacts } from "../../src/notes/front-matter.ts";
import { mediaLabel, mediaType } from "../../src/notes/media.ts";
import { titleOf } from "../../src/notes/title.ts";

describe("decodeNote", () => {
  const text = "# Größe\n日本語 😀\r\n";

  test("UTF-8 and UTF-16, with and without a byte-order mark", () => {
    expect(decodeNote(Buffer.from(text))).toEqual({ text, encoding: "utf-8", replaced: false });
    expect(decodeNote(Buffer.from(`\ufeff${text}`)).text).toBe(text);
    const little = Buffer.from(`\ufeff${text}`, "utf16le");
    expect(decodeNote(little)).toEqual({ text, encoding: "utf-16le", replaced: false });
    expect(decodeNote(Buffer.from(little).swap16())).toEqual({ text, encoding: "utf-16be", replaced: false });
    expect(decodeNote(Buffer.from("plain words\n", "utf16le")).text).toBe("plain words\n");
  });

  test("invalid UTF-8 is replaced and said", () => {
    expect(decodeNote(Uint8Array.of(0x61, 0xf0, 0x9f, 0x62, 0x80, 0x63))).toEqual({
      text: "a\ufffdb\ufffdc",
      encoding: "utf-8",
      replaced: true,
    });
  });

  test("Windows-1252 is told from an East Asian encoding", () => {
    expect(decodeNote(Buffer.from("La reunión será mañana; año nuevo.\n", "latin1")).text).toBe(
      "La reunión será mañana; año nuevo.\n",
    );
    const gbk = Uint8Array.of(0xd6, 0xd0, 0xce, 0xc4, 0xb1, 0xca, 0xbc, 0xc7, 0x0a);
    expect(decodeNote(gbk)).toMatchObject({ encoding: "utf-8", replaced: true });
  });

  test("a NUL in what otherwise is text is a blank", () => {
    for (const text of ["a walnut\0 tree\n", "größer\0 als\n"])
      for (const encoding of ["utf8", "utf16le"] as const) {
        const marked = Buffer.from(encoding === "utf8" ? text : `\ufeff${text}`, encoding);
        expect(decodeNote(marked)).toMatchObject({ text: text.replace("\0", " "), replaced: true });
      }
  });

  test("a binary file has no text", () => {
    expect(decodeNote(Buffer.from(`ab${"\0".repeat(40)}`))).toEqual({ text: null });
    expect(decodeNote(Buffer.from("GIF89a\x01\0\x01 and what looks like a text"))).toEqual({ text: null });
    expect(decodeNote(Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0, 0, 0, 1, 2))).toEqual({ text: null });
  });

  test("any well-formed text without NUL survives", () => {
    const wellFormed = fc
      .string({ unit: "binary" })
      .filter((value) => value.isWellFormed() && !/[\0\ufeff]/.test(value));
    fc.assert(fc.property(wellFormed, (value) => expect(decodeNote(Buffer.from(value)).text).toBe(value)));
  });
});

describe("titleOf", () => {
  test.each([
    ["intro\n## Second level\n# First", "a/b.md", "Second level"],
    ["# Notes\n## Router", "x.md", "Router"],
    ["# Notes\n", "x.md", "Notes"],
    ["### deep only", "deep.only.md", "deep.only"],
    ["#+title: Plan\n* Head", "x.org", "Plan"],
    ["* Head\n", "x.org", "Head"],
    ["# Not read", "x.txt", "x"],
    ["", ".md", ".md"],
  ])("%j in %s is %s", (text, path, title) => {
    expect(titleOf(text, path)).toBe(title);
  });

  test("a heading of a megabyte is cut, at a whole character", () => {
    const title = titleOf(`# ${"😀".repeat(500_000)}`, "x.md");
    expect(title).toBe("😀".repeat(150));
    expect(titleOf(`# a${"😀".repeat(500)}`, "x.md")).toBe(`a${"😀".repeat(149)}`);
  });

  test("a carriage return is no part of it", () => {
    expect(titleOf("# Windows\r\n", "x.md")).toBe("Windows");
  });
});

describe("noteFacts", () => {
  test("date and tags of front matter", async () => {
    expect(await noteFacts("---\ntags: [a, '#b', a]\ndate: 2026-02-10T10:00\n---\n# T\n", "n.md")).toEqual({
      title: "T",
      date: "2026-02-10",
      tags: ["a", "b"],
    });
    expect((await noteFacts("---\r\ntags: one, two three\r\ndate: 2026-02-30\r\n---\r\n", "n.md")).tags).toEqual([
      "one",
      "two",
      "three",
    ]);
  });

  test("an impossible date is none", async () => {
    expect((await noteFacts("---\ndate: 2026-02-30\n---\n", "n.md")).date).toBeUndefined();
  });

  test.each([
    "---\ntags: [a\n---\n",
    "---\ntags: &a [*a]\n---\n",
    "---\n- tags: x\n---",
    "---\ntags: !!js/function x\n---\n",
  ])("%j breaks nothing", async (text) => {
    expect((await noteFacts(text, "n.md")).title).toBe("n");
  });

  test("arbitrary front matter never throws", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ maxLength: 60 }), async (yaml) => {
        const facts = await noteFacts(`---\ntags: ${yaml}\n---\n`, "n.md");
        expect(facts.tags.every((tag) => tag.trim() !== "")).toBe(true);
      }),
    );
  });
});

test("images and sounds are known by their first bytes, not by their names", () => {
  expect(mediaType(Buffer.from("\x89PNG\r\n\x1a\n", "latin1"))).toBe("image/png");
  expect(mediaType(Buffer.from("RIFF\0\0\0\0WEBPVP8 ", "latin1"))).toBe("image/webp");
  expect(mediaType(Buffer.from("RIFF\0\0\0\0WAVEfmt ", "latin1"))).toBe("audio/wav");
  expect(mediaType(Buffer.from("\0\0\0\x18ftypM4A ", "latin1"))).toBe("audio/mp4");
  expect(mediaType(Buffer.from("\0\0\0\x18ftypheic", "latin1"))).toBe("image/heic");
  expect(mediaType(Uint8Array.of(0xff, 0xfb, 0x90, 0x64))).toBe("audio/mpeg");
  expect(mediaType(Uint8Array.of(0xff, 0xf1, 0x50, 0x80))).toBe("audio/aac");
  expect(mediaType(Buffer.from("#!/bin/sh\n"))).toBeNull();
  expect(mediaType(new Uint8Array())).toBeNull();
  expect(mediaLabel("image/png", "../pics/a.png")).toBe("Image file: ../pics/a.png");
});

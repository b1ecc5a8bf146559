import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { adHocSigned, signatureFaults } from "../../scripts/build/macho.ts";

const pageSize = 4096;

/** A Mach-O file with __TEXT, __LINKEDIT and a signature that fits nothing, as an executable has after something was put into it. */
function executable(textPages: number, tail: number): Buffer {
  const linkEdit = textPages * pageSize;
  const signature = linkEdit + tail;
  const file = Buffer.alloc(signature + 64, 0x5a);
  file.writeUInt32LE(0xfeedfacf, 0);
  file.writeUInt32LE(3, 16);
  const segment = (at: number, name: string, offset: number, size: number) => {
    file.fill(0, at, at + 72);
    file.writeUInt32LE(0x19, at);
    file.writeUInt32LE(72, at + 4);
    file.write(name, at + 8, "latin1");
    file.writeBigUInt64LE(BigInt(offset), at + 40);
    file.writeBigUInt64LE(BigInt(size), at + 48);
  };
  segment(32, "__TEXT", 0, linkEdit);
  segment(104, "__LINKEDIT", linkEdit, tail + 64);
  for (const [index, value] of [0x1d, 16, signature, 64].entries()) file.writeUInt32LE(value, 176 + index * 4);
  return file;
}

describe("an ad hoc signature", () => {
  test.each([
    [1, 16],
    [3, 0],
    [3, 100],
    [40, 8192],
  ])("fits every page of %d pages of code and %d bytes after them", (pages, tail) => {
    const original = executable(pages, tail);
    const signed = adHocSigned(original, "memq");
    const total = Math.ceil((pages * pageSize + tail) / pageSize);
    expect(signatureFaults(signed)).toEqual({ pages: total, wrong: 0, adHoc: true });
    // Only sizes in the header change.
    expect(signed.subarray(192, pages * pageSize)).toEqual(original.subarray(192, pages * pageSize));
  });

  test("says which content it is for: one changed byte is one wrong page", () => {
    const signed = Buffer.from(adHocSigned(executable(5, 100), "memq"));
    signed[3 * pageSize + 7] = 0;
    expect(signatureFaults(signed).wrong).toBe(1);
  });

  test("is laid out as the kernel reads it", () => {
    const signed = Buffer.from(adHocSigned(executable(2, 100), "memq"));
    const signature = signed.readUInt32LE(176 + 8);
    expect(signed.readUInt32LE(176 + 12)).toBe(signed.length - signature);
    expect(Number(signed.readBigUInt64LE(104 + 40) + signed.readBigUInt64LE(104 + 48))).toBe(signed.length);
    const blob = signed.subarray(signature);
    expect(blob.toString("hex", 0, 4)).toBe("fade0cc0");
    const directory = blob.subarray(blob.readUInt32BE(16));
    expect(directory.toString("hex", 0, 4)).toBe("fade0c02");
    expect(directory.toString("latin1", directory.readUInt32BE(20)).split("\0")[0]).toBe("memq");
    expect(directory.readUInt32BE(32)).toBe(signature);
    const firstPage = createHash("sha256").update(signed.subarray(0, pageSize)).digest();
    const hashes = directory.readUInt32BE(16);
    expect(directory.subarray(hashes, hashes + 32)).toEqual(firstPage);
  });

  test("is the same when made again", () => {
    const once = adHocSigned(executable(4, 300), "memq");
    expect(adHocSigned(once, "memq")).toEqual(once);
  });
});

test("anything else is refused", () => {
  expect(() => adHocSigned(Buffer.from("#!/bin/sh\n".repeat(10)), "memq")).toThrow("not a thin 64-bit Mach-O file");
});

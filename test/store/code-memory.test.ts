import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import { type Arbitrary, array, assert, constant, int32Array, integer, property, record } from "fast-check";
import wabt from "wabt";
import {
  type CodeMemory,
  codeMemory,
  DIFFERING_BITS,
  plainMemory,
  vectorMemory,
  WORDS_MULTIPLE,
} from "../../src/store/code-memory.ts";

const hasVectors = vectorMemory(WORDS_MULTIPLE) !== null;

const KINDS: [string, (words: number) => CodeMemory | null, boolean][] = [
  ["plain numbers", plainMemory, true],
  ["vector instructions", vectorMemory, hasVectors],
  ["whatever is chosen", codeMemory, true],
];

for (const [kind, make, isHere] of KINDS) {
  describe.skipIf(!isHere)(`codes compared by ${kind}`, () => {
    test("differ in as many bits as are unlike, after more room was made as before", () => {
      assert(
        property(someCodes(), ({ words, first, more, code }) => {
          const memory = make(words)!;
          memory.reserve(first.length);
          for (const [at, own] of first.entries()) memory.codes.set(own, at * words);
          expect([...memory.differingBits(code, first.length)]).toEqual(first.map((own) => unlikeBits(own, code)));
          const all = [...first, ...more];
          memory.reserve(all.length);
          expect(memory.codes.length).toBe(all.length * words);
          expect(memory.codes.subarray(first.length * words).every((word) => word === 0)).toBe(true);
          for (const [at, own] of more.entries()) memory.codes.set(own, (first.length + at) * words);
          expect([...memory.differingBits(code, all.length)]).toEqual(all.map((own) => unlikeBits(own, code)));
        }),
        { numRuns: 50 },
      );
    });

    test("stay when their memory grows by far more than a page", () => {
      const memory = make(WORDS_MULTIPLE)!;
      memory.reserve(1);
      memory.codes.fill(-1);
      memory.differingBits(new Int32Array(WORDS_MULTIPLE).fill(-1), 1);
      memory.reserve(20_000);
      const distances = memory.differingBits(new Int32Array(WORDS_MULTIPLE), 20_000);
      expect(distances[0]).toBe(WORDS_MULTIPLE * 32);
      expect(distances.subarray(1).every((bits) => bits === 0)).toBe(true);
    });

    test("of vectors with 12,288 dimensions that differ in all bits", () => {
      const words = 12_288 / 32;
      const memory = make(words)!;
      memory.reserve(3);
      memory.codes.fill(-1, words, 2 * words);
      expect([...memory.differingBits(new Int32Array(words), 3)]).toEqual([0, 12_288, 0]);
    });
  });
}

test("what is compiled is what differing-bits.wat says", async () => {
  const source = readFileSync(join(import.meta.dir, "../../src/store/differing-bits.wat"), "utf8");
  const compiler = await wabt();
  const { buffer } = compiler.parseWat("differing-bits.wat", source, { simd: true }).toBinary({});
  expect(DIFFERING_BITS).toBe(Buffer.from(buffer).toString("base64"));
});

type SomeCodes = { words: number; first: Int32Array[]; more: Int32Array[]; code: Int32Array };

function someCodes(): Arbitrary<SomeCodes> {
  return integer({ min: 1, max: 4 }).chain((multiple) => {
    const words = multiple * WORDS_MULTIPLE;
    const code = int32Array({ minLength: words, maxLength: words });
    const list = array(code, { maxLength: 40 });
    return record({ words: constant(words), first: list, more: list, code });
  });
}

function unlikeBits(a: Int32Array, b: Int32Array): number {
  return a.reduce((sum, word, at) => sum + ((word ^ b[at]!) >>> 0).toString(2).replaceAll("0", "").length, 0);
}

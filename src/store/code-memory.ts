import { differingBits } from "./vector-bits.ts";

/** Codes one behind the other, each as many words long, and how they are compared. */
export type CodeMemory = {
  /** All there is room for; replaced when room is made. */
  readonly codes: Int32Array;
  /** Makes room for so many codes. Those that are there stay, new ones are 0. */
  reserve(count: number): void;
  /** In how many bits each of the first `count` codes differs from `code`. The next call overwrites what this one returned. */
  differingBits(code: Int32Array, count: number): Uint16Array;
};

/** A code is a multiple of this long: the vector instructions take four words at a time, the plain loop three. */
export const WORDS_MULTIPLE = 12;

/** Room for codes of `words` words, compared by vector instructions where there are any: a quarter of the time. */
export function codeMemory(words: number): CodeMemory {
  return vectorMemory(words) ?? plainMemory(words);
}

/** Codes compared by a loop over plain numbers. */
export function plainMemory(words: number): CodeMemory {
  let codes = new Int32Array(0);
  return {
    get codes() {
      return codes;
    },
    reserve(count) {
      const larger = new Int32Array(count * words);
      larger.set(codes);
      codes = larger;
    },
    differingBits: (code, count) => differingBits({ codes, words, length: count }, code),
  };
}

/** `differing-bits.wat`, compiled. */
export const DIFFERING_BITS =
  "AGFzbQEAAAABCQFgBX9/f39/AAMCAQAFAwEAAQcaAgZtZW1vcnkCAA1kaWZmZXJpbmdCaXRzAAAKlAEBkQECAn8BeyADRQRADwsDQP0MAAAAAAAAAAAA" +
  "AAAAAAAAACEHIAEhBSAAIQYDQCAHIAL9AAQAIAb9AAQA/VH9Yv19/Y4BIQcgAkEQaiECIAZBEGohBiAFQQFrIgUNAAsgB/1/IQcgBCAH/RsAIAf9GwFq" +
  "IAf9GwIgB/0bA2pqOwEAIARBAmohBCADQQFrIgMNAAsL";

type Compiled = {
  memory: WebAssembly.Memory;
  differingBits: (code: number, blocks: number, codes: number, count: number, distances: number) => void;
};

let compiled: WebAssembly.Module | undefined;

/** Null where the processor has no vector instructions, or the system has no room for such a memory. */
function instance(): Compiled | null {
  try {
    compiled ??= new WebAssembly.Module(Buffer.from(DIFFERING_BITS, "base64"));
    return new WebAssembly.Instance(compiled).exports as Compiled;
  } catch {
    return null;
  }
}

const PAGE_BYTES = 65_536;

/** Codes in a memory that WebAssembly's 128 bit instructions can reach, or null where there are none. */
export function vectorMemory(words: number): CodeMemory | null {
  const made = instance();
  if (made === null) return null;
  const { memory, differingBits: compare } = made;
  // The code to compare with, then all others, then what was found.
  const start = words * 4;
  let codes = new Int32Array(memory.buffer, start, 0);
  let found = start;
  return {
    get codes() {
      return codes;
    },
    reserve(count) {
      const before = codes.length;
      found = start + count * words * 4;
      const missing = found + count * 2 - memory.buffer.byteLength;
      if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES));
      codes = new Int32Array(memory.buffer, start, count * words);
      // What was found before may stand there.
      codes.fill(0, before);
    },
    differingBits(code, count) {
      new Int32Array(memory.buffer, 0, words).set(code);
      compare(0, words / 4, start, count, found);
      return new Uint16Array(memory.buffer, found, count);
    },
  };
}

import { existsSync, openSync, readFileSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";

/** Vectors by text, kept on disk: a second measurement embeds nothing. */
export type VectorFile = {
  get(text: string): number[] | null;
  put(text: string, vector: readonly number[]): void;
};

const KEY_BYTES = 32;

/** Opens `vectors.bin` in a folder: records of SHA-256 of the text and its `length` 32-bit floats, one after the other. */
export function openVectorFile(folder: string, length: number): VectorFile {
  const path = join(folder, "vectors.bin");
  const recordBytes = KEY_BYTES + length * 4;
  const known = new Map<string, Float32Array>();
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  const whole = Math.floor(bytes.length / recordBytes) * recordBytes;
  // What a kill cut short is written again.
  if (whole < bytes.length) truncateSync(path, whole);
  for (let at = 0; at < whole; at += recordBytes) {
    const vector = new Float32Array(
      bytes.buffer.slice(bytes.byteOffset + at + KEY_BYTES, bytes.byteOffset + at + recordBytes),
    );
    known.set(bytes.toString("hex", at, at + KEY_BYTES), vector);
  }
  const file = openSync(path, "a");
  return {
    get(text) {
      const vector = known.get(keyOf(text).toString("hex"));
      return vector === undefined ? null : [...vector];
    },
    put(text, vector) {
      const key = keyOf(text);
      const name = key.toString("hex");
      if (known.has(name)) return;
      const floats = Float32Array.from(vector);
      known.set(name, floats);
      writeSync(file, Buffer.concat([key, new Uint8Array(floats.buffer)]));
    },
  };
}

function keyOf(text: string): Buffer {
  return Buffer.from(new Bun.CryptoHasher("sha256").update(text).digest());
}

import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { open, stat } from "node:fs/promises";
import { MemqError, messageOf } from "../errors.ts";

/** Throws one sentence when the file is missing, unreadable or no GGUF: llama.cpp's own words for these are obscure. */
export async function checkGguf(path: string): Promise<void> {
  const start = Buffer.alloc(24);
  let read = 0;
  try {
    // Opening a pipe could wait for ever.
    if (!(await stat(path)).isFile()) throw new Error("it is not a file");
    const file = await open(path, "r");
    try {
      read = (await file.read(start, 0, start.length, 0)).bytesRead;
    } finally {
      await file.close();
    }
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    throw new MemqError("MODEL_MISSING", missing ? `There is no model file ${path}.` : `${path}: ${messageOf(error)}`, {
      hint: "Check the path, or download the model with `pull`.",
      cause: error,
    });
  }
  if (read >= 4 && start.toString("latin1", 0, 4) !== "GGUF") {
    throw new MemqError("MODEL_INVALID", `${path} is not a GGUF model.`, {
      hint: "Models are files in llama.cpp's GGUF format.",
    });
  }
  if (read < start.length) throw truncatedModel(path);
}

/** Bytes that are read of each place of a file. */
const SAMPLE = 65_536;

let lastDigest: { stamp: string; digest: string } | undefined;

/**
 * What tells a model file from another of its name: SHA-256 over its size, its first bytes (metadata) and some of its middle and its end
 * (weights), 16 hexadecimal digits. Throws what the system does. A file that was not touched is not read again.
 */
export function ggufDigest(path: string): string {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const { size, mtimeMs, ino } = fstatSync(descriptor);
    const stamp = `${path} ${size} ${mtimeMs} ${ino}`;
    if (lastDigest?.stamp === stamp) return lastDigest.digest;
    const hash = new Bun.CryptoHasher("sha256").update(`${size}\n`);
    const sample = Buffer.alloc(SAMPLE);
    for (const at of [0, Math.floor(size / 2), Math.max(0, size - SAMPLE)])
      hash.update(sample.subarray(0, readSync(descriptor, sample, 0, SAMPLE, at)));
    lastDigest = { stamp, digest: hash.digest("hex").slice(0, 16) };
    return lastDigest.digest;
  } finally {
    closeSync(descriptor);
  }
}

/** What is said of a model file that ends too early, or holds what can't be: `MODEL_INVALID`. */
export function truncatedModel(path: string, cause?: unknown): MemqError {
  return new MemqError("MODEL_INVALID", `${path} is cut off or damaged.`, {
    hint: "Remove it and download it again.",
    cause,
  });
}

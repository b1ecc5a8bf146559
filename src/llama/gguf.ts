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

export function truncatedModel(path: string, cause?: unknown): MemqError {
  return new MemqError("MODEL_INVALID", `${path} is cut off or damaged.`, {
    hint: "Remove it and download it again.",
    cause,
  });
}

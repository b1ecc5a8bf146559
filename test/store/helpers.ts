import { createHash } from "node:crypto";
import type { DocumentDraft, PassageToStore, VectorIdentity } from "../../src/store/types.ts";

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A document whose passages are its paragraphs; keys as in an agent home, or as in a qmd home. */
export function draftOf(
  collection: string,
  path: string,
  text: string,
  options: { keys?: "text" | "document"; mtimeMs?: number; tags?: string[] } = {},
): DocumentDraft {
  const hash = sha256(text);
  let pos = 0;
  let line = 1;
  const passages = text.split("\n\n").map((paragraph, seq): PassageToStore => {
    const lines = paragraph.split("\n").length;
    const textHash = sha256(paragraph);
    const passage: PassageToStore = {
      seq,
      startLine: line,
      endLine: line + lines - 1,
      pos,
      length: paragraph.length,
      text: paragraph,
      tokens: paragraph.toLowerCase().split(/\s+/).join(" "),
      nameTokens: path.toLowerCase().split(/\W+/).join(" "),
      textHash,
      vectorKey: options.keys === "document" ? `${hash}_${seq}` : `${textHash}_0`,
    };
    pos += paragraph.length + 2;
    line += lines + 1;
    return passage;
  });
  const mtimeMs = options.mtimeMs ?? 1_700_000_000_000.5;
  return {
    collection,
    path,
    title: path,
    hash,
    text,
    size: Buffer.byteLength(text),
    mtimeMs,
    birthtimeMs: mtimeMs,
    date: null,
    tags: options.tags ?? [],
    passages,
  };
}

export function identityOf(model: string, changes: Partial<VectorIdentity> = {}): VectorIdentity {
  return {
    provider: "openai",
    model,
    endpoint: "",
    dimensions: null,
    documentInputType: null,
    promptForm: "",
    cutting: "lines",
    fingerprint: sha256(model).slice(0, 6),
    ...changes,
  };
}

/** Reproducible numbers from 0 to 1. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export function randomVector(random: () => number, dimensions: number): Float32Array {
  return Float32Array.from({ length: dimensions }, () => random() + random() + random() - 1.5);
}

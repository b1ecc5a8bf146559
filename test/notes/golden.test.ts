import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cutPassages } from "../../src/notes/cut.ts";
import { passageText } from "../../src/notes/passage-text.ts";
import { sharedPath } from "../shared.ts";

type Chunk = { path: string; start_line: number; end_line: number; hash: string; text: string };
type Recall = { chunk_id: string; importance: number | null; triggers: string | null };

const golden = sharedPath("golden");
const recorded = golden === null ? [] : chunksOf(golden);

function chunksOf(folder: string): (Chunk & { id: string })[] {
  const rows: (Chunk & { id: string })[] = JSON.parse(
    readFileSync(join(folder, "openclaw-2026.9.6-keyword/chunks.json"), "utf8"),
  );
  return rows;
}

function cutFile(path: string) {
  const text = readFileSync(join(golden ?? "", "ws", path), "utf8");
  const kind = path === "MEMORY.md" || path === "USER.md" ? "entries" : "lines";
  return { text, passages: cutPassages(text, { kind, maxWeight: 1600, overlapWeight: 320 }) };
}

describe.skipIf(golden === null)("passages of the recorded workspace", () => {
  for (const path of new Set(recorded.map((chunk) => chunk.path))) {
    test(`${path} has the recorded lines and hashes`, () => {
      const { text, passages } = cutFile(path);
      const ours = passages.map((passage) => ({
        lines: `${passage.startLine}-${passage.endLine}`,
        hash: createHash("sha256")
          .update(passage.hashedText ?? passage.text)
          .digest("hex"),
      }));
      const byLine = recorded.filter((chunk) => chunk.path === path);
      const theirs = byLine.map((chunk) => ({ lines: `${chunk.start_line}-${chunk.end_line}`, hash: chunk.hash }));
      expect(ours.toSorted(byHash)).toEqual(theirs.toSorted(byHash));
      for (const { pos, length, text: run } of passages) expect(passageText(text, pos, length)).toBe(run);
    });
  }

  test("an empty note has no passages", () => {
    expect(cutFile("memory/empty.md").passages).toEqual([]);
  });

  test("entries carry the recorded importance and triggers", () => {
    const rows: Recall[] = JSON.parse(
      readFileSync(join(golden ?? "", "openclaw-2026.9.6-keyword/recall.json"), "utf8"),
    );
    const recall = new Map(rows.map((row) => [row.chunk_id, row]));
    for (const path of ["MEMORY.md", "USER.md"]) {
      const passages = cutFile(path).passages;
      for (const chunk of recorded.filter((row) => row.path === path)) {
        const passage = passages.find((candidate) => candidate.startLine === chunk.start_line);
        expect(passage?.importance ?? null).toBe(recall.get(chunk.id)?.importance ?? null);
        expect(passage?.triggers?.join("; ") ?? null).toBe(recall.get(chunk.id)?.triggers ?? null);
      }
    }
  });
});

function byHash(a: { hash: string }, b: { hash: string }): number {
  return a.hash < b.hash ? -1 : 1;
}

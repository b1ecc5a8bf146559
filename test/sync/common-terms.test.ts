import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { commonState } from "../../src/store/common-terms.ts";
import { openIndex } from "../../src/store/open.ts";
import type { Index } from "../../src/store/types.ts";
import { syncIndex } from "../../src/sync/sync.ts";
import { expectExactCounts } from "../store/common-counts.ts";
import { homeOf, tempFolder, writeNotes } from "./helpers.ts";

/** A note of some eighty passages. */
function longNote(n: number, edit = ""): string {
  return Array.from({ length: 80 }, (_, line) => `Line ${line} of note ${n} is about lantern ${line % 7}${edit}.`).join(
    "\n",
  );
}

test("a sync of a large index keeps counts of its common terms, and those that follow keep them right", async () => {
  const root = tempFolder();
  const home = homeOf(root, { cutting: { kind: "lines", maxWeight: 60, overlapWeight: 0 } });
  const notes = (from: number, to: number, edit?: string): Record<string, string> =>
    Object.fromEntries(Array.from({ length: to - from }, (_, nth) => [`${from + nth}.md`, longNote(from + nth, edit)]));
  const sync = async (force = false): Promise<void> => void (await syncIndex(home, { embed: false, force }));
  const states: ReturnType<typeof commonState>[] = [];
  const look = (): void => {
    const index: Index = openIndex(home.indexPath, { mode: "read" });
    states.push(commonState(index));
    expectExactCounts(index);
    index.close();
  };

  writeNotes(root, notes(0, 20));
  await sync();
  look();
  expect(states[0]).toBeNull();
  writeNotes(root, notes(20, 30));
  await sync();
  look();
  expect(states[1]).toMatchObject({ passages: states[1]!.built, removed: 0 });
  writeNotes(root, notes(0, 2, " and more"));
  rmSync(join(root, "5.md"));
  await sync();
  look();
  expect(states[2]).toMatchObject({ built: states[1]!.built, removed: 240 });
  await sync(true);
  look();
  expect(states[3]).toMatchObject({ passages: states[2]!.passages, removed: 0 });
});

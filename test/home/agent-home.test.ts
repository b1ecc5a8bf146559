import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { sandbox } from "./workspace.ts";

test("without any configuration file the documented defaults apply", async () => {
  const box = sandbox();
  const { home, memory } = await box.resolve();
  expect(home.workspace).toBe(box.workspace);
  expect(home.indexPath).toBe(join(box.state, "memory", "main.sqlite"));
  expect(home.collections.map((collection) => collection.name)).toEqual(["memory"]);
  expect(home.cutting).toEqual({ kind: "lines", maxWeight: 1600, overlapWeight: 320 });
  expect(home.search).toMatchObject({
    maxResults: 6,
    minScore: 0.35,
    fusion: "relative",
    vectorWeight: 0.5,
    textWeight: 0.5,
    pool: 200,
    mmr: { enabled: true, lambda: 0.7 },
    recency: { mode: "nudge", floor: 0.8, halfLifeDays: 30, undated: "evergreen" },
  });
  expect(home.embedding).toMatchObject({
    provider: "auto",
    explicit: false,
    fallback: "none",
    onFailure: "unavailable",
  });
  expect(memory).toMatchObject({ enabled: true, backend: "builtin", citations: "auto", visibility: "all" });
  expect(memory.scope).toBeUndefined();
  expect(home.issues).toEqual([]);
});

test("the other workspace gets an index of its own, by whatever path it is reached", async () => {
  const box = sandbox();
  const other = join(box.home, "other");
  mkdirSync(other);
  symlinkSync(other, join(box.home, "link"));
  symlinkSync(box.workspace, join(box.home, "same"));
  const one = await box.resolve({ workspace: other });
  expect(one.home.indexPath).toMatch(/\/memory\/main-[0-9a-f]{8}\.sqlite$/);
  expect((await box.resolve({ workspace: "link" })).home.indexPath).toBe(one.home.indexPath);
  expect((await box.resolve({ workspace: "~/same" })).home.indexPath).toBe(join(box.state, "memory", "main.sqlite"));
});

test("a missing workspace is an error that says what to do", async () => {
  const box = sandbox();
  const error = await box.resolve({ workspace: "/nowhere/at/all" }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "WORKSPACE_MISSING", hint: expect.stringContaining("--workspace") });
});

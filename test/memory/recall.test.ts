import { describe, expect, test } from "bun:test";
import { rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  calledEntries,
  phraseWords,
  recallContext,
  recalledEntries,
  type TrustedEntry,
} from "../../src/memory/recall.ts";
import { readRootEntries } from "../../src/memory/root-entries.ts";
import { temporaryFolder } from "../temporary.ts";

const entry = (text: string, startLine: number, triggers: string[], projects: string[] = []): TrustedEntry => ({
  text,
  path: "MEMORY.md",
  startLine,
  phrases: triggers.map(phraseWords),
  projects,
});
const entries = [
  entry("- Keep the gateway on loopback.", 3, ["gateway setup", "network safety"]),
  entry("- Ana prefers short answers.", 4, ["style"]),
  entry("- Atlas deploys from release branches.", 5, ["deploy"], ["atlas"]),
  entry("- 部署前先备份数据库。", 6, ["部署方案"]),
];
const recall = (message: string, options: { relevance?: Map<string, number>; projectKeys?: string[] } = {}) =>
  recalledEntries(calledEntries(entries, message, options.projectKeys ?? []), options.relevance ?? new Map(), 3).map(
    (found) => found.startLine,
  );

test("a root file that grew beyond all measure is named and not taken apart before a message is answered", async () => {
  const workspace = temporaryFolder("recall-");
  writeFileSync(join(workspace, "USER.md"), "- Ana prefers short answers. <!-- trigger: style -->\n");
  writeFileSync(join(workspace, "MEMORY.md"), "");
  truncateSync(join(workspace, "MEMORY.md"), 40 * 1024 * 1024);
  const cutting = { kind: "entries", maxWeight: 1600, overlapWeight: 0 } as const;
  const { entries: read, unread } = await readRootEntries(workspace, ["MEMORY.md", "USER.md"], cutting);
  expect(read.map(({ path }) => path)).toEqual(["USER.md"]);
  expect(unread).toEqual(["MEMORY.md was not read: it is larger than 1 MB."]);
  rmSync(workspace, { recursive: true });
});

describe("trigger recall", () => {
  test.each([
    ["please review the gateway setup", [3]],
    ["Which STYLE do you want?", [4]],
    ["gateway only", []],
    ["nothing in common", []],
    ["我们讨论一下部署方案吧", [6]],
  ])("%s", (message, lines) => {
    expect(recall(message)).toEqual(lines);
  });

  test("relevance lifts a half-met phrase, but never alone", () => {
    const relevance = new Map([
      ["MEMORY.md:3", 1],
      ["MEMORY.md:4", 1],
    ]);
    expect(recall("the gateway again", { relevance })).toEqual([]);
    expect(recall("an unrelated message", { relevance })).toEqual([]);
    expect(recall("style of the gateway setup", { relevance })).toEqual([3, 4]);
  });

  test("an entry of a project needs all its projects active", () => {
    expect(recall("deploy now")).toEqual([]);
    expect(recall("deploy now", { projectKeys: ["atlas", "other"] })).toEqual([5]);
  });

  test("the context cites each entry and stays within its size", () => {
    const long = [1, 2].map((line) => entry(`- ${"long ".repeat(200)}`, line, ["style"]));
    const found = recalledEntries(calledEntries(long, "style", []), new Map(), 3);
    const context = recallContext(found);
    expect(context).toContain("(Source: MEMORY.md#L1)");
    expect(context.length).toBeLessThanOrEqual(1800);
  });
});

import { describe, expect, test } from "bun:test";
import { recallContext, recallEntries, type TrustedEntry } from "../../src/memory/recall.ts";

const entry = (text: string, startLine: number, triggers: string[], projects: string[] = []): TrustedEntry => ({
  text,
  path: "MEMORY.md",
  startLine,
  triggers,
  projects,
});
const entries = [
  entry("- Keep the gateway on loopback.", 3, ["gateway setup", "network safety"]),
  entry("- Ana prefers short answers.", 4, ["style"]),
  entry("- Atlas deploys from release branches.", 5, ["deploy"], ["atlas"]),
  entry("- 部署前先备份数据库。", 6, ["部署方案"]),
];
const recall = (message: string, options: Partial<Parameters<typeof recallEntries>[2]> = {}) =>
  recallEntries(entries, message, { relevance: new Map(), maxEntries: 3, projectKeys: [], ...options }).map(
    (found) => found.startLine,
  );

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
    const found = recallEntries(
      [entry(`- ${"long ".repeat(200)}`, 1, ["style"]), entry(`- ${"long ".repeat(200)}`, 2, ["style"])],
      "style",
      {
        relevance: new Map(),
        maxEntries: 3,
        projectKeys: [],
      },
    );
    const context = recallContext(found);
    expect(context).toContain("(Source: MEMORY.md#L1)");
    expect(context.length).toBeLessThanOrEqual(1800);
  });
});

import { describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type AgentHome, resolveAgentHome } from "../../src/home/agent-home.ts";
import { recordFlush } from "../../src/memory/flush-check.ts";
import { readFlush } from "../../src/store/meta.ts";
import { withWriterLock } from "../../src/store/lock.ts";
import { openIndex } from "../../src/store/open.ts";
import { flushAnswer, type FlushQuestion, type FlushSettings } from "../../src/memory/flush.ts";
import { temporaryFolder } from "../temporary.ts";

const settings: FlushSettings = {
  enabled: true,
  softThresholdTokens: 4000,
  reserveTokensFloor: 20000,
  forceTranscriptBytes: 2 * 1024 * 1024,
};
const question: FlushQuestion = { contextTokens: 176_000, contextWindow: 200_000, compactionCount: 3, flushedAt: 2 };
const clock = { now: Date.parse("2026-02-10T23:30:00Z"), timeZone: "Europe/Madrid" };

describe("whether a flush is due", () => {
  test.each([
    [{}, {}, "due"],
    [{}, { contextTokens: 175_999 }, "below-threshold"],
    [{}, { contextTokens: 10, transcriptBytes: 2 * 1024 * 1024 }, "due"],
    [{}, { flushedAt: 3 }, "already-flushed"],
    [{}, { workspaceAccess: "ro" }, "read-only"],
    [{}, { workspaceAccess: "none", flushedAt: 3 }, "read-only"],
    [{ enabled: false }, { workspaceAccess: "ro" }, "disabled"],
    [{}, { contextWindow: 24_000, contextTokens: 24_000 }, "below-threshold"],
  ] as const)("%j %j: %s", (changed, asked, reason) => {
    const answer = flushAnswer({ ...settings, ...changed }, { ...question, ...asked }, clock);
    expect(answer.reason).toBe(reason);
    expect(answer.due).toBe(reason === "due");
    expect(answer.prompt !== undefined).toBe(reason === "due");
  });

  test("prompts carry the date of the user's zone, the silent answer and the safety hints", () => {
    const answer = flushAnswer({ ...settings, prompt: "Write to memory/YYYY-MM-DD.md." }, question, clock);
    expect(answer.path).toBe("memory/2026-02-11.md");
    expect(answer.prompt).toContain("Write to memory/2026-02-11.md.");
    expect(answer.prompt).toContain("NO_REPLY");
    expect(answer.prompt).toContain("append");
    expect(answer.prompt).not.toContain("YYYY-MM-DD");
    expect(answer.systemPrompt).toContain("NO_REPLY");
  });
});

function agentHome(): Promise<AgentHome> {
  const folder = temporaryFolder("flush-");
  mkdirSync(join(folder, "ws"));
  const [workspace, stateDir] = [join(folder, "ws"), join(folder, "state")];
  return resolveAgentHome({ workspace, stateDir, env: { HOME: folder }, cwd: folder, withKeys: false });
}

function withDatabase(path: string, work: (db: Database) => void): void {
  const db = new Database(path);
  work(db);
  db.close();
}

const FLUSH = { sessionKey: "Agent:Main:main", compactionCount: 4 };

test("remembering a flush while another writes keeps nobody waiting", async () => {
  const agent = await agentHome();
  const writer = openIndex(agent.home.indexPath, { mode: "write" });
  writer.db.run("BEGIN IMMEDIATE");
  const recorded = recordFlush(agent, FLUSH);
  // Were the thread held, this would never come.
  setTimeout(() => writer.db.run("COMMIT"), 60);
  await recorded;
  expect(readFlush(writer, "agent:main:main")?.compactionCount).toBe(4);
  writer.close();
});

test.each<[string, (path: string) => void]>([
  ["that is not there", (path) => rmSync(path)],
  [
    "of an earlier schema",
    (path) => withDatabase(path, (db) => db.run("UPDATE memq_meta SET value = '0' WHERE key = 'schema'")),
  ],
  ["that is damaged", (path) => writeFileSync(path, "SQLite format 3\0 and nothing else")],
])("an index %s is not made ready for a flush while a sync has the writer's lock", async (_state, spoil) => {
  const agent = await agentHome();
  const { indexPath } = agent.home;
  openIndex(indexPath, { mode: "write" }).close();
  spoil(indexPath);
  const folder = dirname(indexPath);
  const found = (): string[] =>
    readdirSync(folder)
      .filter((name) => !name.endsWith(".lock"))
      .map((name) => `${name} ${Bun.hash(readFileSync(join(folder, name)))}`);
  const before = found();
  let recorded: Promise<void> | undefined;
  await withWriterLock(indexPath, () => {
    // What it does without the lock it does at once.
    recorded = recordFlush(agent, FLUSH);
    expect(found()).toEqual(before);
  });
  await recorded;
  const index = openIndex(indexPath, { mode: "read" });
  expect(readFlush(index, "agent:main:main")?.compactionCount).toBe(4);
  index.close();
});

import { afterEach, beforeEach, describe, expect, setSystemTime, test } from "bun:test";
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { array, assert, constantFrom, property, tuple, uniqueArray } from "fast-check";
import { join } from "node:path";
import { transcriptDeltas } from "../../src/memory/deltas.ts";
import { exportSessions } from "../../src/memory/export.ts";
import { exportedName, exportedSessionId } from "../../src/memory/sessions.ts";
import { isTranscriptName, sessionIdOf } from "../../src/notes/transcript.ts";
import { readSessions } from "../../src/memory/session-list.ts";
import { seesAll, visibleSessionIds } from "../../src/memory/visibility.ts";
import { temporaryFolder } from "../temporary.ts";

let state: string;
let sessions: string;
beforeEach(() => {
  state = temporaryFolder("sessions-");
  sessions = join(state, "agents", "main", "sessions");
  mkdirSync(sessions, { recursive: true });
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

const turn = (text: string): string =>
  `${JSON.stringify({ type: "message", message: { role: "user", content: text } })}\n`;

describe("visibility of transcripts", () => {
  beforeEach(() => {
    writeFileSync(
      join(sessions, "sessions.json"),
      JSON.stringify({
        "agent:main:main": { sessionId: "a", compactionCount: 2 },
        "agent:main:subagent:1": { sessionId: "b", spawnedBy: "agent:main:main" },
        "agent:main:subagent:2": { sessionId: "c", spawnedBy: "agent:main:subagent:1" },
        "agent:main:discord:direct:u": { sessionFile: "/x/d-topic-3.jsonl" },
        broken: "not an entry",
      }),
    );
  });
  test.each([
    ["self", "Agent:Main:Main", ["a"]],
    ["tree", "agent:main:main", ["a", "b", "c"]],
    ["tree", "agent:main:subagent:1", ["b", "c"]],
    ["self", "agent:main:discord:direct:u", ["d-topic-3"]],
    ["tree", undefined, []],
    ["self", "agent:main:unknown", []],
  ] as const)("%s of %s", async (visibility, key, expected) => {
    const ids = visibleSessionIds(visibility, key, readSessions(state, "main"));
    expect([...ids].sort()).toEqual([...expected]);
  });
  test.each([
    ["all", true, true],
    ["agent", false, true],
    ["agent", true, false],
    ["tree", false, false],
    ["self", false, false],
  ] as const)("%s (another agent's session: %p) sees every transcript: %p", (visibility, isOther, expected) => {
    expect(seesAll(visibility, isOther)).toBe(expected);
  });
  test("a sessions.json that stays as it is is read once, and anew when it changes", () => {
    const known = readSessions(state, "main");
    expect(readSessions(state, "main")).not.toBe(known);
    setSystemTime(Date.now() + 60_000);
    const settled = readSessions(state, "main");
    expect(readSessions(state, "main")).toBe(settled);
    expect(settled).toEqual(known);
    writeFileSync(join(sessions, "sessions.json"), JSON.stringify({ "agent:main:main": { sessionId: "z" } }));
    expect(readSessions(state, "main").get("agent:main:main")?.sessionId).toBe("z");
    setSystemTime();
  });
  test("a missing or broken sessions.json is no error", async () => {
    writeFileSync(join(sessions, "sessions.json"), "{");
    expect(readSessions(state, "main").size).toBe(0);
    expect(readSessions(state, "nobody").size).toBe(0);
  });
});

describe("growth of a transcript", () => {
  test("is reported at the byte threshold, the line threshold, and after a rotation", async () => {
    const file = join(sessions, "a.jsonl");
    writeFileSync(file, turn("start"));
    const size = readFileSync(file).length;
    const deltas = transcriptDeltas({ deltaBytes: 1000, deltaMessages: 3 });
    expect(await deltas.grown(file, size)).toBe(false);
    appendFileSync(file, turn("one") + turn("two"));
    expect(await deltas.grown(file, size)).toBe(false);
    appendFileSync(file, turn("three"));
    expect(await deltas.grown(file, size)).toBe(true);
    expect(await deltas.grown(file, size)).toBe(false);
    appendFileSync(file, turn("x".repeat(2000)));
    expect(await deltas.grown(file, size)).toBe(true);
    writeFileSync(file, turn("new"));
    expect(await deltas.grown(file, size)).toBe(false);
    appendFileSync(file, turn("1") + turn("2"));
    expect(await deltas.grown(file, size)).toBe(true);
    expect(await deltas.grown(join(sessions, "gone.jsonl"), 0)).toBe(false);
  });

  test("is reported of one that was cut or replaced before it was looked at for the first time", async () => {
    const file = join(sessions, "a.jsonl");
    writeFileSync(file, turn("new").repeat(3));
    const deltas = transcriptDeltas({ deltaBytes: 1_000_000, deltaMessages: 3 });
    expect(await deltas.grown(file, 100_000)).toBe(true);
    expect(await deltas.grown(file, 100_000)).toBe(false);
  });

  test("a transcript that was indexed and is gone was nothing to sync for", async () => {
    const deltas = transcriptDeltas({ deltaBytes: 1_000_000, deltaMessages: 3 });
    expect(await deltas.grown(join(sessions, "gone.jsonl"), 500)).toBe(true);
  });

  test("is counted whole when it is told of faster than it is looked at", async () => {
    const file = join(sessions, "a.jsonl");
    writeFileSync(file, turn("start"));
    const size = readFileSync(file).length;
    const deltas = transcriptDeltas({ deltaBytes: 1_000_000, deltaMessages: 40 });
    const told: Promise<boolean>[] = [];
    for (let n = 0; n < 40; n++) {
      appendFileSync(file, turn(`message ${n}`));
      told.push(deltas.grown(file, size));
      if (n % 3 === 0) await Bun.sleep(0);
    }
    expect((await Promise.all(told)).filter(Boolean)).toHaveLength(1);
  });
});

describe("export to Markdown", () => {
  test("writes what changed, keeps archives apart, removes what is gone or too old", async () => {
    const exportDir = join(state, "export");
    const now = Date.now();
    writeFileSync(join(sessions, "a.jsonl"), turn("hello there"));
    writeFileSync(join(sessions, "a.jsonl.reset.2026-01-01T10"), turn("earlier"));
    writeFileSync(join(sessions, "a.trajectory.jsonl"), turn("noise"));
    writeFileSync(join(sessions, "empty.jsonl"), "");
    expect(await exportSessions({ sessionsDir: sessions, exportDir, now })).toMatchObject({ written: 3, removed: 0 });
    expect(readdirSync(exportDir).sort()).toEqual(["a-reset-2026-01-01T10.md", "a.md", "empty.md"]);
    expect(readFileSync(join(exportDir, "a.md"), "utf8")).toBe("# Session a\n\nUser: hello there\n");
    expect(readFileSync(join(exportDir, "empty.md"), "utf8")).toBe("# Session empty\n\n(empty)\n");
    expect(await exportSessions({ sessionsDir: sessions, exportDir, now })).toMatchObject({ written: 0, removed: 0 });
    rmSync(join(sessions, "empty.jsonl"));
    utimesSync(join(sessions, "a.jsonl.reset.2026-01-01T10"), now / 1000 - 40 * 86_400, now / 1000 - 40 * 86_400);
    expect(await exportSessions({ sessionsDir: sessions, exportDir, retentionDays: 30, now })).toMatchObject({
      written: 0,
      removed: 2,
    });
    expect(readdirSync(exportDir)).toEqual(["a.md"]);
  });

  test("two sessions never share a note: a colon stays, and a session called as an archive is exported apart", async () => {
    const exportDir = join(state, "export");
    const archive = "a-reset-2026-01-01T10";
    const live = ["a:b", "a-b", "a", archive, `${archive}-session`, "b-reset-5"];
    for (const id of live) writeFileSync(join(sessions, `${id}.jsonl`), turn(`of ${id}`));
    writeFileSync(join(sessions, "a.jsonl.reset.2026-01-01T10"), turn("earlier"));
    writeFileSync(join(sessions, "b.jsonl.reset.5"), turn("oddly archived"));
    // What was left when names had a dash for a colon, newer than the transcript it does not hold.
    mkdirSync(exportDir);
    writeFileSync(join(exportDir, "a-b.md"), "# Session a:b\n\nUser: of a:b\n");
    const at = Date.now() / 1000 + 60;
    utimesSync(join(exportDir, "a-b.md"), at, at);
    await exportSessions({ sessionsDir: sessions, exportDir, now: Date.now() });
    const notes = new Map(readdirSync(exportDir).map((name) => [name, readFileSync(join(exportDir, name), "utf8")]));
    const expected: [string, string, string][] = [
      ["a:b.md", "a:b", "of a:b"],
      ["a-b.md", "a-b", "of a-b"],
      ["a.md", "a", "of a"],
      [`${archive}.md`, "a", "earlier"],
      [`${archive}-session.md`, archive, `of ${archive}`],
      [`${archive}-session-session.md`, `${archive}-session`, `of ${archive}-session`],
      ["b-reset-5.md", "b-reset-5", "of b-reset-5"],
      ["b.jsonl.reset.5.md", "b", "oddly archived"],
    ];
    expect(notes).toEqual(new Map(expected.map(([name, id, said]) => [name, `# Session ${id}\n\nUser: ${said}\n`])));
    for (const [name, id] of expected) expect(exportedSessionId(name.slice(0, -3))).toBe(id);
    for (const name of readdirSync(sessions)) rmSync(join(sessions, name));
    await exportSessions({ sessionsDir: sessions, exportDir, now: Date.now() });
    expect(readdirSync(exportDir)).toEqual([]);
  });

  test("no two transcripts have one exported name, and each name tells its session", () => {
    const part = constantFrom("a", "-reset-", "-deleted-", "2026-01-01T10", ":", "-", "-session", ".");
    const name = tuple(
      array(part, { minLength: 1, maxLength: 4 }),
      constantFrom("", ".reset.2026-01-01T1", ".deleted.5"),
    )
      .map(([parts, archive]) => `${parts.join("")}.jsonl${archive}`)
      .filter(isTranscriptName);
    assert(
      property(uniqueArray(name, { maxLength: 40 }), (names) => {
        expect(new Set(names.map(exportedName)).size).toBe(names.length);
        for (const one of names) expect(exportedSessionId(exportedName(one))).toBe(sessionIdOf(one));
      }),
      { numRuns: 300 },
    );
  });

  test("takes a long transcript whole, and is as old as it", async () => {
    const exportDir = join(state, "export");
    const texts = Array.from({ length: 3000 }, (_, n) => `Turn ${n} ${"of many words ".repeat(12)}`.trim());
    const file = join(sessions, "long.jsonl");
    writeFileSync(file, texts.map(turn).join(""));
    const day = new Date("2026-02-10T12:00:00.123Z");
    utimesSync(file, day, day);
    await exportSessions({ sessionsDir: sessions, exportDir, now: Date.now() });
    const exported = join(exportDir, "long.md");
    const lines = texts.map((text) => `User: ${text}\n`).join("");
    expect(readFileSync(exported, "utf8")).toBe(`# Session long\n\n${lines}`);
    expect(statSync(exported).mtime).toEqual(day);
  });

  test("notes of somebody's in that folder stay, and an unreadable folder of transcripts is not an empty one", async () => {
    const exportDir = join(state, "export");
    writeFileSync(join(sessions, "a.jsonl"), turn("hello there"));
    await exportSessions({ sessionsDir: sessions, exportDir, now: Date.now() });
    writeFileSync(join(exportDir, "mine.md"), "# My own note\n");
    const removed = { written: 0, removed: 0 };
    expect(await exportSessions({ sessionsDir: sessions, exportDir, now: Date.now() })).toMatchObject(removed);
    const noFolder = join(sessions, "a.jsonl");
    expect(exportSessions({ sessionsDir: noFolder, exportDir, now: Date.now() })).rejects.toThrow("ENOTDIR");
    expect(readdirSync(exportDir).toSorted()).toEqual(["a.md", "mine.md"]);
  });

  test("what can't be exported keeps nothing else from it, and is said", async () => {
    const exportDir = join(state, "export");
    const longest = "x".repeat(244);
    for (const name of ["0", "ü中 ?#%", longest, "z"]) writeFileSync(join(sessions, `${name}.jsonl`), turn("hello"));
    mkdirSync(join(sessions, "folder.jsonl"));
    mkdirSync(join(exportDir, "0.md"), { recursive: true });
    const { written, problems } = await exportSessions({ sessionsDir: sessions, exportDir, now: Date.now() });
    expect({ written, problems }).toEqual({
      written: 3,
      problems: [expect.stringMatching(/^The transcript .*0\.jsonl was not exported: .*0\.md is not a note/)],
    });
    expect(readdirSync(exportDir).toSorted()).toEqual(["0.md", `${longest}.md`, "z.md", "ü中 ?#%.md"]);
  });

  test("somebody's note with the name or the heading of an exported one stays as it is", async () => {
    const exportDir = join(state, "export");
    mkdirSync(exportDir);
    writeFileSync(join(sessions, "a.jsonl"), turn("hello there"));
    writeFileSync(join(exportDir, "a.md"), "# What I think of a\n");
    writeFileSync(join(exportDir, "plan.md"), "# Session plan for spring\n");
    utimesSync(join(exportDir, "a.md"), 1_000_000_000, 1_000_000_000);
    const { written, removed, problems } = await exportSessions({ sessionsDir: sessions, exportDir, now: Date.now() });
    expect([written, removed, problems.length]).toEqual([0, 0, 1]);
    expect(readFileSync(join(exportDir, "a.md"), "utf8")).toBe("# What I think of a\n");
    expect(readdirSync(exportDir).toSorted()).toEqual(["a.md", "plan.md"]);
  });

  test("what a process left unfinished goes when it is old", async () => {
    const exportDir = join(state, "export");
    mkdirSync(exportDir);
    const left = [".memq-export-1", ".memq-export-0b5c9a52-9d4e-4c1f-8a57-3f2f6f1f7c11"];
    for (const name of [...left, ".memq-exporter"]) writeFileSync(join(exportDir, name), "# Session a\n");
    await exportSessions({ sessionsDir: sessions, exportDir, now: Date.now() });
    expect(readdirSync(exportDir)).toHaveLength(3);
    await exportSessions({ sessionsDir: sessions, exportDir, now: Date.now() + 7_200_000 });
    expect(readdirSync(exportDir)).toEqual([".memq-exporter"]);
  });
});

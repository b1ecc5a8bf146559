import { beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { array, assert, constantFrom, property, string } from "fast-check";
import { resolveAgentHome } from "../../src/home/agent-home.ts";
import type { Home } from "../../src/home/types.ts";
import { MAX_NOTE_BYTES } from "../../src/notes/decode.ts";
import { readNote } from "../../src/memory/get.ts";
import { temporaryFolder } from "../temporary.ts";
import { workMeter } from "../work.ts";

const SECRET = "the secret outside";
let root = "";
let home: Home;

const get = (path: string, window: { from?: number; lines?: number } = {}, maxChars = 12_000) =>
  readNote({ home, env: {}, documentOf: () => ({ kind: "missing" }) }, { path, ...window }, maxChars);

beforeAll(async () => {
  root = temporaryFolder("get-");
  const [ws, extra, outside] = [join(root, "ws"), join(root, "team-docs"), join(root, "outside")];
  for (const folder of [ws, extra, outside, join(ws, "memory"), join(ws, "notes"), join(ws, "memory/folder.md")])
    mkdirSync(folder);
  const write = (path: string, text: string): void => writeFileSync(join(root, path), text);
  write("ws/MEMORY.md", "# Long\n\n- one\n");
  write("ws/DREAMS.md", "dreams\n");
  write("ws/memory/crlf.md", "a\r\nb\r\n");
  write("ws/memory/bom.md", "\uFEFFmarked\n");
  write("ws/memory/plain.txt", "text\n");
  write("ws/memory/long.md", `${"x".repeat(50)}\n${"é🦔".repeat(30)}\nend\n`);
  writeFileSync(join(root, "ws/memory/binary.md"), new Uint8Array([1, 0, 2, 0, 0, 7]));
  write("ws/notes/private.md", SECRET);
  write("ws/openclaw.json", SECRET);
  write("team-docs/onboarding.md", "# Onboarding\n");
  write("team-docs/single.md", "single\n");
  write("outside/secret.md", SECRET);
  symlinkSync(join(outside, "secret.md"), join(ws, "memory/link.md"));
  symlinkSync(outside, join(ws, "memory/out"));
  symlinkSync(join(ws, "MEMORY.md"), join(ws, "memory/inner.md"));
  symlinkSync(outside, join(extra, "out"));
  const config = { agents: { defaults: { memorySearch: { extraPaths: ["../team-docs"] } } } };
  ({ home } = await resolveAgentHome({ workspace: ws, stateDir: join(root, "state"), config, env: {}, cwd: root }));
});

describe("what is read", () => {
  test.each([
    ["MEMORY.md", "MEMORY.md", "# Long\n\n- one\n"],
    ["  ./MEMORY.md ", "MEMORY.md", "# Long\n\n- one\n"],
    ["memory/../MEMORY.md", "MEMORY.md", "# Long\n\n- one\n"],
    ["DREAMS.md", "DREAMS.md", "dreams\n"],
    ["memory/bom.md", "memory/bom.md", "marked\n"],
    ["memory/missing.md", "memory/missing.md", ""],
    ["memory/no/such/folder.md", "memory/no/such/folder.md", ""],
    ["../team-docs/onboarding.md", "../team-docs/onboarding.md", "# Onboarding\n"],
  ])("%s", (asked, path, text) => {
    expect(get(asked)).toEqual({ text, path });
  });

  test("absolute paths inside", () => {
    expect(get(join(root, "ws/MEMORY.md"))).toEqual({ text: "# Long\n\n- one\n", path: "MEMORY.md" });
    expect(get(join(root, "team-docs/single.md"))).toEqual({ text: "single\n", path: "../team-docs/single.md" });
  });
});

describe("what is refused", () => {
  test.each([
    "",
    "   ",
    "memory",
    "memory/",
    "memory/folder.md",
    "openclaw.json",
    "notes/private.md",
    "memory/plain.txt",
    "memory/../notes/private.md",
    "../outside/secret.md",
    "../team-docs/../outside/secret.md",
    "/etc/passwd",
    "memory/link.md",
    "memory/inner.md",
    "memory/out/secret.md",
    "../team-docs/out/secret.md",
    "MEMORY.md\0.md",
    "memory/\0/../../outside/secret.md",
  ])("%j", (path) => {
    expect(get(path)).toEqual({
      text: "",
      path: path.trim(),
      disabled: true,
      error: expect.any(String),
      code: "MEMORY_PATH_NOT_ALLOWED",
    });
  });

  test("a file larger than any note is not read into memory", () => {
    const path = join(root, "ws/memory/huge.md");
    writeFileSync(path, "huge");
    truncateSync(path, MAX_NOTE_BYTES + 1);
    expect(get("memory/huge.md")).toMatchObject({
      code: "MEMORY_READ_FAILED",
      error: '"memory/huge.md" is larger than 32 MB.',
    });
    rmSync(path);
  });

  test("a file that is no text says so", () => {
    expect(get("memory/binary.md")).toMatchObject({ text: "", disabled: true, code: "MEMORY_READ_FAILED" });
  });

  test("no path made of these parts leads out", () => {
    const part = constantFrom(
      "..",
      ".",
      "memory",
      "out",
      "outside",
      "secret.md",
      "link.md",
      "notes",
      "private.md",
      "team-docs",
      "",
      "ws",
      "\0",
    );
    assert(
      property(
        array(part, { maxLength: 7 }),
        constantFrom("", "/", `${root}/`),
        string({ maxLength: 3 }),
        (parts, before, after) => {
          expect(get(before + parts.join("/") + after).text).not.toContain(SECRET);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe("windows", () => {
  test.each([
    [
      { from: 1, lines: 1 },
      { text: "# Long", from: 1, lines: 1, truncated: true, nextFrom: 2 },
    ],
    [{ from: 2 }, { text: "\n- one", from: 2, lines: 2 }],
    [{ lines: 3 }, { text: "# Long\n\n- one", from: 1, lines: 3 }],
    [
      { from: 3, lines: 9 },
      { text: "- one", from: 3, lines: 1 },
    ],
    [{ from: 4 }, { text: "", from: 4, lines: 0 }],
    [
      { from: 99, lines: 5 },
      { text: "", from: 99, lines: 0 },
    ],
  ])("%j", (window, answer) => {
    expect(get("MEMORY.md", window)).toEqual({ path: "MEMORY.md", ...answer } as ReturnType<typeof get>);
  });

  test("what a search cites or prints is read as it stands, with its lines", () => {
    const lines = (from: number, count: number) => expect.objectContaining({ path: "MEMORY.md", from, lines: count });
    expect(get("MEMORY.md#L1")).toEqual(lines(1, 1));
    expect(get("MEMORY.md#L2-L3")).toEqual(lines(2, 2));
    expect(get("MEMORY.md:1-2")).toEqual(lines(1, 2));
    expect(get("MEMORY.md#L2-L3", { from: 1 })).toEqual(lines(1, 3));
    expect(get("MEMORY.md#L2", { lines: 2 })).toEqual(lines(2, 2));
    expect(get("MEMORY.md#L0")).toMatchObject({ code: "MEMORY_PATH_NOT_ALLOWED" });
    expect(get("memory/none.md#L3")).toEqual({ text: "", path: "memory/none.md" });
  });

  test("a name longer than any path is refused without being looked for", () => {
    const spent = workMeter();
    for (const name of ["a/".repeat(100_000), "../".repeat(60_000), "%2e%2e/".repeat(50_000), "memory/".repeat(50_000)])
      expect(get(`${name}x.md`)).toMatchObject({ disabled: true, code: "MEMORY_PATH_NOT_ALLOWED" });
    expect(spent()).toBeLessThan(2000);
  });

  test("lines end with or without a carriage return", () => {
    expect(get("memory/crlf.md", { from: 1, lines: 2 })).toEqual({
      path: "memory/crlf.md",
      text: "a\nb",
      from: 1,
      lines: 2,
    });
  });

  test("a text over the limit is cut at a line, and a line over the limit inside no character", () => {
    expect(get("memory/long.md", {}, 60)).toMatchObject({
      text: "x".repeat(50),
      lines: 1,
      truncated: true,
      nextFrom: 2,
    });
    const cut = get("memory/long.md", { from: 2 }, 8);
    expect(cut).toMatchObject({ text: "é🦔é🦔é", from: 2, lines: 1, truncated: true, nextFrom: 3 });
  });
});

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { MAX_NOTE_BYTES } from "../../src/notes/decode.ts";
import { appendToMemory } from "../../src/memory/append.ts";
import { sessionContext } from "../../src/memory/context.ts";
import { childEnv, memqCommand } from "../cli/program.ts";
import { temporaryFolder, temporaryRoot } from "../temporary.ts";
import { workMeter } from "../work.ts";

let workspace: string;
beforeEach(() => {
  workspace = temporaryFolder("append-");
});
afterEach(() => rmSync(workspace, { recursive: true, force: true }));

const now = Date.parse("2026-02-10T12:00:00Z");
const append = (text: string, more: Partial<Parameters<typeof appendToMemory>[0]> = {}) =>
  appendToMemory({
    workspace,
    text,
    target: "daily",
    timeZone: "UTC",
    now,
    lock: join(workspace, "../append"),
    ...more,
  });

describe("appending", () => {
  test("a new daily note begins with its date", async () => {
    expect(await append("- first")).toEqual({ path: "memory/2026-02-10.md", startLine: 3, endLine: 3 });
    expect(await append("- second\n- third\n")).toEqual({ path: "memory/2026-02-10.md", startLine: 4, endLine: 5 });
    expect(readFileSync(join(workspace, "memory/2026-02-10.md"), "utf8")).toBe(
      "# 2026-02-10\n\n- first\n- second\n- third\n",
    );
  });

  test("a note without a final newline keeps its last line to itself", async () => {
    writeFileSync(join(workspace, "MEMORY.md"), "- kept\r\n- last");
    expect(await append("- new", { target: "long-term" })).toEqual({ path: "MEMORY.md", startLine: 3, endLine: 3 });
    expect(readFileSync(join(workspace, "MEMORY.md"), "utf8")).toBe("- kept\r\n- last\n- new\n");
  });

  test("an impossible date and an empty text are refused and write nothing", async () => {
    expect(append("x", { date: "2026-02-30" })).rejects.toThrow("is not a date");
    expect(append(" \n")).rejects.toThrow("no text");
    expect(existsSync(join(workspace, "memory"))).toBe(false);
  });

  test("a date with MEMORY.md is refused, not left out without a word", async () => {
    expect(append("x", { target: "long-term", date: "2026-02-10" })).rejects.toThrow("MEMORY.md has none");
    expect(existsSync(join(workspace, "MEMORY.md"))).toBe(false);
  });

  test("a hundred thousand line ends before the last word are read in one pass", async () => {
    const spent = workMeter();
    expect(await append(`${"\n".repeat(100_000)}x\n\n`)).toMatchObject({ startLine: 3, endLine: 100_003 });
    expect(spent()).toBeLessThan(2000);
  });

  test("a NUL character, which would hide the whole note from the index, is refused", async () => {
    expect(append("a\0b")).rejects.toThrow("NUL");
    expect(existsSync(join(workspace, "memory"))).toBe(false);
  });

  test("a note in another encoding stays as it is", async () => {
    const utf16 = Buffer.from("\ufeff# Notes\n", "utf16le");
    const western = Buffer.from("# Año: reunión de facturación, mañana por la tarde\n", "latin1");
    writeFileSync(join(workspace, "MEMORY.md"), utf16);
    expect(append("new", { target: "long-term" })).rejects.toThrow("utf-16le");
    expect(readFileSync(join(workspace, "MEMORY.md"))).toEqual(utf16);
    writeFileSync(join(workspace, "MEMORY.md"), western);
    expect(append("más", { target: "long-term" })).rejects.toThrow("windows-1252");
    await append("plain", { target: "long-term" });
    expect(readFileSync(join(workspace, "MEMORY.md"))).toEqual(Buffer.concat([western, Buffer.from("plain\n")]));
  });

  test("an append took a note over the size that is indexed, and so out of memory: it is refused", async () => {
    const note = join(workspace, "MEMORY.md");
    const state = temporaryFolder("state-");
    const appended = (text: string) =>
      Bun.spawnSync(memqCommand("memory", "append", text, "--target", "long-term", "--workspace", workspace), {
        env: childEnv({ OPENCLAW_STATE_DIR: state }),
      });
    writeFileSync(note, `${"x".repeat(79)}\n`.repeat((MAX_NOTE_BYTES - 80) / 80));
    const before = statSync(note).size;
    const { exitCode, stderr } = appended("y".repeat(MAX_NOTE_BYTES - before));
    expect([exitCode, stderr.toString()]).toEqual([1, expect.stringContaining("would be larger than 32 MB")]);
    expect(statSync(note).size).toBe(before);
    expect(appended("y".repeat(MAX_NOTE_BYTES - before - 1)).exitCode).toBe(0);
    expect(statSync(note).size).toBe(MAX_NOTE_BYTES);
  });

  test("a text that finds no room is not half written and not reported as written", async () => {
    const limited = (text: string) =>
      Bun.spawnSync(
        ["sh", "-c", 'ulimit -f 8; trap "" XFSZ; exec "$@"', "sh", ...memqCommand("memory", "append", text)],
        {
          env: childEnv({ OPENCLAW_STATE_DIR: join(workspace, "state") }),
          cwd: workspace,
        },
      );
    mkdirSync(join(workspace, "state/workspace"), { recursive: true });
    const note = (): string => {
      const folder = join(workspace, "state/workspace/memory");
      return readFileSync(join(folder, readdirSync(folder)[0] ?? ""), "utf8");
    };
    expect(limited("first").exitCode).toBe(0);
    const before = note();
    const { exitCode, stdout, stderr } = limited("x".repeat(9000));
    expect([exitCode, stdout.toString(), note()]).toEqual([1, "", before]);
    expect(stderr.toString()).toContain("could not be written");
  });

  describe("with a state folder that is read-only", () => {
    const notes = (): string => join(workspace, "ws");
    const state = (): string => join(workspace, "state");
    /** As somebody whom permissions bind: root is none. */
    const bound = process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--clear-groups"] : [];
    const appending = (how: string[], text: string) =>
      Bun.spawn([...how, ...memqCommand("memory", "append", text, "--date", "2026-02-10", "--workspace", notes())], {
        env: childEnv({ OPENCLAW_STATE_DIR: state(), HOME: notes() }),
        cwd: notes(),
        stdout: "pipe",
        stderr: "pipe",
      });
    const outcome = async (child: ReturnType<typeof appending>): Promise<[number, string]> => [
      await child.exited,
      (await new Response(child.stdout).text()) + (await new Response(child.stderr).text()),
    ];
    beforeEach(() => {
      for (const folder of [notes(), join(notes(), "memory"), state(), join(state(), "memory")]) mkdirSync(folder);
      if (bound.length > 0) for (const folder of [notes(), join(notes(), "memory")]) chownSync(folder, 65534, 65534);
      for (const folder of [join(state(), "memory"), state()]) chmodSync(folder, 0o555);
      for (const folder of [temporaryRoot, workspace]) chmodSync(folder, 0o755);
    });
    afterEach(() => {
      for (const folder of [state(), join(state(), "memory"), join(notes(), "memory")]) chmodSync(folder, 0o755);
    });

    test.skipIf(bound.length > 0 && Bun.which("setpriv") === null)(
      "memory append failed, since its lock lay there: processes that append at once lose nothing and leave nothing",
      async () => {
        const texts = ["one", "two", "three", "four"];
        const outcomes = await Promise.all(texts.map((text) => outcome(appending(bound, `- ${text}`))));
        const written = readFileSync(join(notes(), "memory/2026-02-10.md"), "utf8").split("\n");
        expect(written.slice(0, 2)).toEqual(["# 2026-02-10", ""]);
        for (const [at, text] of texts.entries()) {
          const line = written.indexOf(`- ${text}`) + 1;
          expect(outcomes[at]).toEqual([0, `Appended to memory/2026-02-10.md:${line}\n`]);
        }
        expect(readdirSync(join(notes(), "memory"))).toEqual(["2026-02-10.md"]);
      },
      20_000,
    );

    test.skipIf(bound.length > 0 && Bun.which("setpriv") === null)(
      "memory append failed where the state folder may not even be read",
      async () => {
        chmodSync(join(state(), "memory"), 0);
        const appended = [0, expect.stringMatching(/^Appended to memory\/2026-02-10.md:3\n/)];
        expect(await outcome(appending(bound, "- first"))).toMatchObject(appended);
        expect(readdirSync(join(notes(), "memory"))).toEqual(["2026-02-10.md"]);
      },
      20_000,
    );

    test.skipIf(bound.length > 0 && Bun.which("setpriv") === null)(
      "an append waits in the state folder where the note's folder takes no file",
      async () => {
        for (const folder of [state(), join(state(), "memory")]) chmodSync(folder, 0o777);
        expect((await outcome(appending(bound, "- first")))[0]).toBe(0);
        chmodSync(join(notes(), "memory"), 0o555);
        const texts = ["- a", "- b", "- c", "- d"];
        const outcomes = await Promise.all(texts.map((text) => outcome(appending(bound, text))));
        const written = readFileSync(join(notes(), "memory/2026-02-10.md"), "utf8").split("\n");
        for (const [at, text] of texts.entries()) {
          expect(outcomes[at]).toEqual([0, `Appended to memory/2026-02-10.md:${written.indexOf(text) + 1}\n`]);
        }
        expect(readdirSync(join(state(), "memory"))).toEqual([]);
      },
      20_000,
    );
  });

  test("two state folders with one workspace gave a daily note two headings and told wrong lines", async () => {
    const texts = Array.from({ length: 8 }, (_, at) => `- text ${at}`);
    const outcomes = await Promise.all(
      texts.map(async (text, at) => {
        const args = ["memory", "append", text, "--date", "2026-02-10", "--workspace", workspace];
        const env = childEnv({ OPENCLAW_STATE_DIR: temporaryFolder(`state-${at}-`) });
        const child = Bun.spawn(memqCommand(...args), { env, cwd: workspace, stdout: "pipe" });
        return new Response(child.stdout).text();
      }),
    );
    const written = readFileSync(join(workspace, "memory/2026-02-10.md"), "utf8").split("\n");
    expect(written.filter((line) => line.startsWith("#"))).toHaveLength(1);
    expect(outcomes).toEqual(texts.map((text) => `Appended to memory/2026-02-10.md:${written.indexOf(text) + 1}\n`));
    expect(readdirSync(join(workspace, "memory"))).toEqual(["2026-02-10.md"]);
  });

  test("a workspace that is gone is not made anew", async () => {
    rmSync(workspace, { recursive: true });
    expect(append("x")).rejects.toThrow("does not exist any more");
    expect(existsSync(workspace)).toBe(false);
  });

  test("never writes through a symbolic link, of the file or of its folder", async () => {
    const outside = temporaryFolder("outside-");
    writeFileSync(join(outside, "x.md"), "untouched");
    symlinkSync(join(outside, "x.md"), join(workspace, "MEMORY.md"));
    expect(append("leak", { target: "long-term" })).rejects.toThrow("symbolic link");
    symlinkSync(outside, join(workspace, "memory"));
    expect(append("leak")).rejects.toThrow("symbolic link");
    expect(readFileSync(join(outside, "x.md"), "utf8")).toBe("untouched");
    expect(existsSync(join(outside, "2026-02-10.md"))).toBe(false);
    rmSync(outside, { recursive: true });
  });
});

describe("session context", () => {
  beforeEach(() => {
    mkdirSync(join(workspace, "memory"));
    writeFileSync(join(workspace, "MEMORY.md"), "long-term");
    writeFileSync(join(workspace, "USER.md"), "user");
    writeFileSync(join(workspace, "memory/2026-02-10.md"), "today");
    writeFileSync(join(workspace, "memory/2026-02-09.md"), "yesterday");
    writeFileSync(join(workspace, "memory/2026-02-08.md"), "older");
  });
  const paths = async (sessionKey?: string, chatType?: string): Promise<string[]> =>
    (await sessionContext({ workspace, timeZone: "UTC", now, sessionKey, chatType })).files.map((file) => file.path);

  test("the main private session reads long-term memory, today and yesterday", async () => {
    expect(await paths()).toEqual(["MEMORY.md", "USER.md", "memory/2026-02-10.md", "memory/2026-02-09.md"]);
  });

  test("long-term memory never reaches a group, a channel or another person's chat", async () => {
    for (const key of ["agent:main:discord:channel:1", "agent:main:telegram:group:2", "agent:main:slack:direct:u"]) {
      expect(await paths(key)).toEqual(["memory/2026-02-10.md", "memory/2026-02-09.md"]);
    }
    expect(await paths("agent:main:main", "group")).toEqual(["memory/2026-02-10.md", "memory/2026-02-09.md"]);
  });

  test("a folder that is a link is not read through", async () => {
    const outside = temporaryFolder("outside-");
    writeFileSync(join(outside, "2026-02-10.md"), "secret");
    rmSync(join(workspace, "memory"), { recursive: true });
    symlinkSync(outside, join(workspace, "memory"));
    const { files, warning } = await sessionContext({ workspace, timeZone: "UTC", now });
    expect(files.map(({ path }) => path)).toEqual(["MEMORY.md", "USER.md"]);
    expect(warning).toContain("memory/2026-02-10.md was not read: it is not a regular file inside the workspace.");
    rmSync(outside, { recursive: true });
  });

  test("a file that is there and may not be read is named, one that is missing is not", async () => {
    rmSync(join(workspace, "USER.md"));
    mkdirSync(join(workspace, "USER.md"));
    rmSync(join(workspace, "memory/2026-02-09.md"));
    writeFileSync(join(workspace, "memory/2026-02-10.md"), Uint8Array.of(0, 1, 2, 0, 255));
    const { files, warning } = await sessionContext({ workspace, timeZone: "UTC", now });
    expect(files.map(({ path }) => path)).toEqual(["MEMORY.md"]);
    expect(warning?.match(/\S+ was not read/g)).toEqual(["USER.md was not read", "memory/2026-02-10.md was not read"]);
  });

  test("a long file is cut at a character border and says so", async () => {
    writeFileSync(join(workspace, "MEMORY.md"), "x".repeat(19_999) + "😀".repeat(10));
    const { files } = await sessionContext({ workspace, timeZone: "UTC", now });
    const [file] = files;
    expect(file).toMatchObject({ path: "MEMORY.md", truncated: true });
    expect(file?.text.isWellFormed()).toBe(true);
  });
});

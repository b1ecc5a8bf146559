import { describe, expect, test } from "bun:test";
import { assert, array, constantFrom, oneof, property, string } from "fast-check";
import { MemqError } from "../../src/errors.ts";
import { MEMQ_OPTIONS, optionsOf, QMD_OPTIONS } from "../../src/cli/options.ts";
import type { Invocation } from "../../src/cli/parse.ts";
import { flag, number, readArgv, value, values } from "../../src/cli/parse.ts";
import { COMMANDS } from "../../src/cli/table.ts";

function run(...argv: string[]): Invocation {
  const request = readArgv(argv, "memq");
  if (request.kind !== "run") throw new Error(`expected a command, got ${request.kind}`);
  return request.invocation;
}

function failure(...argv: string[]): MemqError {
  try {
    readArgv(argv, "memq");
  } catch (error) {
    if (error instanceof MemqError) return error;
    throw error;
  }
  throw new Error("expected a usage error");
}

describe("argv", () => {
  test("options stand before, between and after words", () => {
    const search = run("memory", "--json", "search", "what", "--max-results", "3", "time", "--tag=a", "--tag", "b");
    expect(search.command.path).toEqual(["memory", "search"]);
    expect(search.words).toEqual(["what", "time"]);
    expect(flag(search, "json")).toBe(true);
    expect(number(search, "max-results", { min: 1, max: 200, whole: true })).toBe(3);
    expect(values(search, "tag")).toEqual(["a", "b"]);
  });

  test("a raw query may begin with a dash when it holds a blank", () => {
    expect(run("memory", "search", "-what is --json for").words).toEqual(["-what is --json for"]);
  });

  test("words that are not shaped like options are words", () => {
    expect(run("memory", "search", "-5", "->", "-", "--", "--json").words).toEqual(["-5", "->", "-", "--json"]);
    expect(run("memory", "search", "-¿qué").words).toEqual(["-¿qué"]);
  });

  test("a quoted value with a blank stays with its option", () => {
    const search = run("memory", "search", "x", "--workspace=/a b/c", "--config", "d e");
    expect(value(search, "workspace")).toBe("/a b/c");
    expect(value(search, "config")).toBe("d e");
    expect(search.words).toEqual(["x"]);
  });

  test("a negative number is a value", () => {
    expect(value(run("memory", "search", "x", "--min-score", "-1"), "min-score")).toBe("-1");
  });

  test("an option means what its surface says", () => {
    const status = run("memory", "status", "--index", "--json");
    expect(flag(status, "index")).toBe(true);
    expect(status.words).toEqual([]);
  });

  test.each([
    [["memory", "search", "x", "--jsn"], "unknown option '--jsn'", "Did you mean '--json'?"],
    [["memory", "search", "x", "--jsn=1"], "unknown option '--jsn'", "Did you mean '--json'?"],
    [["memory", "search", "-alpha"], "unknown option '-alpha'", "memq memory search -- -alpha"],
    [["memory", "get", "x", "--force"], "unknown option '--force'", "--"],
    [["memory", "get", "a.md", "b.md"], "unexpected argument 'b.md'", "Usage: memory get PATH"],
    [["memory", "search", "x", "--json=false"], "--json takes no value", ""],
    [["memory", "get", "x", "--from"], "--from needs a value: --from N", ""],
    [["memory", "get", "x", "--from", "--lines", "3"], "--from needs a value: --from N", ""],
    [["memory", "serch", "x"], "unknown command 'memory serch'", "Did you mean 'memory search'?"],
    [["--bogus"], "unknown option '--bogus'", ""],
  ])("%j is a usage error", (argv, message, hint) => {
    const error = failure(...argv);
    expect(error.message).toBe(message);
    expect(error.hint ?? "").toContain(hint);
    expect(error.exitCode).toBe(2);
  });

  test("an unknown command is qmd's sentence and exit code", () => {
    const error = failure("frobnicate", "--whatever");
    expect([error.message, error.hint, error.exitCode]).toEqual([
      "Unknown command: frobnicate",
      "Run 'memq --help' for usage.\nIf memq still behaves unexpectedly, run 'memq doctor' for diagnostics.",
      1,
    ]);
  });

  test("help and version win wherever they stand", () => {
    expect(readArgv(["memory", "search", "--bogus", "--help"], "memq")).toMatchObject({ kind: "help", asked: true });
    expect(readArgv(["memory", "--version"], "memq")).toEqual({ kind: "version" });
    expect(readArgv([], "memq")).toEqual({ kind: "help", words: [], asked: false });
    expect(readArgv(["memory"], "memq")).toEqual({ kind: "help", words: ["memory"], asked: false });
  });

  test.each(["x", "1.5", "0", "201", ""])("a number out of range names the range: %p", (text) => {
    const search = run("memory", "search", "q", `--max-results=${text}`);
    expect(() => number(search, "max-results", { min: 1, max: 200, whole: true })).toThrow(
      `--max-results takes a whole number from 1 to 200, not '${text}'`,
    );
  });
});

describe("any argv", () => {
  const word = oneof(
    string(),
    string().map((text) => `-${text}`),
    string().map((text) => `--${text}`),
    constantFrom("--json", "-f", "--tag", "--tag=x y", "--", "-", "memory", "search", "get", "--from"),
  );

  test("is read or refused with a sentence, never anything else", () => {
    assert(
      property(array(word, { maxLength: 8 }), (argv) => {
        try {
          readArgv(argv, "memq");
        } catch (error) {
          expect(error).toBeInstanceOf(MemqError);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("keeps every word after -- as it is", () => {
    assert(
      property(array(word, { maxLength: 6 }), (words) => {
        expect(run("memory", "search", "--", ...words).words).toEqual(words);
      }),
    );
  });

  test("keeps a text with a blank and no known option as one word", () => {
    assert(
      property(string(), string(), (left, right) => {
        const text = `-${left} ${right}`;
        const named = Object.keys(optionsOf("memq")).some((name) => text.startsWith(`--${name}=`));
        if (!named) expect(run("memory", "search", text).words).toEqual([text]);
      }),
    );
  });
});

describe("the table", () => {
  test("no short option means two things on one surface", () => {
    for (const table of [MEMQ_OPTIONS, QMD_OPTIONS]) {
      const shorts = Object.values(table).flatMap((option) => ("short" in option ? [option.short] : []));
      expect(new Set(shorts).size).toBe(shorts.length);
    }
  });

  test("every command loads and can be run", async () => {
    for (const command of COMMANDS) expect(typeof (await command.load()).run).toBe("function");
  });
});

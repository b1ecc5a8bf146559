import { describe, expect, test } from "bun:test";
import { assert, array, constantFrom, oneof, property, string } from "fast-check";
import { MemqError } from "../../src/errors.ts";
import { MEMQ_OPTIONS, type Option, optionsOf, QMD_OPTIONS } from "../../src/cli/options.ts";
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
    expect(number(search, "max-results")).toBe(3);
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
    expect(number(run("get", "x", "--from", "-19"), "from")).toBe(-19);
  });

  test("an option means what its surface says", () => {
    const status = run("memory", "status", "--index", "--json");
    expect(flag(status, "index")).toBe(true);
    expect(status.words).toEqual([]);
  });

  test.each([
    [["memory", "search", "x", "--jsn"], "unknown option '--jsn'", "Did you mean '--json'?"],
    [["memory", "search", "x", "--jsn=1"], "unknown option '--jsn'", "Did you mean '--json'?"],
    [["memory", "search", "x", "-n", "2"], "unknown option '-n'", "Did you mean '--max-results'?"],
    [["search", "x", "--max-results", "2"], "unknown option '--max-results'", "Did you mean '-n'?"],
    [["memory", "search", "x", "--format", "csv"], "unknown option '--format'", "'memq memory search --help' lists"],
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

  test("an unknown command named none that is like it", () => {
    expect(failure("serch", "boiler").hint).toStartWith("Did you mean 'memq search'? Run 'memq --help' for usage.\n");
  });

  test("help and version win wherever they stand", () => {
    expect(readArgv(["memory", "search", "--bogus", "--help"], "memq")).toMatchObject({ kind: "help", asked: true });
    expect(readArgv(["memory", "--version"], "memq")).toEqual({ kind: "version" });
    expect(readArgv(["help", "memory", "search"], "memq")).toEqual({
      kind: "help",
      words: ["memory", "search"],
      asked: true,
    });
    expect(readArgv([], "memq")).toEqual({ kind: "help", words: [], asked: false });
    expect(readArgv(["memory"], "memq")).toEqual({ kind: "help", words: ["memory"], asked: false });
  });

  test.each(["x", "1.5", "0", "201", ""])("a number out of range names the range: %p", (text) => {
    expect(failure("memory", "search", "q", `--max-results=${text}`).message).toBe(
      `--max-results takes a whole number from 1 to 200, not '${text}'`,
    );
  });
});

describe("a value that its option can't have", () => {
  const wrong = (option: Option): string[] => {
    if (option.choices !== undefined) return ["foo", "", option.choices.join(",")];
    const { min, max, whole } = option.range ?? { min: 0, whole: false };
    const below = min === -Number.MAX_SAFE_INTEGER ? [] : [String(min - 1)];
    const above = max === undefined ? [] : [String(max + 1)];
    return ["x", "", "1e", ...below, ...above, ...(whole ? ["1.5", "1e3"] : [])];
  };
  const limited = COMMANDS.flatMap((command) => {
    const table = optionsOf(command.surface);
    const names = command.surface === "memq" ? command.options : Object.keys(table);
    return names.flatMap((name): [string, string, Option][] => {
      const option = table[name];
      if (option?.choices === undefined && option?.range === undefined) return [];
      const isOther =
        command.surface === "both" && !(name in QMD_OPTIONS) && !command.options.some((one) => one === name);
      return isOther ? [] : [[command.path.join(" "), name, option]];
    });
  });

  test("is refused on every command that takes the option, and what it takes is said", () => {
    expect(limited.length).toBeGreaterThan(200);
    for (const [path, name, option] of limited) {
      for (const text of wrong(option)) {
        const { code, exitCode, message } = failure(
          ...path.split(" "),
          name.length === 1 ? `-${name}` : `--${name}`,
          text,
        );
        expect([path, name, text, code, [1, 2].includes(exitCode)]).toEqual([path, name, text, "USAGE", true]);
        for (const choice of option.choices ?? []) expect(message).toContain(choice);
      }
    }
  });

  test("is refused also where a later one is right", () => {
    expect(failure("query", "x", "--fusion", "foo", "--fusion", "rrf").message).toBe(
      "--fusion takes relative, weighted, rrf, not 'foo'",
    );
  });

  test("a second value never replaces the first without a word: memq's own options refuse it", () => {
    for (const words of [["mcp"], ["memory", "search", "x"]]) {
      const error = failure(...words, "--workspace", "a", "--workspace=b");
      expect([error.message, error.exitCode]).toEqual(["--workspace takes one value, and is given 'a' and 'b'", 2]);
    }
    expect(failure("memory", "search", "x", "--min-score", "0", "--min-score", "1").exitCode).toBe(2);
    expect(value(run("mcp", "--workspace", "a", "--workspace", "a"), "workspace")).toBe("a");
    // `setup` connects an agent for each.
    expect(values(run("setup", "cursor", "--workspace", "a", "--workspace", "b"), "workspace")).toEqual(["a", "b"]);
    expect(flag(run("memory", "search", "x", "--json", "--json"), "json")).toBe(true);
  });

  test("of qmd's options the last value is taken, as qmd does", () => {
    expect(value(run("mcp", "--port", "1", "--port", "2"), "port")).toBe("2");
    expect(number(run("search", "x", "--min-score", "0", "--min-score", "1"), "min-score")).toBe(1);
    expect(value(run("--index", "a", "search", "x", "--index", "b"), "index")).toBe("b");
  });

  test("what a placeholder calls a number has a range", () => {
    for (const table of [MEMQ_OPTIONS, QMD_OPTIONS] as Readonly<Record<string, Option>>[]) {
      for (const [name, { value: shown, range }] of Object.entries(table)) {
        const isNumber = /^(N|NUM|F|MS|MIN|PORT)$/.test(shown ?? "");
        expect([name, range !== undefined]).toEqual([name, isNumber]);
      }
    }
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

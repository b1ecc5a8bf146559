// Editing other programs' configuration files: what is not meant stays, to the character.
import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { JsonValue } from "../../src/json.ts";
import { withItem, withValue } from "../../src/integrations/json5-edit.ts";
import { withServerTable } from "../../src/integrations/toml-edit.ts";

const parse = (text: string | null): unknown => Bun.JSON5.parse(text ?? "null");

describe("a value set in JSON5", () => {
  test("keeps comments, spelling, trailing commas and the comment of the line before", () => {
    const text = `// top\n{\n  // first\n  a: 'x', // of a\n  "b": [1, 2,], /* of b */\n}\n// end\n`;
    expect(withValue(text, ["c", "d"], "memq")).toBe(
      `// top\n{\n  // first\n  a: 'x', // of a\n  "b": [1, 2,], /* of b */\n  "c": {\n    "d": "memq"\n  },\n}\n// end\n`,
    );
    expect(withValue(text, ["a"], true)).toBe(text.replace("'x'", "true"));
    expect(withItem(text, ["b"], 3)).toBe(text.replace("2,]", "2, 3]"));
  });

  test("needs no trailing comma to add one where it belongs", () => {
    expect(withValue(`{\n\t"a": 1 // one\n}`, ["b"], 2)).toBe(`{\n\t"a": 1, // one\n\t"b": 2\n}`);
    expect(withValue("{a: 1}", ["b"], 2)).toBe('{a: 1, "b": 2}');
    expect(withValue("{ // nothing yet\n}", ["b"], 2)).toBe('{ // nothing yet\n  "b": 2\n}');
    expect(withValue("", ["b"], 2)).toBe('{\n  "b": 2\n}\n');
    expect(withItem('{"a": {}}', ["a", "list"], "x")).toBe('{"a": {\n  "list": [\n    "x"\n  ]\n}}');
  });

  test("keeps the line ends and the byte-order mark of the file", () => {
    expect(withValue('\uFEFF{\r\n  "a": 1\r\n}\r\n', ["b"], { c: 2 })).toBe(
      '\uFEFF{\r\n  "a": 1,\r\n  "b": {\r\n    "c": 2\r\n  }\r\n}\r\n',
    );
  });

  test("of keys that stand twice changes the one that counts", () => {
    expect(withValue("{a: 1, a: 2}", ["a"], 3)).toBe("{a: 1, a: 3}");
  });

  test("is refused where a step on the way is no object, or the list is none", () => {
    expect(withValue("{a: 1}", ["a", "b"], 2)).toBeNull();
    expect(withValue("[1]", ["a"], 2)).toBeNull();
    expect(withItem("{a: {}}", ["a"], 2)).toBeNull();
  });

  test("whatever the file looks like: it says what is meant, and every comment is still there", () => {
    const key = fc.oneof(
      fc.constantFrom("plugins", "slots", "a b", "ключ", 'q"uote', "//no"),
      fc.string({ minLength: 1 }),
    );
    const { value: data } = fc.letrec<{ value: JsonValue; object: JsonValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.string(),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("value"), { maxLength: 3 }),
        tie("object"),
      ),
      object: fc.dictionary(
        key.filter((name) => name !== "__proto__"),
        tie("value"),
        { maxKeys: 4 },
      ),
    }));
    const object = fc.dictionary(
      key.filter((name) => name !== "__proto__"),
      data,
      { maxKeys: 5 },
    );
    fc.assert(
      fc.property(
        object,
        fc.array(fc.nat(5), { minLength: 1, maxLength: 40 }),
        fc.array(key, { minLength: 1, maxLength: 3 }),
        data,
        (before, choices, path, value) => {
          if (path.includes("__proto__")) return;
          const text = spelled(before, choices);
          expect(parse(text)).toEqual(before);
          const edited = withValue(text, path, value);
          const meant = replaced(before, path, value);
          if (meant === undefined) expect(edited).toBeNull();
          else {
            expect(parse(edited)).toEqual(meant);
            const isNew = path.some((_, at) => lookup(before, path.slice(0, at + 1)) === undefined);
            if (isNew) for (const comment of text.match(/#c\d+#/g) ?? []) expect(edited).toContain(comment);
            expect(withValue(edited ?? "", path, value)).toBe(edited as string);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("a server table in TOML", () => {
  const server = { command: "/opt/me mq", args: ["mcp", "--workspace", 'C:\\my "notes"'] };

  test("is appended, the rest stays as it was", () => {
    const text = '# mine\nmodel = "x" # model\n\n[mcp_servers.other]\ncommand = "y"';
    const after = withServerTable(text, "mcp_servers", "memq", server) ?? "";
    expect(after.startsWith(text)).toBe(true);
    expect(Bun.TOML.parse(after)).toEqual({ model: "x", mcp_servers: { other: { command: "y" }, memq: server } });
    expect(withServerTable(after, "mcp_servers", "memq", server)).toBe(after);
  });

  test("that exists keeps its other keys, comments and subtables", () => {
    const text = `[mcp_servers.memq] # ours\ncommand = "old"\n# keep\nstartup_timeout_sec = 20\n\n[mcp_servers.memq.env]\nA = "1"\n[z]\nargs = 1\n`;
    const after = withServerTable(text, "mcp_servers", "memq", server) ?? "";
    expect(after).toContain("# keep\nstartup_timeout_sec = 20\n\n[mcp_servers.memq.env]");
    expect(Bun.TOML.parse(after)).toEqual({
      mcp_servers: { memq: { ...server, startup_timeout_sec: 20, env: { A: "1" } } },
      z: { args: 1 },
    });
  });

  test("is refused where the table is spelled in another way", () => {
    expect(withServerTable('mcp_servers = { memq = { command = "x" } }\n', "mcp_servers", "memq", server)).toBeNull();
    expect(withServerTable('[mcp_servers.memq]\nargs = [\n  "a",\n]\n', "mcp_servers", "memq", server)).toBeNull();
  });
});

/** The data as somebody might have typed it: comments, unquoted keys, single quotes, trailing commas, on lines or in one. */
function spelled(data: JsonValue, choices: readonly number[]): string {
  let asked = 0;
  let comments = 0;
  const choose = (): number => choices[asked++ % choices.length] ?? 0;
  const gap = (): string => {
    const kind = choose();
    if (kind === 0) return ` /* #c${(comments += 1)}# , } */ `;
    if (kind === 1) return ` // #c${(comments += 1)}# { "\n`;
    return ["", "\n  ", " ", "\r\n\t"][kind - 2] ?? "";
  };
  const list = (open: string, close: string, items: string[]): string =>
    gap() +
    open +
    items.map((item) => gap() + item + gap()).join(",") +
    (items.length > 0 && choose() === 0 ? "," : "") +
    gap() +
    close +
    gap();
  const print = (value: JsonValue): string => {
    if (Array.isArray(value)) return list("[", "]", value.map(print));
    if (typeof value !== "object" || value === null) return text(value);
    return list(
      "{",
      "}",
      Object.entries(value).map(
        ([name, inner]) =>
          `${/^[a-z]+$/.test(name) && choose() > 2 ? name : text(name)}${gap()}:${gap()}${print(inner)}`,
      ),
    );
  };
  const text = (value: JsonValue): string => {
    const json = JSON.stringify(value).replaceAll(/[\u2028\u2029]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16)}`);
    return typeof value === "string" && choose() === 3
      ? `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
      : json;
  };
  return print(data);
}

function lookup(data: JsonValue, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = data;
  for (const key of path) {
    if (typeof value !== "object" || value === null || Array.isArray(value) || !Object.hasOwn(value, key))
      return undefined;
    value = value[key];
  }
  return value;
}

function replaced(data: JsonValue, [key, ...rest]: readonly string[], value: JsonValue): JsonValue | undefined {
  if (key === undefined) return value;
  if (typeof data !== "object" || data === null || Array.isArray(data)) return undefined;
  const inner = replaced(Object.hasOwn(data, key) ? (data[key] ?? null) : {}, rest, value);
  return inner === undefined ? undefined : { ...data, [key]: inner };
}

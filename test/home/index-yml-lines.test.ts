import { afterAll, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseDocument } from "yaml";
import {
  addCollection,
  removeContext,
  setContext,
  setGlobalContext,
  setIncludedByDefault,
  setUpdateCommand,
} from "../../src/home/index-yml-edit.ts";
import { readQmdConfig } from "../../src/home/index-yml.ts";
import { temporaryFolder } from "../temporary.ts";
import { processorMs } from "../work.ts";

const folder = temporaryFolder("yml-lines-");
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const fresh = (text: string): string => {
  const path = join(folder, `${made++}.yml`);
  writeFileSync(path, text);
  return path;
};
const textOf = (path: string): string => readFileSync(path, "utf8");

test.each([
  [
    "a comment further up",
    "# head\n\ncollections:\n  n: { path:   /n }\n# g\nglobal_context: x\n",
    "# g\nglobal_context: x\n",
    "",
  ],
  [
    "a value on several lines",
    "global_context: |- # c\n  a\n  b\ncollections:\n    n: {path: /n}\n",
    "|- # c\n  a\n  b",
    "x",
  ],
  ["no value", "global_context: # none\ncollections:\n    n: {path: /n}\n", "context: #", "context: x #"],
  ["an alias", "a: &a [1]\nb:   &b y\nglobal_context: *b\nc: *a\n", "*b", "x"],
])("a change of %s wrote the whole file in another style", async (_what, text, from, to) => {
  const path = fresh(text);
  if (to === "") await removeContext(path, null, "");
  else await setGlobalContext(path, "x");
  expect(textOf(path)).toBe(text.replace(from, to));
});

test("a change of a map in braces, of an alias or of an empty map wrote the whole file in another style", async () => {
  const braces = "collections:\n   n: { includeByDefault: false, path:  /n, update: up } # n\n   # m\n   m:\n";
  const path = fresh(`${braces}     path: /m\n     context: {} # m\n`);
  await setIncludedByDefault(path, "n", true);
  await setUpdateCommand(path, "n", null);
  await setContext(path, "m", "", "all\nof it");
  await setContext(path, "n", "", "all\nof it");
  expect(textOf(path)).toBe(
    'collections:\n   n: { path:  /n, "context":{"":"all\\nof it"} } # n\n   # m\n   m:\n' +
      '     path: /m\n     context: # m\n       "": |-\n         all\n         of it\n',
  );
  const shared = "a: &a\n   path:  /a\ncollections:\n   n: *a # n\n   m: *a\n";
  const aliased = fresh(shared);
  await setIncludedByDefault(aliased, "n", false);
  expect(textOf(aliased)).toBe(shared.replace("n: *a # n\n", "n: # n\n     path: /a\n     includeByDefault: false\n"));
});

test("what was added came between a pair and the comment in it, and was torn at a line separator", async () => {
  const text = "collections:\n  n:\n    path:   /n\n    # update: git pull\n";
  const path = fresh(text);
  await addCollection(path, { name: "m", path: "/m" });
  expect(textOf(path)).toBe(`${text}  m:\n    path: /m\n    pattern: "**/*.md"\n`);
  await setContext(path, "n", "", "\u2028x");
  expect(textOf(path)).toContain('    path:   /n\n    context:\n      "": \u2028x\n    # update');
});

test("a change took away a byte order mark, and line feeds of a file that has both line ends", async () => {
  const path = fresh("\uFEFF# head\ncollections:\r\n  n:\r\n    path: /n");
  await addCollection(path, { name: "m", path: "/m" });
  expect(textOf(path)).toBe(
    '\uFEFF# head\ncollections:\r\n  n:\r\n    path: /n\r\n  m:\r\n    path: /m\r\n    pattern: "**/*.md"\r\n',
  );
});

test("a change failed, or moved comments, where a file holds nothing else or null", async () => {
  expect(await removeContext(fresh("# nothing\n"), null, "")).toBe(false);
  const comments = "--- # head\n   # nothing\n#";
  const commented = fresh(comments);
  await setGlobalContext(commented, "x");
  expect(textOf(commented)).toBe(`${comments}\nglobal_context: x\n`);
  const path = fresh("null\n");
  await addCollection(path, { name: "n", path: "/n" });
  expect((await readQmdConfig(path))?.collections).toMatchObject([{ name: "n", path: "/n" }]);
});

test("each key was compared with all others of its map, and ten thousand collections took twelve seconds to change", async () => {
  const keys = Array.from({ length: 10_000 }, (_, at) => `/d${at}: x`);
  const text = `collections:\n  n: {path: /n, context: {${keys.join(", ")}}}\n`;
  const cpuMs = async (work: () => unknown): Promise<number> => {
    const spent = processorMs();
    await work();
    return spent();
  };
  const path = fresh(text);
  const parse = (): unknown => parseDocument(text, { uniqueKeys: false });
  const parsing = Math.min(await cpuMs(parse), await cpuMs(parse));
  expect(await cpuMs(() => setIncludedByDefault(path, "n", false))).toBeLessThan(20 * parsing);
  expect(textOf(path)).toBe(text.replace("}}\n", "}, includeByDefault: false}\n"));
}, 30_000);

test.each([
  ["collections:\n  n:\n    path: /n\n    path: /m\n", "line 4, column 5"],
  ["a: 1\n'a': 2\ncollections:\n  n: {path: /n}\n", "line 2, column 1"],
])("a file with a key that stands twice is not changed: %j", async (text, place) => {
  const path = fresh(text);
  const error = await setIncludedByDefault(path, "n", false).catch((thrown: unknown) => thrown);
  const message: unknown = expect.stringContaining(`${place}: Map keys must be unique`);
  expect(error).toMatchObject({ code: "CONFIG_SYNTAX", message });
  expect(textOf(path)).toBe(text);
});

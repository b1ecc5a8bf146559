import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { array, assert, asyncProperty, constantFrom, dictionary, nat, pre, record, string, tuple } from "fast-check";
import { parse, parseDocument, stringify } from "yaml";
import {
  addCollection,
  createIndexYml,
  removeCollection,
  removeContext,
  renameCollection,
  setContext,
  setGlobalContext,
  setIncludedByDefault,
  setUpdateCommand,
} from "../../src/home/index-yml-edit.ts";
import { readQmdConfig, storeRows, type QmdConfig } from "../../src/home/index-yml.ts";
import { contextOf, listedContexts } from "../../src/home/qmd-contexts.ts";
import { temporaryFolder } from "../temporary.ts";

const folder = temporaryFolder("yml-");
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const fresh = (text?: string): string => {
  const path = join(folder, `${made++}`, "index.yml");
  if (text !== undefined) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return path;
};
const textOf = (path: string): string => readFileSync(path, "utf8");

const SAMPLE = `# My notes, by hand
global_context: "All of it" # seen everywhere
editor_uri: "zed://{path}:{line}"

models:
  embed: hf:me/m/m.gguf
collections:
  # the diary
  diary:
    path: ~/diary # home
    pattern: "**/*.{md,txt}, *.org"
    ignore:
      - "drafts/**" # not yet
      - tmp
    context:
      "": Everything I wrote
      /2025: Last year
    update: git pull --ff-only
    includeByDefault: false
    colour: red # an unknown key

  123:
    path: /srv/numbers
later: true # unknown too
`;

describe("reading", () => {
  test("every key", async () => {
    expect(await readQmdConfig(fresh(SAMPLE))).toEqual({
      globalContext: "All of it",
      editorUri: "zed://{path}:{line}",
      models: { embed: "hf:me/m/m.gguf" },
      collections: [
        { name: "123", path: "/srv/numbers", pattern: "**/*.md", ignore: [], context: {}, includeByDefault: true },
        {
          name: "diary",
          path: "~/diary",
          pattern: "**/*.{md,txt}, *.org",
          ignore: ["drafts/**", "tmp"],
          context: { "": "Everything I wrote", "/2025": "Last year" },
          update: "git pull --ff-only",
          includeByDefault: false,
        },
      ],
      hash: new Bun.CryptoHasher("sha256").update(JSON.stringify(parse(SAMPLE))).digest("hex"),
      issues: [],
    });
  });

  test("a misspelt key is said with the one that is near, another program's key is not", async () => {
    const path = fresh(
      "collection: {}\nmine: 1\nmodels:\n  embedd: m\ncollections:\n  a:\n    path: /a\n    patern: x\n    owner: me\n",
    );
    expect((await readQmdConfig(path))?.issues).toEqual([
      `collection in ${path} is not known: did you mean collections?`,
      `models.embedd in ${path} is not known: did you mean embed?`,
      `collections.a.patern in ${path} is not known: did you mean pattern?`,
    ]);
  });

  test("a list of patterns or a context that is no map is refused, not taken for none", async () => {
    for (const [text, key] of [
      ["pattern: [MEMORY.md]", "pattern"],
      ["context: all of it", "context"],
      ["context: { notes: [a] }", "context.notes"],
      ["update: [git, pull]", "update"],
      ["includeByDefault: no", "includeByDefault"],
    ]) {
      const path = fresh(`collections:\n  a:\n    path: /x\n    ${text}\n`);
      const error = await readQmdConfig(path).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: "CONFIG_TYPE",
        message: expect.stringContaining(`collections.a.${key} in ${path} must be`),
        hint: `Correct collections.a.${key} in ${path}.`,
      });
    }
    for (const [text, key] of [
      ["models: m.gguf", "models"],
      ["models: { embed: 5 }", "models.embed"],
      ["global_context: [a]", "global_context"],
      ["editorUri: 5", "editorUri"],
    ]) {
      const error = await readQmdConfig(fresh(`${text}\n`)).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "CONFIG_TYPE", message: expect.stringContaining(`${key} in `) });
    }
    const blank =
      "models:\nglobal_context:\ncollections:\n  a:\n    path: /x\n    pattern:\n    context:\n    update:\n";
    expect((await readQmdConfig(fresh(blank)))?.collections).toMatchObject([{ pattern: "**/*.md", context: {} }]);
  });

  test.each([["editor_uri"], ["editor_uri_template"], ["editorUri"], ["editor-uri"]])(
    "%s names the editor",
    async (key) => {
      expect((await readQmdConfig(fresh(`${key}: x://`)))?.editorUri).toBe("x://");
    },
  );

  test("no file is null; an empty one, one of comments, and one without collections hold nothing", async () => {
    expect(await readQmdConfig(fresh())).toBeNull();
    for (const text of ["", "# only this\n", "collections:\n", "global_context: x\n"]) {
      expect((await readQmdConfig(fresh(text)))?.collections).toEqual([]);
    }
  });

  test.each([
    ["collections:\n  a:\n    path: /x\n  a:\n    path: /y\n", "line 4, column 3: Map keys must be unique"],
    ["collections:\n  a:\n    pattern: **/*.md\n    path: /x\n", "line 3, column 14: **/*.md refers to no anchor"],
    ["collections: {a: {path: /x\n", "line 2"],
    ["a: 1\n---\nb: 2\n", "multiple documents"],
    ["- a\n- b\n", "must hold a map of settings"],
    ["collections:\n\ta: 1\n", "line 2"],
  ])("what is no YAML is an error with its line: %j", async (text, expected) => {
    const path = fresh(text);
    const error = (await readQmdConfig(path).catch((thrown: unknown) => thrown)) as { code: string; message: string };
    expect(error.code).toBe("CONFIG_SYNTAX");
    expect(error.message).toContain(path);
    expect(error.message).toContain(expected);
    expect(error.message.split("\n")).toHaveLength(1);
  });

  test.each([
    ["collections: [a]\n", "collections"],
    ["collections:\n  a: /x\n", "collections.a"],
    ["collections:\n  a:\n    pattern: x\n", "collections.a.path"],
    ["collections:\n  a:\n    path: 5\n", "collections.a.path"],
    ["collections:\n  a:\n    path: /x\n    ignore: {b: 1}\n", "collections.a.ignore"],
  ])("a wrong type names its key: %j", async (text, key) => {
    const error = await readQmdConfig(fresh(text)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "CONFIG_TYPE", message: expect.stringContaining(`${key} in `) });
  });

  test("rows for the index carry what qmd keeps", async () => {
    const config = await readQmdConfig(fresh(SAMPLE));
    const rows = config === null ? null : storeRows(config);
    expect(rows?.globalContext).toBe("All of it");
    expect(rows?.collections[1]).toEqual({
      name: "diary",
      path: "~/diary",
      pattern: "**/*.{md,txt}, *.org",
      ignore: ["drafts/**", "tmp"],
      includeByDefault: false,
      updateCommand: "git pull --ff-only",
      context: { "": "Everything I wrote", "/2025": "Last year" },
    });
    expect(rows?.collections[0]).toMatchObject({ ignore: null, updateCommand: null, context: null });
  });

  test.each([
    "collections:\n    a:\n        path: /x\n    a:\n        path: /y\n",
    "collections:\n  a:\n    path: /x\n    path: /y\n",
    "collections:\n  a: {path: /x, path: /y}\n",
    "{collections: {a: {path: /x}, a: {path: /y}}}\n",
    "collections:\n  'a':\n    path: /x\n  a:\n    path: /y\n",
    "collections:\n  a :\n    path: /x\n  a:\n    path: /y\n",
    "collections:\n  ? a\n  : path: /x\n  ? a\n  : path: /y\n",
    "collections:\r\n   a:\r\n      path: /x\r\n   a:\r\n      path: /y\r\n",
    'collections:\n  a:\n    path: /x\n  "\\x61":\n    path: /y\n',
    "collections: !!map\n  a:\n    path: /x\n  a:\n    path: /y\n",
    "collections:\n  a:\n    path: /x\n    context: &c\n      /d: one\n  b:\n    path: /y\n    context: *c\n    path: /z\n",
  ])("of a key that stood twice the last was taken: %j", async (text) => {
    const error = await readQmdConfig(fresh(text)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "CONFIG_SYNTAX", message: expect.stringContaining("Map keys must be unique") });
  });

  test("no way to write a key twice goes unseen (property)", async () => {
    const keys = ["a", "b", "c d", "'a'", '"b"', '"\\x61"', "a ", "/a", "1", "1.0", "null", "~", "Note", "- a"];
    const values = [
      "",
      "x",
      "|",
      '"a: b',
      "'",
      "{}",
      "{a: 1, a: 2}",
      "{b, b}",
      "[a: 1]",
      "&x",
      "*x",
      "!!map",
      "# a: b",
    ];
    const line = tuple(
      nat({ max: 4 }),
      constantFrom(...keys),
      constantFrom(":", ":", ":", ":\t", "", " # "),
      constantFrom(...values),
    );
    await assert(
      asyncProperty(array(line, { minLength: 1, maxLength: 8 }), async (lines) => {
        const text = lines
          .map(([indent, key, colon, value]) => `${" ".repeat(indent)}${key}${colon} ${value}\n`)
          .join("");
        const strict = parseDocument(text);
        const problem = await readQmdConfig(fresh(text)).then(
          () => null,
          ({ code }: { code: string }) => code,
        );
        if (strict.errors.some(({ code }) => code === "DUPLICATE_KEY")) expect(problem).toBe("CONFIG_SYNTAX");
      }),
      { numRuns: 1000 },
    );
  });

  test("the quick parser and the strict one read alike (property)", async () => {
    const text = string({ unit: constantFrom(..."ab #:'\"-{}[],&*!|>%@`\\~?\n".split(""), "é", "漢") });
    const name = text.filter((value) => value.trim() !== "" && value !== "<<" && value !== "__proto__");
    const collection = record(
      { path: name, pattern: text, context: dictionary(name, text), ignore: array(text), update: text },
      { requiredKeys: ["path"] },
    );
    await assert(
      asyncProperty(dictionary(name, collection), text, async (collections, global_context) => {
        const value = { global_context, collections };
        const written = stringify(value, { lineWidth: 0 });
        const config = await readQmdConfig(fresh(written));
        expect(config?.hash).toBe(new Bun.CryptoHasher("sha256").update(JSON.stringify(parse(written))).digest("hex"));
        expect(config?.collections.map((one) => one.name)).toEqual(Object.keys(parse(written).collections as object));
      }),
      { numRuns: 60 },
    );
  });
});

describe("changing", () => {
  test("an added collection leaves all else as it was", async () => {
    const path = fresh(SAMPLE);
    expect(await addCollection(path, { name: "work", path: "/w", pattern: "*.txt" })).toBe(true);
    const lines = textOf(path).split("\n");
    for (const line of SAMPLE.split("\n").filter((text) => text !== "")) expect(lines).toContain(line);
    expect(textOf(path)).toContain("  work:\n    path: /w\n");
    expect(parse(textOf(path)).collections.work).toEqual({ path: "/w", pattern: "*.txt" });
  });

  test("the same again is done already and writes nothing; the name with other settings is taken", async () => {
    const path = fresh(SAMPLE);
    const before = lstatSync(path).mtimeMs;
    expect(await addCollection(path, { name: "123", path: "/srv/numbers" })).toBe(false);
    expect(lstatSync(path).mtimeMs).toBe(before);
    for (const other of [{ path: "/elsewhere" }, { path: "/srv/numbers", pattern: "*" }]) {
      const error = await addCollection(path, { name: "123", ...other }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "COLLECTION_EXISTS", message: "Collection '123' already exists." });
    }
    expect(await addCollection(path, { name: "numbers", path: "/srv/numbers" })).toBe(true);
  });

  test("a file that is made is its owner's alone; one that exists keeps its mode", async () => {
    const path = fresh();
    await addCollection(path, { name: "a", path: "/a" });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(textOf(path)).toBe('collections:\n  a:\n    path: /a\n    pattern: "**/*.md"\n');
    chmodSync(path, 0o664);
    await addCollection(path, { name: "b", path: "/b" });
    expect(statSync(path).mode & 0o777).toBe(0o664);
    expect(readdirSync(join(path, ".."))).toEqual(["index.yml"]);
  });

  test("an empty configuration is made once and grows line by line", async () => {
    const path = fresh();
    expect(await createIndexYml(path)).toBe(true);
    expect(textOf(path)).toBe("collections: {}\n");
    await addCollection(path, { name: "a", path: "/a" });
    expect(textOf(path)).toBe('collections:\n  a:\n    path: /a\n    pattern: "**/*.md"\n');
    expect(await createIndexYml(path)).toBe(false);
    expect((await readQmdConfig(path))?.collections).toHaveLength(1);
  });

  test("a symbolic link stays one", async () => {
    const real = fresh(SAMPLE);
    const link = join(folder, "link.yml");
    symlinkSync(real, link);
    await setGlobalContext(link, "new");
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(textOf(real)).toContain('global_context: "new" # seen everywhere');
  });

  test("line ends of Windows stay", async () => {
    const path = fresh(SAMPLE.replaceAll("\n", "\r\n"));
    await setIncludedByDefault(path, "123", false);
    expect(textOf(path).replaceAll("\r\n", "")).not.toContain("\n");
    expect((await readQmdConfig(path))?.collections[0]?.includeByDefault).toBe(false);
  });

  test("removed with its own comment lines only", async () => {
    const path = fresh(SAMPLE);
    await removeCollection(path, "123");
    expect(textOf(path)).toContain("# unknown too");
    expect(Object.keys(parse(textOf(path)).collections)).toEqual(["diary"]);
    await removeCollection(path, "diary");
    expect((await readQmdConfig(path))?.collections).toEqual([]);
    expect(await removeCollection(path, "diary").catch((thrown: unknown) => thrown)).toMatchObject({
      message: "Collection not found: diary",
      hint: "Run 'qmd collection list' to see available collections.",
    });
  });

  test("renamed where it stands", async () => {
    const path = fresh(SAMPLE);
    await renameCollection(path, "diary", "true");
    expect(textOf(path)).toContain('  # the diary\n  "true":\n    path: ~/diary # home');
    expect(await renameCollection(path, "123", "true").catch((thrown: unknown) => thrown)).toMatchObject({
      message: "Collection name already exists: true",
    });
    expect(await renameCollection(path, "x", "y").catch((thrown: unknown) => thrown)).toMatchObject({
      code: "COLLECTION_MISSING",
    });
  });

  test("included, excluded, update command", async () => {
    const path = fresh(SAMPLE);
    await setIncludedByDefault(path, "diary", true);
    await setUpdateCommand(path, "diary", null);
    await setUpdateCommand(path, "123", 'echo "a: b" # c');
    const [numbers, diary] = (await readQmdConfig(path))?.collections ?? [];
    expect(diary).toMatchObject({ includeByDefault: true });
    expect(diary?.update).toBeUndefined();
    expect(numbers?.update).toBe('echo "a: b" # c');
    expect(textOf(path)).not.toContain("includeByDefault");
    for (const change of [
      () => setIncludedByDefault(path, "x", true),
      () => setUpdateCommand(path, "x", "y"),
      () => setContext(path, "x", "", "y"),
    ]) {
      expect(await change().catch((thrown: unknown) => thrown)).toMatchObject({ code: "COLLECTION_MISSING" });
    }
  });

  test("contexts", async () => {
    const path = fresh(SAMPLE);
    await setContext(path, "123", "notes", "Of notes");
    await setContext(path, "diary", "", "Changed");
    await setGlobalContext(path, "World");
    const config = await readQmdConfig(path);
    expect(config === null ? [] : listedContexts(config)).toEqual([
      { collection: null, prefix: "/", text: "World" },
      { collection: "123", prefix: "notes", text: "Of notes" },
      { collection: "diary", prefix: "", text: "Changed" },
      { collection: "diary", prefix: "/2025", text: "Last year" },
    ]);
    expect(await removeContext(path, "diary", "2025")).toBe(true);
    expect(await removeContext(path, "diary", "/")).toBe(true);
    expect(await removeContext(path, "diary", "")).toBe(false);
    expect(await removeContext(path, null, "/")).toBe(true);
    expect(await removeContext(path, null, "/")).toBe(false);
    expect((await readQmdConfig(path))?.collections[1]?.context).toEqual({});
  });

  test("many changes at once all arrive", async () => {
    const path = fresh(SAMPLE);
    const names = Array.from({ length: 8 }, (_, at) => `c${at}`);
    await Promise.all(names.map((name) => addCollection(path, { name, path: `/${name}` })));
    expect(Object.keys(parse(textOf(path)).collections).sort()).toEqual(["123", ...names, "diary"]);
    expect(readdirSync(dirname(path))).toEqual(["index.yml"]);
  });

  test("a broken file is never written over", async () => {
    for (const text of ["collections:\n  a: [\n", "- a\n", "a: *b\n"]) {
      const path = fresh(text);
      for (const change of [
        () => addCollection(path, { name: "b", path: "/b" }),
        () => setGlobalContext(path, "x"),
        () => removeCollection(path, "a"),
      ]) {
        expect(await change().catch((thrown: unknown) => thrown)).toMatchObject({ code: "CONFIG_SYNTAX" });
      }
      expect(textOf(path)).toBe(text);
    }
  });

  test("a place that can't be written to is one sentence", async () => {
    const error = await addCollection(join(fresh("x: 1"), "index.yml"), { name: "a", path: "/a" }).catch(
      (e: unknown) => e,
    );
    expect(error).toMatchObject({ code: "CONFIG_UNWRITABLE", hint: expect.any(String) });
  });

  test("any name, path and text comes back as it was, and comments stay (property)", async () => {
    const word = string({ minLength: 1, maxLength: 8 }).filter(
      (value) => value.trim() === value && value !== "__proto__" && value !== "<<",
    );
    await assert(
      asyncProperty(word, word, word, string({ minLength: 1 }), async (name, path, pattern, text) => {
        pre(name !== "diary" && name !== "123" && text.trim() !== "");
        const file = fresh(SAMPLE);
        await addCollection(file, { name, path, pattern });
        await setContext(file, name, path, text);
        await setUpdateCommand(file, name, text);
        const read = (await readQmdConfig(file))?.collections.find((one) => one.name === name);
        expect(read).toMatchObject({ path, pattern, context: { [path]: text }, update: text });
        for (const comment of SAMPLE.match(/#.*/g) ?? []) expect(textOf(file)).toContain(comment);
        await removeCollection(file, name);
        expect(parse(textOf(file))).toEqual(parse(SAMPLE));
      }),
      { numRuns: 60 },
    );
  });
});

test("aliases that would unfold beyond all bounds are refused, by the name of the file", async () => {
  const letters = "abcdefgh".split("");
  const lines = letters.map((letter, at) => {
    const inner = at === 0 ? "x" : `*${letters[at - 1]}`;
    return `${letter}: &${letter} [${Array.from({ length: 9 }, () => inner).join(", ")}]\n`;
  });
  const path = fresh(lines.join(""));
  const error = await readQmdConfig(path).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "CONFIG_SYNTAX", message: expect.stringContaining(path) });
});

test("a document's context goes from the widest to the narrowest, at path boundaries", () => {
  const config: QmdConfig = {
    globalContext: "G",
    models: {},
    hash: "",
    issues: [],
    collections: [
      {
        name: "c",
        path: "/c",
        pattern: "",
        ignore: [],
        includeByDefault: true,
        context: { "/talks/2024": "T24", "": "C", talks: "T", "/talk": "no" },
      },
      { name: "d", path: "/d", pattern: "", ignore: [], includeByDefault: true, context: {} },
    ],
  };
  expect(contextOf(config, "c", "talks/2024/key.md")).toBe("G\n\nC\n\nT\n\nT24");
  expect(contextOf(config, "c", "talks.md")).toBe("G\n\nC");
  expect(contextOf(config, "d", "x.md")).toBe("G");
  expect(contextOf({ ...config, globalContext: undefined }, "d", "x.md")).toBeUndefined();
});

test("an index.yml that was a link to a file not yet there became a file of its own", async () => {
  const home = join(folder, "links");
  const [config, place] = [join(home, "config/index.yml"), join(home, "elsewhere/memq.yml")];
  mkdirSync(dirname(config), { recursive: true });
  symlinkSync("../elsewhere/memq.yml", config);
  expect(await addCollection(config, { name: "a", path: "/a" })).toBe(true);
  expect(readlinkSync(config)).toBe("../elsewhere/memq.yml");
  expect(parse(readFileSync(place, "utf8")).collections.a.path).toBe("/a");
});

const ANCHORED = `shared: &shared
  path: /srv/n # where
  ignore: &drafts [drafts/**]
collections:
  n: *shared
  o: &o
    path: /srv/o
    ignore: *drafts
  p: *o
`;

test("a change of a collection that is an alias lost its path, one behind an anchor changed the others too", async () => {
  const path = fresh(ANCHORED);
  await setIncludedByDefault(path, "n", false);
  await setContext(path, "o", "", "of o");
  await removeContext(path, "p", "");
  const read = (await readQmdConfig(path))?.collections;
  expect(
    read?.map(({ name, path: at, ignore, includeByDefault, context }) => [name, at, ignore, includeByDefault, context]),
  ).toEqual([
    ["n", "/srv/n", ["drafts/**"], false, {}],
    ["o", "/srv/o", ["drafts/**"], true, { "": "of o" }],
    ["p", "/srv/o", ["drafts/**"], true, {}],
  ]);
});

test("a collection whose anchor others use could not be removed", async () => {
  const path = fresh(ANCHORED);
  await removeCollection(path, "o");
  expect((await readQmdConfig(path))?.collections.map(({ name, path: at }) => [name, at])).toEqual([
    ["n", "/srv/n"],
    ["p", "/srv/o"],
  ]);
});

test("collections that were an alias were dropped when one was added", async () => {
  const path = fresh("mine: &mine\n  n: { path: /srv/n }\ncollections: *mine\n");
  await addCollection(path, { name: "m", path: "/srv/m" });
  expect((await readQmdConfig(path))?.collections.map(({ name }) => name)).toEqual(["n", "m"]);
});

test("anchors that a change doesn't reach stay", async () => {
  const path = fresh(ANCHORED);
  await addCollection(path, { name: "m", path: "/srv/m" });
  expect(textOf(path)).toBe(`${ANCHORED}  m:\n    path: /srv/m\n    pattern: "**/*.md"\n`);
});

const COMMENTED = `# head

collections: # all of them
  # before n
  n: # at n
      # in n
      path:   '/srv/n'   # at path
      # end of n

  # before o
  o:
    path: /srv/o
    # end of o
  007: {path: /srv/p}
# before models
models:
  embed: x.gguf # e
# tail
`;

test("a removed collection took the comments of its neighbours along", async () => {
  const path = fresh(COMMENTED);
  await removeCollection(path, "o");
  expect(textOf(path)).toBe(COMMENTED.replace("  # before o\n  o:\n    path: /srv/o\n    # end of o\n", ""));
  await removeCollection(path, "n");
  await removeCollection(path, "7");
  expect(textOf(path)).toBe(
    "# head\n\ncollections: {} # all of them\n  # before n\n\n# before models\nmodels:\n  embed: x.gguf # e\n# tail\n",
  );
});

test("a change moved comments and wrote all of the file in another style", async () => {
  const path = fresh(COMMENTED);
  await setIncludedByDefault(path, "n", false);
  expect(textOf(path)).toBe(COMMENTED.replace("# at path\n", "# at path\n      includeByDefault: false\n"));
  await setIncludedByDefault(path, "n", true);
  await renameCollection(path, "n", "a: b");
  await setUpdateCommand(path, "7", "true");
  expect(textOf(path)).toBe(
    COMMENTED.replace("  n:", '  "a: b":').replace("{path: /srv/p}", '{path: /srv/p, update: "true"}'),
  );
});

test("a change of a file in another encoding replaced what could not be read", async () => {
  const path = fresh();
  mkdirSync(dirname(path), { recursive: true });
  const bytes = Buffer.from('collections:\n  n:\n    path: /n\n    context: { "": "ma\u00f1ana" }\n', "latin1");
  writeFileSync(path, bytes);
  const error = await setIncludedByDefault(path, "n", false).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "CONFIG_SYNTAX", message: expect.stringContaining("is not UTF-8") });
  expect(readFileSync(path)).toEqual(bytes);
});

test("what a merge key should bring was left out without a word, and a key that is null had another name for each command", async () => {
  const merging = fresh("d: &d { ignore: [private/**] }\ncollections:\n  n:\n    <<: *d\n    path: /n\n");
  expect((await readQmdConfig(merging))?.issues.join()).toContain("collections.n.<<");
  for (const key of ["null", "~", '""']) {
    const error = await readQmdConfig(fresh(`collections:\n  ${key}:\n    path: /n\n`)).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: "CONFIG_TYPE", message: expect.stringContaining("has no name") });
  }
});

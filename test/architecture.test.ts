import { describe, expect, test } from "bun:test";
import { Glob } from "bun";
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const SRC = join(import.meta.dir, "../src");
const sources = new Map(
  [...new Glob("**/*.ts").scanSync(SRC)].toSorted().map((path) => [path, readFileSync(join(SRC, path), "utf8")]),
);

/** The folder that a source file lies in, or the file itself beside the folders. */
function partOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : path;
}

/** What each part may import, as the map of ARCHITECTURE.md says: folders, files, or `types of` one. */
function allowedImports(): Map<string, Set<string>> {
  const rows = readFileSync(join(SRC, "ARCHITECTURE.md"), "utf8").matchAll(/^\| `([\w.]+?)\/?` \|.*\| (.*?) \|$/gm);
  return new Map(
    [...rows].map(([, part = "", allowed = ""]) => [part, new Set(allowed.split(", ").filter((one) => one !== "–"))]),
  );
}

/** Imports of other source files; `typesOnly` leave nothing behind when the program runs. */
function importsOf(path: string, text: string): { target: string; typesOnly: boolean }[] {
  return [...text.matchAll(/(import type [^;]*?from |from |import\()\s*"(\.[^"]+\.ts)"/g)].map(
    ([, how = "", target = ""]) => ({
      target: normalize(join(dirname(path), target)),
      typesOnly: how.startsWith("import type"),
    }),
  );
}

/** Lines of code that match, as `path: line`, outside of the places named. */
function linesWith(pattern: RegExp, outside: (path: string) => boolean): string[] {
  return [...sources].flatMap(([path, text]) =>
    outside(path)
      ? text
          .split("\n")
          .filter((line) => pattern.test(line) && !/^\s*(?:\/\/|\*|\/\*)/.test(line))
          .map((line) => `${path}: ${line.trim()}`)
      : [],
  );
}

/** What every folder may import. */
const COMMON = [
  "edit-distance.ts",
  "errors.ts",
  "event-rounds.ts",
  "json.ts",
  "long-running.ts",
  "printable.ts",
  "sha256.ts",
  "system-folders.ts",
  "version.ts",
];

describe("the rules of the house", () => {
  test("a folder imports only what the map allows", () => {
    const allowed = allowedImports();
    const wrong: string[] = [];
    for (const [path, text] of sources) {
      const part = partOf(path);
      for (const { target, typesOnly } of importsOf(path, text)) {
        const other = partOf(target);
        if (other === part || COMMON.includes(other)) continue;
        const covers = (place: string): boolean => target === place || target.startsWith(`${place}/`);
        const places = [...(allowed.get(part) ?? [])];
        if (places.some((place) => covers(place) || (typesOnly && covers(place.replace("types of ", ""))))) continue;
        wrong.push(`${path} → ${target}`);
      }
    }
    expect(wrong).toEqual([]);
    const parts = new Set([...sources.keys()].map(partOf));
    for (const common of [...COMMON, "text-files.d.ts"]) parts.delete(common);
    expect([...allowed.keys()].toSorted()).toEqual([...parts].toSorted());
  });

  test("SQL stands in the store alone", () => {
    const outside = (path: string): boolean => partOf(path) !== "store";
    expect(linesWith(/from "bun:sqlite"/, outside)).toEqual([]);
    expect(
      linesWith(/["'`]\s*(?:SELECT|INSERT|REPLACE INTO|DELETE FROM|UPDATE|PRAGMA|CREATE|DROP|VACUUM)\s/, outside),
    ).toEqual([]);
  });

  test("stdout is written in one place", () => {
    const outside = (path: string): boolean => path !== "output.ts" && !path.endsWith(".d.ts");
    expect(linesWith(/process\.stdout|Bun\.stdout|console\.(?:log|info|debug|table|dir)\b/, outside)).toEqual([]);
  });

  test("a file is short enough to be read", () => {
    const long = [...sources].filter(([, text]) => text.split("\n").length - 1 > 400).map(([path]) => path);
    expect(long).toEqual([]);
  });

  test("what is exported is used elsewhere", () => {
    const readers = [...new Glob("{src,test,scripts}/**/*.ts").scanSync(join(SRC, ".."))].map((path) => ({
      path,
      words: new Set(readFileSync(join(SRC, "..", path), "utf8").match(/\w+/g)),
    }));
    const unused: string[] = [];
    for (const [path, text] of sources) {
      for (const [, name = ""] of text.matchAll(/^export (?:async )?(?:function\*?|const|let|class) (\w+)/gm)) {
        if (!readers.some((reader) => reader.path !== `src/${path}` && reader.words.has(name)))
          unused.push(`${path}: ${name}`);
      }
    }
    expect(unused).toEqual([]);
  });

  test("tests write into the one temporary folder that is removed", () => {
    const makers = [...new Glob("**/*.ts").scanSync(import.meta.dir)].filter((path) =>
      /\bmkdtemp(?:Sync)?\(/.test(readFileSync(join(import.meta.dir, path), "utf8")),
    );
    expect(makers).toEqual(["temporary.ts"]);
  });
});

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Database } from "bun:sqlite";
import type { EmbeddedArchive } from "../../src/llama/embedded.ts";
import { nativeFolder, unpackedFolder, vecExtensionPath } from "../../src/llama/native.ts";
import { temporaryFolder } from "../temporary.ts";

let base: string;
beforeEach(() => (base = temporaryFolder("native-")));
afterEach(() => rmSync(base, { recursive: true, force: true }));

const contents = {
  "linux-x64/a.so": Buffer.alloc(100_000, "a"),
  "linux-x64/b.node": Buffer.alloc(5, "b"),
  "c.so": Buffer.from("c"),
};

function archive(): EmbeddedArchive {
  const path = join(base, "archive.zst");
  writeFileSync(path, Bun.zstdCompressSync(Buffer.concat(Object.values(contents))));
  return {
    path,
    hash: "0123abcd",
    files: Object.entries(contents).map(([name, { length: size }]) => ({ name, size })),
  };
}

function expectWhole(folder: string): void {
  for (const [name, content] of Object.entries(contents)) expect(readFileSync(join(folder, name))).toEqual(content);
}

describe("unpacking", () => {
  test("puts the files into a private folder, once", () => {
    const packed = archive();
    const folder = unpackedFolder(packed, base);
    expectWhole(folder);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    rmSync(packed.path);
    expect(unpackedFolder(packed, base)).toBe(folder);
    expect(readdirSync(base)).toEqual(["0123abcd"]);
  });

  test("mends a folder that lost a file or a part of one", () => {
    const packed = archive();
    const folder = unpackedFolder(packed, base);
    rmSync(join(folder, "c.so"));
    expectWhole(unpackedFolder(packed, base));
    truncateSync(join(folder, "linux-x64/a.so"), 10);
    expectWhole(unpackedFolder(packed, base));
    expect(readdirSync(base).sort()).toEqual(["0123abcd", "archive.zst"]);
  });

  test("by several processes at once leaves one whole folder", async () => {
    const packed = archive();
    const script = `import { unpackedFolder } from ${JSON.stringify(join(import.meta.dir, "../../src/llama/native.ts"))};
      unpackedFolder(${JSON.stringify(packed)}, ${JSON.stringify(base)});`;
    const children = [1, 2, 3, 4].map(() => Bun.spawn([process.execPath, "-e", script], { stderr: "inherit" }));
    expect(await Promise.all(children.map(({ exited }) => exited))).toEqual([0, 0, 0, 0]);
    expectWhole(join(base, packed.hash));
    expect(readdirSync(base).sort()).toEqual(["0123abcd", "archive.zst"]);
  });

  test("a damaged folder was moved away, and with it what another process had just put there and was about to load", () => {
    const packed = archive();
    const folder = unpackedFolder(packed, base);
    const places = (): number[] =>
      [folder, join(folder, "linux-x64/a.so"), join(folder, "linux-x64/b.node")].map(inode);
    const inode = (path: string): number => statSync(path).ino;
    const before = places();
    rmSync(join(folder, "c.so"));
    expectWhole(unpackedFolder(packed, base));
    expect(places()).toEqual(before);
  });

  test("a folder that stood where a file belongs was there for good", () => {
    const packed = archive();
    const folder = unpackedFolder(packed, base);
    rmSync(join(folder, "c.so"));
    mkdirSync(join(folder, "c.so/inner"), { recursive: true });
    expectWhole(unpackedFolder(packed, base));
  });

  test("to what is no folder is one sentence", () => {
    const packed = archive();
    writeFileSync(join(base, packed.hash), "");
    expect(() => unpackedFolder(packed, base)).toThrow(/^Native parts could not be unpacked to .*0123abcd: /);
    expect(readdirSync(base).sort()).toEqual(["0123abcd", "archive.zst"]);
  });

  test("to where there is no room is one sentence", () => {
    const packed = archive();
    expect(() => unpackedFolder(packed, "/proc/none")).toThrow(/^Native parts could not be unpacked to \/proc\/none/);
  });
});

describe("from source", () => {
  test("llama.cpp's files are those of the installed package", async () => {
    const platforms = readdirSync(await nativeFolder());
    expect(platforms).toHaveLength(1);
  });

  test.skipIf(process.platform !== "linux")("sqlite-vec loads", () => {
    const database = new Database(":memory:");
    database.loadExtension(vecExtensionPath() ?? "");
    expect(database.query("select vec_length('[1,2,3]') as n").get()).toEqual({ n: 3 });
    database.close();
  });
});

import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { reportDamageMet } from "../../src/store/damage.ts";
import { documentsOf } from "../../src/store/documents.ts";
import { isForeignIndex } from "../../src/store/foreign.ts";
import { openIndex, openReadyIndex } from "../../src/store/open.ts";
import { writeDocuments } from "../../src/store/write-documents.ts";
import { temporaryFolder } from "../temporary.ts";
import { draftOf } from "./helpers.ts";

const CHILD = join(import.meta.dir, "child.ts");

function filledIndex(): string {
  const path = join(temporaryFolder(), "index.sqlite");
  const index = openIndex(path, { mode: "write" });
  writeDocuments(index, [draftOf("memory", "a.md", "alpha")]);
  index.close();
  return path;
}

/** Who has no patience may be told that the index is busy. */
function closeReady(path: string): void {
  try {
    openReadyIndex(path, { patienceMs: 0 })?.close();
  } catch (error) {
    expect(error).toMatchObject({ code: "INDEX_BUSY" });
  }
}

test("who opened an index that another process was just setting aside failed", async () => {
  const path = filledIndex();
  const child = Bun.spawn([process.execPath, CHILD, "rebuild", path], { stdout: "pipe", stderr: "inherit" });
  const output = child.stdout.getReader();
  await output.read();
  // A slow machine meets as much in fewer rounds, each of which takes longer.
  const end = performance.now() + 1500;
  try {
    for (let round = 0; round < 400 && performance.now() < end; round++) {
      openIndex(path, { mode: "read" }).close();
      closeReady(path);
      isForeignIndex(path);
    }
  } finally {
    child.kill();
    await child.exited;
  }
}, 30_000);

test("damage met in a file that was rebuilt meanwhile was held against the new one", async () => {
  const path = filledIndex();
  const reader = openIndex(path, { mode: "read" });
  const child = Bun.spawn([process.execPath, CHILD, "rebuild", path, "once"], { stdout: "ignore", stderr: "inherit" });
  expect(await child.exited).toBe(0);
  reportDamageMet(Object.assign(new Error("database disk image is malformed"), { code: "SQLITE_CORRUPT" }));
  reader.close();
  const index = openIndex(path, { mode: "write" });
  expect(index.warnings).toEqual([]);
  index.close();
  expect(readdirSync(dirname(path)).filter((name) => /damaged-[^-]*$/.test(name))).toHaveLength(1);
});

const tellsAges = statSync(import.meta.path).birthtimeMs > 0;
test.skipIf(!tellsAges)("a file that somebody was making where an index was deleted counted as emptied", async () => {
  const path = join(temporaryFolder(), "index.sqlite");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}-shm`, new Uint8Array(32_768));
  writeFileSync(`${path}-wal`, "");
  const made = (name: string): number => statSync(name).birthtimeMs;
  writeFileSync(path, "");
  while (made(path) <= made(`${path}-shm`)) {
    rmSync(path);
    await Bun.sleep(1);
    writeFileSync(path, "");
  }
  const reader = openIndex(path, { mode: "read" });
  expect([reader.warnings, documentsOf(reader, "memory")]).toEqual([[], []]);
  reader.close();
  const writer = openIndex(path, { mode: "write" });
  expect([writer.state, writer.warnings]).toEqual(["ready", []]);
  writer.close();
});

test.each([
  ["was not there", () => {}],
  ["was empty", (path: string) => writeFileSync(path, "")],
])("an index that was deleted while somebody had it open could not be made again: the file %s", async (_, leave) => {
  const path = filledIndex();
  const child = Bun.spawn([process.execPath, CHILD, "keep", path], { stdout: "pipe", stderr: "inherit" });
  await child.stdout.getReader().read();
  const add = (name: string): void => {
    const index = openIndex(path, { mode: "write" });
    writeDocuments(index, [draftOf("memory", name, "alpha")]);
    index.close();
  };
  try {
    // It stays in the journal, since not the last to have the index open closes it.
    add("deleted.md");
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
    rmSync(path);
    leave(path);
    add("a.md");
    add("b.md");
  } finally {
    child.kill();
    await child.exited;
  }
  const reader = openIndex(path, { mode: "read" });
  expect(documentsOf(reader, "memory").map((document) => document.path)).toEqual(["a.md", "b.md"]);
  reader.close();
});

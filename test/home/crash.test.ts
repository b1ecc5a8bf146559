import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import { addCollection } from "../../src/home/index-yml-edit.ts";
import { sandbox } from "./workspace.ts";

const editor = join(import.meta.dir, "../../src/home/index-yml-edit.ts");

test("a process killed while it changes index.yml leaves a whole file and no lock that stops the next one", async () => {
  const path = join(sandbox().home, "qmd/index.yml");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "# mine\ncollections: {}\n");
  const script = `import { addCollection } from ${JSON.stringify(editor)};
    for (let n = 0; ; n++) {
      await addCollection(${JSON.stringify(path)}, { name: process.pid + "-" + n, path: "/x" });
      console.log(n);
    }`;
  for (let round = 0; round < 3; round++) {
    const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
    const reader = child.stdout.getReader();
    // Killed in the midst of the change after a few have been seen.
    for (let seen = 0; seen <= round; seen++) await reader.read();
    child.kill("SIGKILL");
    await child.exited;
    expect(readFileSync(path, "utf8")).toStartWith("# mine\n");
    expect(Object.keys(parse(readFileSync(path, "utf8")).collections).length).toBeGreaterThan(round);
  }
  await addCollection(path, { name: "after", path: "/y" });
  expect(parse(readFileSync(path, "utf8")).collections.after.path).toBe("/y");
  expect(readdirSync(dirname(path)).filter((name) => name.endsWith(".lock"))).toEqual([]);
});

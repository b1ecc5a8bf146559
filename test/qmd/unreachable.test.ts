import { expect, test } from "bun:test";
import { chmodSync, chownSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryRoot } from "../temporary.ts";
import { homesUntilEnd } from "./homes.ts";

const homeOf = homesUntilEnd();

/** As somebody whom permissions bind: root is none. */
const NOBODY = 65534;
const isRoot = process.getuid?.() === 0;
const bound = isRoot ? ["setpriv", `--reuid=${NOBODY}`, "--clear-groups"] : [];

test.skipIf(isRoot && Bun.which("setpriv") === null)(
  "a note behind a link left the index while the folder of its target could not be entered",
  async () => {
    const home = await homeOf({ "n/kept/a.md": "# Heron\n" }, { sync: false });
    const root = join(home.root, "n");
    symlinkSync("kept/a.md", join(root, "link.md"));
    symlinkSync("nowhere.md", join(root, "dangling.md"));
    symlinkSync("circle.md", join(root, "circle.md"));
    chmodSync(temporaryRoot, 0o755);
    const folder = dirname(home.root);
    const owned = [folder, home.root, root, join(root, "kept"), join(folder, "config"), join(folder, "config/qmd")];
    if (isRoot) for (const path of owned) chownSync(path, NOBODY, NOBODY);
    const run = (...args: string[]): string =>
      Bun.spawnSync([...bound, ...home.command(...args)], { cwd: home.root, env: { ...process.env, ...home.env } })
        .stdout.toString()
        .trim();
    const names = (): string[] => run("ls", "n").match(/qmd:\/\/\S+/g) ?? [];
    run("update");
    const before = names();
    expect(before).toEqual(["qmd://n/kept/a.md", "qmd://n/link.md"]);
    // It may be listed still.
    chmodSync(join(root, "kept"), 0o644);
    run("update");
    chmodSync(join(root, "kept"), 0o755);
    expect(names()).toEqual(before);
  },
);

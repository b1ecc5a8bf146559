import { afterEach, expect, setSystemTime, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keepNotesHome } from "../../src/gateway/mcp/notes-home.ts";
import { qmdPlaces } from "../../src/home/qmd-home.ts";
import { documentCounts } from "../../src/store/documents.ts";
import { openIndex } from "../../src/store/open.ts";
import { temporaryFolder } from "../temporary.ts";

afterEach(() => void setSystemTime());

test("a change made while a server read its configuration was not seen before the next one", async () => {
  const configFolder = join(process.env["XDG_CONFIG_HOME"] ?? "", "qmd");
  mkdirSync(configFolder, { recursive: true });
  const config = join(configFolder, "meanwhile.yml");
  const written = (...names: string[]): void =>
    writeFileSync(config, `collections:\n${names.map((name) => `  ${name}:\n    path: /none\n`).join("")}`);
  written("first");
  const { indexPath } = qmdPlaces({ index: "meanwhile", env: process.env, cwd: process.cwd() });
  openIndex(indexPath, { mode: "write" }).close();
  const home = keepNotesHome("meanwhile", "qmd");
  const names = (): Promise<string[]> => home.lend(({ qmd }) => qmd.config.collections.map(({ name }) => name));
  const before = names();
  written("first", "second");
  expect(await before).toEqual(["first"]);
  expect(await names()).toEqual(["first", "second"]);
  await home.close();
});

test("a clock that was set back kept a server from looking at the folders until it had caught up", async () => {
  const root = temporaryFolder();
  const configFolder = join(process.env["XDG_CONFIG_HOME"] ?? "", "qmd");
  mkdirSync(configFolder, { recursive: true });
  writeFileSync(join(configFolder, "clock.yml"), `collections:\n  n:\n    path: ${root}\n    pattern: "**/*.md"\n`);
  const home = keepNotesHome("clock", "qmd");
  const documents = (): Promise<number> =>
    home.lend(({ index }) => documentCounts(index).find(({ collection }) => collection === "n")?.count ?? 0);
  const untilThereAre = async (wanted: number): Promise<void> => {
    while ((await documents()) < wanted) await Bun.sleep(20);
  };

  writeFileSync(join(root, "a.md"), "# A\n");
  await documents();
  home.refresh(false);
  await untilThereAre(1);
  writeFileSync(join(root, "b.md"), "# B\n");
  setSystemTime(Date.now() - 86_400_000);
  home.refresh(false);
  await untilThereAre(2);
  expect(await documents()).toBe(2);
  await home.close();
});

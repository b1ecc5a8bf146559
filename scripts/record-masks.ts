import { Database } from "bun:sqlite";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/**
 * Asks another program that is called as qmd is which files of a tree it takes up for each mask and ignore list, and writes its
 * answers into `test/fixtures/masks.json`, which the tests hold memq to: `bun scripts/record-masks.ts /path/to/qmd`.
 */

/** A row of the fixture: `takes` or, where that is shorter, `takesAllBut` of what the first row takes; null where the program fails. */
export type MaskRow = {
  mask: string;
  ignore?: string[];
  takes?: string[] | null;
  takesAllBut?: string[];
  /** Why memq's answer is another, with the files that it takes besides and those that it leaves out. */
  differs?: string;
  more?: string[];
  less?: string[];
};
type Table = { files: string[]; rows: MaskRow[] };

const FIXTURE = join(import.meta.dir, "../test/fixtures/masks.json");

async function main(program: string | undefined): Promise<void> {
  if (program === undefined) throw new Error("Usage: bun scripts/record-masks.ts /path/to/qmd");
  const table = (await Bun.file(FIXTURE).json()) as Table;
  const folder = mkdtempSync(join(tmpdir(), "masks-"));
  try {
    const root = join(folder, "tree");
    for (const file of table.files) {
      mkdirSync(dirname(join(root, file)), { recursive: true });
      writeFileSync(join(root, file), `# ${file}\n`);
    }
    const answers = table.rows.map(({ mask, ignore }) =>
      takenUp(program, folder, { path: root, pattern: mask, ignore }),
    );
    const all = answers[0] ?? [];
    const rows = table.rows.map(({ mask, ignore, differs, more, less }, nth): MaskRow => {
      const takes = answers[nth] ?? null;
      const others = all.filter((file) => takes?.includes(file) !== true);
      const isShort =
        nth === 0 || takes === null || takes.length <= others.length || !takes.every((file) => all.includes(file));
      return { mask, ignore, ...(isShort ? { takes } : { takesAllBut: others }), differs, more, less };
    });
    const lines = rows.map((row) => `    ${JSON.stringify(row)}`).join(",\n");
    await Bun.write(FIXTURE, `{\n  "files": ${JSON.stringify(table.files)},\n  "rows": [\n${lines}\n  ]\n}\n`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The paths in the index of a fresh home with that one collection; null where the program fails. */
function takenUp(program: string, folder: string, collection: object): string[] | null {
  const home = mkdtempSync(join(folder, "home-"));
  mkdirSync(join(home, "config/qmd"), { recursive: true });
  writeFileSync(join(home, "config/qmd/index.yml"), JSON.stringify({ collections: { notes: collection } }));
  const env = {
    ...process.env,
    HOME: home,
    XDG_CONFIG_HOME: join(home, "config"),
    XDG_CACHE_HOME: join(home, "cache"),
  };
  if (Bun.spawnSync([program, "update"], { env }).exitCode !== 0) return null;
  const index = new Database(join(home, "cache/qmd/index.sqlite"), { readonly: true });
  const rows = index.query<{ path: string }, []>("SELECT path FROM documents WHERE active = 1").all();
  index.close();
  return rows.map(({ path }) => path).toSorted();
}

await main(process.argv[2]);

import { afterAll } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { resolveQmdHome } from "../../src/home/qmd-home.ts";
import type { SyncOptions } from "../../src/sync/sync.ts";
import { syncIndex } from "../../src/sync/sync.ts";
import { memq, memqCommand, type Outcome } from "../cli/program.ts";
import { temporaryFolder } from "../temporary.ts";

export type QmdTestHome = {
  /** Folder that holds the collections; commands run in it. */
  root: string;
  env: Record<string, string>;
  /** Runs the program to its end. */
  run: (...args: string[]) => Promise<Outcome>;
  /** The parsed JSON of a command that must succeed. */
  json: (...args: string[]) => Promise<Record<string, unknown>[]>;
  command: (...args: string[]) => string[];
  write: (notes: Record<string, string | Uint8Array>) => void;
  configure: (yaml: string) => void;
  sync: (options?: SyncOptions) => Promise<void>;
  indexPath: string;
  remove: () => void;
};

/** `qmdHome` for a file of tests, called at its top: what it makes is removed when they are over. */
export function homesUntilEnd(): typeof qmdHome {
  const homes: QmdTestHome[] = [];
  afterAll(() => homes.forEach((home) => home.remove()));
  return async (...how) => {
    const home = await qmdHome(...how);
    homes.push(home);
    return home;
  };
}

/** A qmd home in a temporary folder: notes by `collection/path`, and one collection per first folder unless `yaml` says otherwise. */
export async function qmdHome(
  notes: Record<string, string | Uint8Array>,
  options: { yaml?: string; env?: Record<string, string>; sync?: SyncOptions | false } = {},
): Promise<QmdTestHome> {
  const folder = temporaryFolder("qmd-");
  const root = join(folder, "notes");
  mkdirSync(root);
  const env = {
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, "config"),
    XDG_CACHE_HOME: join(folder, "cache"),
    ...options.env,
  };
  const write = (files: Record<string, string | Uint8Array>): void => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
  };
  const configure = (yaml: string): void => {
    mkdirSync(join(folder, "config/qmd"), { recursive: true });
    writeFileSync(join(folder, "config/qmd/index.yml"), yaml.replaceAll("$ROOT", root));
  };
  write(notes);
  const names = [...new Set(Object.keys(notes).map((path) => path.slice(0, path.indexOf("/"))))];
  configure(options.yaml ?? collectionsYaml(names));
  const sync = async (how?: SyncOptions): Promise<void> => {
    const { home } = await resolveQmdHome({ env, cwd: root });
    await syncIndex(home, { embed: false, ...how });
  };
  if (options.sync !== false) await sync(options.sync);
  const run = (...args: string[]): Promise<Outcome> => memq(args, { env, cwd: root });
  return {
    root,
    env,
    run,
    async json(...args) {
      const outcome = await run(...args);
      if (outcome.exitCode !== 0) throw new Error(outcome.stderr);
      return JSON.parse(outcome.stdout) as Record<string, unknown>[];
    },
    command: memqCommand,
    write,
    configure,
    sync,
    indexPath: join(folder, "cache/qmd/index.sqlite"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** `index.yml` with a collection per folder of that name. */
export function collectionsYaml(names: readonly string[], more = ""): string {
  const rows = names.map((name) => `  ${JSON.stringify(name)}:\n    path: ${JSON.stringify(`$ROOT/${name}`)}\n`);
  return `${more}collections:\n${rows.join("")}`;
}

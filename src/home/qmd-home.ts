import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { MemqError } from "../errors.ts";
import { emptyQmdConfig, readQmdConfig, type QmdCollectionConfig, type QmdConfig } from "./index-yml.ts";
import { patternList } from "./mask.ts";
import { absolutePath, envText, xdgFolder, type Env } from "./paths.ts";
import { modelsInForce, qmdEmbedding, type ModelSlot } from "./qmd-models.ts";
import { changeEnded, collectionRoot, isInProject, trustOf, type Trust } from "./trust.ts";
import type { Collection, Home, SearchProfile } from "./types.ts";

/** Where a qmd home stands. */
export type QmdPlaces = {
  /** `index`, or what `--index` names, fit for a file name. */
  indexName: string;
  configDir: string;
  configPath: string;
  cacheDir: string;
  indexPath: string;
  modelsDir: string;
  trustFile: string;
};

/** A qmd home with its configuration. */
export type QmdHome = {
  home: Home;
  places: QmdPlaces;
  config: QmdConfig;
  /** Whether `index.yml` exists. */
  hasConfig: boolean;
  /** The models in force; those of a configuration that is not trusted are left out. */
  models: Record<ModelSlot, string>;
  trust: Trust;
  /** Collections left out because the configuration is not trusted. */
  skipped: { name: string; path: string }[];
};

/** What is never indexed below a qmd collection. */
export const QMD_IGNORED: readonly string[] = ["**/{node_modules,.git,.cache,vendor,dist,build}/**"];

/** Passages of a qmd home: qmd's 900 tokens with 135 of overlap, three characters to a token. */
const QMD_CUTTING = { kind: "breakpoints", maxChars: 2700, overlapChars: 405, windowChars: 600 } as const;

/** The qmd surface's search profile: one row per document, nothing reordered. */
function qmdSearchProfile(): SearchProfile {
  return {
    maxResults: 5,
    minScore: 0,
    fusion: "relative",
    textScore: "bm25",
    vectorWeight: 0.5,
    textWeight: 0.5,
    pool: 200,
    hybrid: true,
    names: false,
    importance: false,
    recency: { mode: "off", halfLifeDays: 30, floor: 0, undated: "evergreen" },
    mmr: { enabled: false, lambda: 0.7 },
    unit: "documents",
    grammar: "qmd",
    snippetChars: 500,
  };
}

/** What a qmd home is resolved from. */
export type QmdHomeRequest = {
  /** `--index`; switches project-local homes off, unless it is empty. */
  index?: string | undefined;
  env: Env;
  cwd: string;
};

/**
 * The qmd home for a folder: the project's `.qmd` in it or above it, else the user's. Errors: those of `readQmdConfig`.
 * Nothing is written.
 */
export async function resolveQmdHome(request: QmdHomeRequest): Promise<QmdHome> {
  return readQmdHome(qmdPlaces(request), request);
}

/** The home at these places as its configuration is now. One that is not trusted may be half changed by its owner: then it is read again. */
export async function readQmdHome(places: QmdPlaces, around: { env: Env; cwd: string }): Promise<QmdHome> {
  const first = await readOnce(places, around);
  if (first.trust.state !== "untrusted") return first;
  await changeEnded(places.configPath);
  return readOnce(places, around);
}

async function readOnce(places: QmdPlaces, around: { env: Env; cwd: string }): Promise<QmdHome> {
  const config = await readQmdConfig(places.configPath);
  const trust = await trustOf(config ?? emptyQmdConfig(), places.configPath, places.trustFile, around.env);
  return qmdHomeAt(places, config, trust, around);
}

/** The home of a configuration that was read and judged already. */
export function qmdHomeAt(
  places: QmdPlaces,
  read: QmdConfig | null,
  trust: Trust,
  { env, cwd }: { env: Env; cwd: string },
): QmdHome {
  const config = read ?? emptyQmdConfig();
  const mayAll = trust.state !== "untrusted";
  const allowed = config.collections.filter((one) => mayAll || isInProject(one, places.configPath, env));
  const models = modelsInForce(mayAll ? config.models : {}, env);
  const rootOf = (collection: QmdCollectionConfig): string =>
    collectionRoot(collection.path, places.configPath, cwd, env);
  return {
    places,
    config,
    hasConfig: read !== null,
    models,
    trust,
    skipped: config.collections
      .filter((collection) => !allowed.includes(collection))
      .map((collection) => ({ name: collection.name, path: rootOf(collection) })),
    home: {
      kind: "qmd",
      indexPath: places.indexPath,
      collections: allowed.map((collection) => qmdCollection(collection, rootOf(collection))),
      embedding: qmdEmbedding(models.embed, places.modelsDir, cwd, env),
      search: qmdSearchProfile(),
      cutting: QMD_CUTTING,
      issues: config.issues,
    },
  };
}

/** A collection of `index.yml` at its folder. */
export function qmdCollection(collection: QmdCollectionConfig, root: string): Collection {
  return {
    name: collection.name,
    root,
    patterns: patternList(collection.pattern),
    ignore: [...QMD_IGNORED, ...collection.ignore],
    source: "notes",
    followLinks: true,
    hidden: false,
    includeByDefault: collection.includeByDefault,
    pathPrefix: `qmd/${collection.name}/`,
  };
}

/** The files and folders of a qmd home; a project's own index beats `INDEX_PATH`, which beats `--index`. */
export function qmdPlaces({ index, env, cwd }: QmdHomeRequest): QmdPlaces {
  const named = envText(env, "QMD_CONFIG_DIR");
  const configDir =
    named === undefined ? join(xdgFolder(env, "XDG_CONFIG_HOME", ".config"), "qmd") : absolutePath(named, cwd, env);
  const cacheDir = join(xdgFolder(env, "XDG_CACHE_HOME", ".cache"), "qmd");
  const shared = {
    configDir,
    cacheDir,
    modelsDir: join(cacheDir, "models"),
    trustFile: join(configDir, "trusted.json"),
  };
  const isNamed = index !== undefined && index !== "";
  const local = isNamed ? null : projectConfig(cwd);
  if (local !== null) {
    return { ...shared, indexName: "index", configPath: local, indexPath: join(dirname(local), "index.sqlite") };
  }
  const indexName = isNamed ? indexFileName(index, cwd) : "index";
  const indexPath = envText(env, "INDEX_PATH");
  return {
    ...shared,
    indexName,
    configPath: join(configDir, `${indexName}.yml`),
    indexPath: indexPath === undefined ? join(cacheDir, `${indexName}.sqlite`) : absolutePath(indexPath, cwd, env),
  };
}

/** The nearest `.qmd/index.yaml` or `.qmd/index.yml` in `folder` or above it, or null. */
function projectConfig(folder: string): string | null {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const local = join(at, ".qmd");
    const names = existsSync(local) ? ["index.yaml", "index.yml"] : [];
    const found = names.map((name) => join(local, name)).find((path) => existsSync(path));
    if (found !== undefined) return found;
    if (dirname(at) === at) return null;
  }
}

/**
 * A name stays; a path becomes its absolute form with `_` between its parts (`/tmp/a` is `tmp_a`). Throws `INDEX_NAME` where that leaves
 * nothing: the documents' names could not say which index they are in.
 */
function indexFileName(index: string, cwd: string): string {
  const name = index.includes("/") ? resolve(cwd, index).replaceAll("/", "_").replace(/^_+/, "") : index;
  if (name !== "") return name;
  throw new MemqError("INDEX_NAME", `'${index}' leaves no name for an index.`, {
    hint: "Choose a name, as in --index work.",
  });
}

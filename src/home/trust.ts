import { lstatSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { DEFAULT_QMD_MODELS } from "../embed/spec.ts";
import { MemqError } from "../errors.ts";
import { printableLine } from "../printable.ts";
import { sha256 } from "../sha256.ts";
import { isObject, textAt, type JsonObject } from "../json.ts";
import type { QmdCollectionConfig, QmdConfig } from "./index-yml.ts";
import { absolutePath, envText, isInside, realPath, type Env } from "./paths.ts";
import type { ModelSlot } from "./qmd-models.ts";
import { textOfFile } from "./read-text.ts";

/** What a configuration that came with a checkout may not do unasked. */
export type GatedItems = {
  /** Collection and shell command. */
  hooks: [string, string][];
  /** Collection and resolved path outside the project. */
  paths: [string, string][];
  /** Slot and model that is not the built-in one. */
  models: [ModelSlot, string][];
};

/** Whether a home's configuration may do what it asks for. */
export type Trust = {
  gated: GatedItems;
  /** What an approval is recorded for: any change of the gated items changes it. */
  digest: string;
  /** `open`: nothing is gated, or the file is not project-local. */
  state: "open" | "trusted" | "untrusted";
};

/** Nothing to judge. */
export function openTrust(): Trust {
  return { gated: { hooks: [], paths: [], models: [] }, digest: "", state: "open" };
}

/** Whether `index.yml` came with a project: its folder is called `.qmd`. */
export function isProjectConfig(configPath: string): boolean {
  return basename(dirname(resolve(configPath))) === ".qmd";
}

/** The folder that holds `.qmd`. */
function projectRoot(configPath: string): string {
  return dirname(dirname(resolve(configPath)));
}

/** Absolute path of a collection: below the project of a project-local file, else below `cwd`. */
export function collectionRoot(path: string, configPath: string, cwd: string, env: Env): string {
  return absolutePath(path, isProjectConfig(configPath) ? projectRoot(configPath) : cwd, env);
}

/** Judges a configuration against the recorded approvals. */
export async function trustOf(config: QmdConfig, configPath: string, trustFile: string, env: Env): Promise<Trust> {
  if (!isProjectConfig(configPath)) return openTrust();
  const gated = gatedItems(config, configPath, env);
  const digest = trustDigest(gated);
  const isEmpty = Object.values(gated).every((items) => items.length === 0);
  if (isEmpty) return { gated, digest, state: "open" };
  if (isOptedIn(env)) return { gated, digest, state: "trusted" };
  const record = readRecords(trustFile)[resolve(configPath)];
  return { gated, digest, state: textAt(record, ["hooks"]) === digest ? "trusted" : "untrusted" };
}

function gatedItems(config: QmdConfig, configPath: string, env: Env): GatedItems {
  const slots = ["embed", "rerank", "generate"] as const;
  return {
    hooks: config.collections.flatMap(({ name, update }) => (update === undefined ? [] : [[name, update]])),
    paths: config.collections
      .filter((collection) => !isInProject(collection, configPath, env))
      .map(({ name, path }) => [name, collectionRoot(path, configPath, "/", env)]),
    models: slots.flatMap((slot): [ModelSlot, string][] => {
      const uri = config.models[slot];
      return uri === undefined || uri === DEFAULT_QMD_MODELS[slot] ? [] : [[slot, uri]];
    }),
  };
}

/** Whether a collection's real folder lies in the project. */
export function isInProject(collection: QmdCollectionConfig, configPath: string, env: Env): boolean {
  const folder = collectionRoot(collection.path, configPath, "/", env);
  return isInside(realPath(folder), realPath(projectRoot(configPath)));
}

/** SHA-256 (hex) over the gated items, each list sorted by its first element: qmd's own records hold for it. */
function trustDigest(gated: GatedItems): string {
  const sorted = (items: [string, string][]): [string, string][] =>
    [...items].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const canonical = { hooks: sorted(gated.hooks), paths: sorted(gated.paths), models: sorted(gated.models) };
  return sha256(JSON.stringify(canonical));
}

const FALSE_WORDS = new Set(["0", "false", "off", "no", "none"]);

function isOptedIn(env: Env): boolean {
  return ["QMD_TRUST_LOCAL_CONFIG", "QMD_TRUST_UPDATE_HOOKS"].some((name) => {
    const value = envText(env, name);
    return value !== undefined && !FALSE_WORDS.has(value.toLowerCase());
  });
}

/** Records that the gated items of a configuration are approved. */
export async function recordTrust(
  trustFile: string,
  configPath: string,
  digest: string,
  now = new Date(),
): Promise<void> {
  const { withWriterLock } = await import("../store/lock.ts");
  return withWriterLock(trustFile, async () => {
    const records = readRecords(trustFile);
    const record = { hooks: digest, trustedAt: now.toISOString() };
    await writeRecords(trustFile, { ...records, [resolve(configPath)]: record });
  });
}

/** Takes an approval back; false when there was none. */
export async function revokeTrust(trustFile: string, configPath: string): Promise<boolean> {
  const { withWriterLock } = await import("../store/lock.ts");
  return withWriterLock(trustFile, async () => {
    const { [resolve(configPath)]: record, ...others } = readRecords(trustFile);
    if (record !== undefined) await writeRecords(trustFile, others);
    return record !== undefined;
  });
}

/** Held under this path by who changes a trusted configuration, until the change is approved too. */
function changePath(configPath: string): string {
  return `${configPath}.change`;
}

/**
 * Runs `step`, which changes a trusted configuration and approves the change, as one step to those who read both. Where the folder takes
 * no lock, it runs all the same: the change itself says what is wrong.
 */
export async function changingTrusted<T>(configPath: string, step: () => Promise<T>): Promise<T> {
  const { withWriterLock } = await import("../store/lock.ts");
  let hasBegun = false;
  const begin = (): Promise<T> => {
    hasBegun = true;
    return step();
  };
  try {
    return await withWriterLock(changePath(configPath), begin);
  } catch (error) {
    if (hasBegun || error instanceof MemqError) throw error;
  }
  return step();
}

/** How long a change of another process is waited for. */
const CHANGE_MS = 5000;

/** Waits for another process that is changing a trusted configuration, where there is one. */
export async function changeEnded(configPath: string): Promise<void> {
  for (const end = performance.now() + CHANGE_MS; performance.now() < end; await Bun.sleep(10))
    if (!(await isChanging(configPath))) return;
}

/**
 * Whether another process has just begun to change a trusted configuration. Whatever came with a checkout is not to be waited for: a
 * lock that somebody wrote into it, a link to a terminal, a pipe; nor is one that can't be read.
 */
async function isChanging(configPath: string): Promise<boolean> {
  const path = changePath(configPath);
  try {
    const stat = lstatSync(`${path}.lock`, { throwIfNoEntry: false });
    if (stat?.isFile() !== true || Math.abs(Date.now() - stat.mtimeMs) > CHANGE_MS) return false;
    const { writerOf } = await import("../store/lock.ts");
    return ![null, process.pid].includes(writerOf(path));
  } catch {
    return false;
  }
}

/** Every approval, in the order of the file. */
export async function listTrusted(trustFile: string): Promise<{ path: string; trustedAt: string }[]> {
  return Object.entries(readRecords(trustFile)).map(([path, record]) => ({
    path,
    trustedAt: textAt(record, ["trustedAt"]) ?? "",
  }));
}

/** A file that is missing or broken approves nothing. */
function readRecords(trustFile: string): JsonObject {
  try {
    const parsed: unknown = JSON.parse(textOfFile(trustFile));
    return isObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

async function writeRecords(trustFile: string, records: JsonObject): Promise<void> {
  const { replaceFile } = await import("./replace-file.ts");
  await replaceFile(trustFile, `${JSON.stringify(records, null, 2)}\n`);
}

/**
 * What to say when a configuration is not trusted and nobody can be asked, one line each. What it asks for is shown with its control
 * characters written out, so that none of it can hide from who approves it.
 */
export function untrustedNotice(trust: Trust, program: string): string[] {
  const { hooks, paths, models } = trust.gated;
  const items = [
    ...hooks.map(([name, command]) => `update command of '${name}': ${command}`),
    ...paths.map(([name, path]) => `collection '${name}' outside this project: ${path}`),
    ...models.map(([slot, uri]) => `${slot} model: ${uri}`),
  ];
  return [
    ...items.map((item) => `  ${printableLine(item)}`),
    "Config that came with a checkout is not trusted by default.",
    "Skipping them — no terminal to confirm on. Indexing of this project continues.",
    `Approve with '${program} trust', or set QMD_TRUST_LOCAL_CONFIG=1 for unattended runs.`,
  ];
}

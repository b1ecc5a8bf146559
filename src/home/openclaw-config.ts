import { dirname, join, resolve } from "node:path";
import { MemqError, messageOf, reasonOf, usageError } from "../errors.ts";
import { isObject, merged, type JsonObject, type JsonValue } from "../json.ts";
import { envBlock, joinedEnv, parseDotEnv, withVariables, type MissingVariable } from "./env-vars.ts";
import { type FileStamp, stampOf } from "./file-stamp.ts";
import type { Env } from "./paths.ts";
import { configText, textOfFile } from "./read-text.ts";
import { configFile, stateFolder } from "./state-dir.ts";

/** OpenClaw's configuration, read. */
export type LoadedConfig = {
  /** The file read, or null when there is none and defaults apply. */
  path: string | null;
  /** The file as it was when it was read. */
  file: FileStamp;
  stateDir: string;
  data: JsonObject;
  /** The environment with the `.env` files and the configuration's `env` block behind it. */
  env: Env;
  /** Variables without a value in parts that memory may not need; `requireVariables` turns them into an error. */
  missing: MissingVariable[];
  issues: string[];
};

/** Where to look, in the words of the common options; `config` is merged over the file. */
export type ConfigRequest = {
  stateDir?: string | undefined;
  configPath?: string | undefined;
  config?: JsonObject | undefined;
  env: Env;
  cwd: string;
};

const MAX_INCLUDE_DEPTH = 10;
/** Files that include ten others each, ten levels deep, would never be read to the end. */
const MAX_INCLUDED_FILES = 1000;
/** What goes through a configuration calls itself for each level. */
const MAX_LEVELS = 200;

/**
 * Finds and reads the configuration. Errors: `CONFIG_MISSING` (a file named by the option), `CONFIG_SYNTAX` (with file, line
 * and column), `CONFIG_INCLUDE`, `CONFIG_VARIABLE` (a `${NAME}` that memory's own keys need).
 */
export async function loadConfig(request: ConfigRequest): Promise<LoadedConfig> {
  const stateDir = stateFolder(request.stateDir, request.env, request.cwd);
  const file = configFile(request.configPath, stateDir, request.env, request.cwd);
  const issues: string[] = [];
  if (request.config !== undefined && isDeeperThan(MAX_LEVELS, request.config)) {
    throw usageError(`the configuration that was given has more than ${MAX_LEVELS} levels`);
  }
  const stamp = stampOf(file.path);
  const raw = await readConfig(file, issues);
  const data = merged(raw ?? {}, request.config ?? {}, "replace") as JsonObject;
  const env = joinedEnv(
    request.env,
    readDotEnv(request.cwd, issues),
    readDotEnv(stateDir, issues),
    envBlock(data["env"]),
  );
  const missing: MissingVariable[] = [];
  const filled = withVariables(data, env, missing) as JsonObject;
  const loaded = { path: raw === null ? null : file.path, file: stamp, stateDir, data: filled, env, missing, issues };
  const needed = missing.find(({ path }) => MEMORY_KEYS.test(path));
  if (needed !== undefined) throw variableMissing(needed);
  return loaded;
}

/** Paths of the keys that memory always reads; a variable that only a chat channel or a sandbox needs does no harm. */
const MEMORY_KEYS =
  /^(memory|memorySearch|agents\.(defaults|entries\.[^.]+|list\[\d+\])\.(memory|memorySearch|workspace|agentDir|userTimezone|compaction|contextLimits))\b/;

/** Throws `CONFIG_VARIABLE` when the key at `path` holds a variable without a value. */
export function requireVariables(loaded: Pick<LoadedConfig, "missing">, path: string): void {
  const needed = loaded.missing.find((entry) => entry.path === path || entry.path.startsWith(`${path}.`));
  if (needed !== undefined) throw variableMissing(needed);
}

function variableMissing({ path, variable }: MissingVariable): MemqError {
  return new MemqError("CONFIG_VARIABLE", `${path} needs the environment variable ${variable}, which is not set.`, {
    hint: `Set ${variable}, or write $\${${variable}} if the text is meant literally.`,
  });
}

async function readConfig(file: ReturnType<typeof configFile>, issues: string[]): Promise<JsonObject | null> {
  const text = configText(file.path);
  if (text === null) {
    if (file.namedBy === "option") {
      throw new MemqError("CONFIG_MISSING", `There is no configuration file ${file.path}.`, {
        hint: "Correct --config, or leave it out to use openclaw.json of the state folder.",
      });
    }
    if (file.namedBy === "environment") issues.push(`There is no configuration file ${file.path}: defaults apply.`);
    return null;
  }
  const value = await withIncludes(await parseJson5(text, file.path), {
    chain: [file.path],
    files: { left: MAX_INCLUDED_FILES },
  });
  if (isObject(value)) return value;
  throw new MemqError("CONFIG_SYNTAX", `The configuration file ${file.path} must hold an object.`, {
    hint: "Put everything between { and }.",
  });
}

function readDotEnv(folder: string, issues: string[]): Record<string, string> {
  const path = join(folder, ".env");
  try {
    return parseDotEnv(textOfFile(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR" && code !== "EISDIR")
      issues.push(`${path} was not read: ${reasonOf(error)}.`);
    return {};
  }
}

async function parseJson5(text: string, path: string): Promise<JsonValue> {
  const body = text.replace(/^\uFEFF/, "");
  if (body.trim() === "") return {};
  const value = await parsed(body, path);
  if (!isDeeperThan(MAX_LEVELS, value)) return value;
  throw new MemqError("CONFIG_SYNTAX", `The configuration file ${path} has more than ${MAX_LEVELS} levels.`, {
    hint: "Look for what is nested by mistake.",
  });
}

async function parsed(body: string, path: string): Promise<JsonValue> {
  try {
    return Bun.JSON5.parse(body) as JsonValue;
  } catch {
    return parsedWithPlace(body, path);
  }
}

function isDeeperThan(levels: number, value: JsonValue): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((entry) => isDeeperThan(levels - 1, entry));
}

/** The files that led to where an `$include` stands, and how many more may be read. */
type Including = { chain: readonly string[]; files: { left: number } };

/** The runtime's parser does not say where it stumbled; this slower one does, and is loaded only then. */
async function parsedWithPlace(text: string, path: string): Promise<JsonValue> {
  const { default: json5 } = await import("json5");
  try {
    return json5.parse<JsonValue>(text);
  } catch (error) {
    const { lineNumber, columnNumber } = error as { lineNumber?: number; columnNumber?: number };
    const reason = messageOf(error)
      .replace(/^JSON5: /, "")
      .replace(/ at \d+:\d+$/, "");
    const place = lineNumber === undefined ? "" : ` at ${placeOf(text, lineNumber, columnNumber ?? 0)}`;
    throw new MemqError("CONFIG_SYNTAX", `The configuration file ${path} is not valid JSON5${place}: ${reason}.`, {
      hint: "Correct that place and try again.",
    });
  }
}

/** A line end that stands where none may is, for the parser, before the first column of the next line. */
function placeOf(text: string, line: number, column: number): string {
  if (column > 0 || line < 2) return `line ${line}, column ${column}`;
  const ended = text.split(/\r\n|[\n\r\u2028\u2029]/)[line - 2] ?? "";
  return `line ${line - 1}, column ${ended.length + 1}`;
}

/** Resolves `$include` everywhere in `value`, which stands in the last file of the chain. */
async function withIncludes(value: JsonValue, including: Including): Promise<JsonValue> {
  if (Array.isArray(value)) return Promise.all(value.map((entry) => withIncludes(entry, including)));
  if (!isObject(value)) return value;
  const { $include: include, ...rest } = value;
  const siblings: JsonObject = {};
  for (const [name, entry] of Object.entries(rest)) siblings[name] = await withIncludes(entry, including);
  if (include === undefined) return siblings;
  const included = await includedValue(include, including);
  if (Object.keys(siblings).length === 0) return included;
  if (isObject(included)) return merged(included, siblings, "join");
  throw includeError(
    `$include in ${including.chain.at(-1)} stands beside other keys, so the included file must hold an object`,
  );
}

async function includedValue(include: JsonValue, including: Including): Promise<JsonValue> {
  if (typeof include === "string") return includedFile(include, including);
  if (!Array.isArray(include) || !include.every((entry) => typeof entry === "string")) {
    throw includeError(`$include in ${including.chain.at(-1)} must be a file name or a list of file names`);
  }
  let result: JsonValue = {};
  for (const name of include) result = merged(result, await includedFile(name, including), "join");
  return result;
}

async function includedFile(name: string, including: Including): Promise<JsonValue> {
  const { chain, files } = including;
  const from = chain.at(-1) ?? "";
  if (name.includes("\0")) throw includeError(`$include in ${from} names a file with a NUL character`);
  const path = resolve(dirname(from), name);
  if (chain.includes(path)) throw includeError(`$include goes round in a circle: ${[...chain, path].join(" → ")}`);
  if (chain.length > MAX_INCLUDE_DEPTH) {
    throw includeError(`$include in ${from} goes deeper than ${MAX_INCLUDE_DEPTH} files`);
  }
  if (files.left-- === 0) throw includeError(`$include in ${chain[0]} leads to more than ${MAX_INCLUDED_FILES} files`);
  const text = configText(path);
  if (text === null) throw includeError(`$include in ${from} names ${path}, which does not exist`);
  return withIncludes(await parseJson5(text, path), { chain: [...chain, path], files });
}

function includeError(sentence: string): MemqError {
  return new MemqError("CONFIG_INCLUDE", `${sentence}.`, { hint: "Correct the $include in the configuration file." });
}

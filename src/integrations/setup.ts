import { copyFile, mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { MemqError, messageOf, reasonOf } from "../errors.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { isObject } from "../json.ts";
import { realPath, type Env } from "../home/paths.ts";
import { configText } from "../home/read-text.ts";
import { replaceFile } from "../home/replace-file.ts";

/** What a person asks for; what is not given is looked up where the client looks. */
export type SetupRequest = {
  /** How clients start this program: program and first arguments. */
  command: readonly [string, ...string[]];
  agentId?: string | undefined;
  workspaces: string[];
  stateDir?: string | undefined;
  /** The client's configuration file, instead of its usual one. */
  configPath?: string | undefined;
  env: Env;
  cwd: string;
};

/** One value that is set, or one item that a list gets. */
export type Change = { key: string; action: "set" | "add"; value: JsonValue };

/** What would be done; nothing of it is. */
export type SetupPlan = {
  client: string;
  file: string;
  /** The file's text; null when there is none yet. */
  before: string | null;
  /** The text to write, or null when the file can't be edited without losing something. */
  after: string | null;
  changes: Change[];
  /** The same in the client's own notation, to be added by hand. */
  snippet: string;
  /** Other files to write: path → text; those that are as they should be are left out. */
  files: Record<string, string>;
  /** What stands in the way, or is to be done afterwards. */
  notes: string[];
};

/** How a client starts memq, as its configuration says, and what it will speak. */
export type Launch = {
  client: string;
  file: string;
  /** Name of the server in the configuration. */
  server: string;
  protocol: "mcp" | "rpc";
  command: string[];
  env: Record<string, string>;
  /** Parameters of `initialize` with `rpc`. */
  place: Record<string, string | boolean>;
  /** What is wrong with the configuration itself. */
  problems: string[];
};

/** One program that memq can be connected to; a further one is one file and one line in `clients.ts`. */
export type Client = {
  id: string;
  plan(request: SetupRequest): Promise<SetupPlan>;
  /** What its configuration starts; empty when memq is not in it. */
  launches(request: Omit<SetupRequest, "command">): Promise<{ file: string; launches: Launch[] }>;
};

/** The object that a configuration text holds. Errors: `CONFIG_SYNTAX`, so that a broken file is never touched. */
export function parsedObject(text: string, path: string, syntax: "JSON5" | "TOML"): JsonObject {
  let data: unknown;
  try {
    const body = text.replace(/^\uFEFF/, "");
    data = body.trim() === "" ? {} : syntax === "TOML" ? Bun.TOML.parse(body) : Bun.JSON5.parse(body);
  } catch (error) {
    throw brokenFile(path, `is not valid ${syntax}: ${messageOf(error)}`);
  }
  if (!isObject(data)) throw brokenFile(path, "holds no object");
  return data;
}

function brokenFile(path: string, what: string): MemqError {
  return new MemqError("CONFIG_SYNTAX", `The configuration file ${path} ${what}.`, {
    hint: "It was left as it is; correct it and try again.",
  });
}

/** Whether there is anything to write. */
export function hasChanges({ before, after, files }: SetupPlan): boolean {
  return after !== before || Object.keys(files).length > 0;
}

/**
 * Does what the plan says and answers with the path of the backup (null when there was no file, or it is left alone). Errors:
 * `CONFIG_CHANGED` when somebody changed the file since it was read, `CONFIG_UNWRITABLE`.
 */
export async function applyPlan({ file, before, after, files }: SetupPlan): Promise<string | null> {
  try {
    const edits = after !== null && after !== before;
    if (edits && configText(file) !== before) {
      throw new MemqError("CONFIG_CHANGED", `The configuration file ${file} has just been changed by somebody else.`, {
        hint: "Nothing was written; run the command again.",
      });
    }
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await replaceFile(path, text);
    }
    if (!edits) return null;
    const backup = before === null ? null : await backedUp(file);
    await replaceFile(file, after);
    return backup;
  } catch (error) {
    if (error instanceof MemqError) throw error;
    throw new MemqError("CONFIG_UNWRITABLE", `The setup of ${file} can't be written: ${reasonOf(error)}.`, {
      hint: "Check the permissions of the file and its folder.",
      cause: error,
    });
  }
}

/** A copy beside the file, named after the moment; never over another one. */
async function backedUp(file: string): Promise<string> {
  const moment = new Date().toISOString().replace(/\..*/, "").replaceAll(/[-:]/g, "").replace("T", "-");
  for (let attempt = 1; ; attempt += 1) {
    const path = `${file}.${moment}${attempt === 1 ? "" : `-${attempt}`}.bak`;
    try {
      // Fails when it exists; the copy keeps the mode, since configurations hold keys.
      await copyFile(realPath(file), path, 1);
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

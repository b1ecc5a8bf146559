import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { MemqError } from "../errors.ts";
import { isObject, objectAt, textAt, valueAt, type JsonObject, type JsonValue } from "../json.ts";
import { absolutePath, envText, type Env } from "./paths.ts";
import { textOfFile } from "./read-text.ts";

/** What looking up a secret needs to know; a secret itself never becomes part of a message. */
export type SecretPlace = { config: JsonObject; env: Env; stateDir: string };

const DEFAULT_TIMEOUT_MS = 5000;
const DEFAULT_MAX_BYTES = 1024 * 1024;

/**
 * The secret that a configuration key `path` stands for: a plain text, `$NAME`, or a reference `{source, provider, id}` to a
 * variable, a file or a command of `secrets.providers`. A blank text is undefined. Throws `SECRET_UNRESOLVED`, naming the key.
 */
export async function secretOf(input: JsonValue, path: string, place: SecretPlace): Promise<string | undefined> {
  if (typeof input === "string") return plainSecret(input.trim(), path, place.env);
  if (!isObject(input)) throw unresolved(path, "is neither a text nor a reference {source, provider, id}");
  const source = textAt(input, ["source"]);
  const id = textAt(input, ["id"]);
  const provider =
    textAt(input, ["provider"]) ?? textAt(place.config, ["secrets", "defaults", source ?? ""]) ?? "default";
  if (id === undefined) throw unresolved(path, "is a reference without an id");
  if (!/^[a-z][a-z0-9_-]{0,63}$/.test(provider))
    throw unresolved(path, "names a provider that is not [a-z][a-z0-9_-]*");
  if (source === "env") return secretFromEnv(id, path, place.env);
  if (source === "file") return secretFromFile(id, provider, path, place);
  if (source === "exec") return secretFromCommand(id, provider, path, place);
  throw unresolved(path, "is a reference whose source is not env, file or exec");
}

function unresolved(path: string, reason: string): MemqError {
  return new MemqError("SECRET_UNRESOLVED", `${path} ${reason}.`, { hint: `Correct ${path} or what it refers to.` });
}

function plainSecret(text: string, path: string, env: Env): string | undefined {
  const name = /^\$([A-Z][A-Z0-9_]{0,127})$/.exec(text)?.[1];
  if (name !== undefined) return secretFromEnv(name, path, env);
  return text === "" ? undefined : text;
}

function secretFromEnv(id: string, path: string, env: Env): string {
  if (!/^[A-Z][A-Z0-9_]{0,127}$/.test(id)) throw unresolved(path, "refers to a variable that is not [A-Z][A-Z0-9_]*");
  const value = envText(env, id);
  if (value === undefined) throw unresolved(path, `refers to the environment variable ${id}, which is not set`);
  return value;
}

function secretProvider(name: string, source: string, path: string, place: SecretPlace): JsonObject {
  const provider = objectAt(place.config, ["secrets", "providers", name]);
  if (provider === null) throw unresolved(path, `refers to secrets.providers.${name}, which does not exist`);
  const declared = textAt(provider, ["source"]);
  if (declared !== undefined && declared !== source) {
    throw unresolved(path, `has source ${source}, but secrets.providers.${name} has source ${declared}`);
  }
  return provider;
}

function numberOr(value: JsonValue | undefined, fallback: number): number {
  return typeof value === "number" && value > 0 ? value : fallback;
}

function secretFromFile(id: string, name: string, path: string, place: SecretPlace): string {
  const provider = secretProvider(name, "file", path, place);
  const named = textAt(provider, ["path"]);
  if (named === undefined) throw unresolved(path, `refers to secrets.providers.${name}, which has no path`);
  const file = absolutePath(named, place.stateDir, place.env);
  const text = fileText(file, numberOr(provider["maxBytes"], DEFAULT_MAX_BYTES), path);
  if (provider["mode"] === "singleValue") {
    const value = text.replace(/\r?\n$/, "");
    if (value === "") throw unresolved(path, `refers to ${file}, which is empty`);
    return value;
  }
  return secretAtPointer(text, id, file, path);
}

function fileText(file: string, maxBytes: number, path: string): string {
  try {
    if (statSync(file).size <= maxBytes) return textOfFile(file);
  } catch {
    throw unresolved(path, `refers to ${file}, which can't be read`);
  }
  throw unresolved(path, `refers to ${file}, which is larger than ${maxBytes} bytes`);
}

/** The text at an RFC 6901 pointer of a JSON file. */
function secretAtPointer(text: string, pointer: string, file: string, path: string): string {
  if (!pointer.startsWith("/")) throw unresolved(path, "refers to a file, so its id must be a JSON pointer like /a/b");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unresolved(path, `refers to ${file}, which is not valid JSON`);
  }
  for (const step of pointer.slice(1).split("/")) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(value)) value = /^\d+$/.test(key) ? value[Number(key)] : undefined;
    else value = valueAt(value, [key]);
  }
  if (typeof value !== "string" || value.trim() === "") {
    throw unresolved(path, `refers to ${pointer} in ${file}, where no text stands`);
  }
  return value.trim();
}

async function secretFromCommand(id: string, name: string, path: string, place: SecretPlace): Promise<string> {
  const isId = /^[A-Za-z0-9][A-Za-z0-9._:/#-]{0,255}$/.test(id) && !id.split("/").some((part) => /^\.\.?$/.test(part));
  if (!isId) throw unresolved(path, "refers to a command with an id of forbidden characters");
  const provider = secretProvider(name, "exec", path, place);
  const command = textAt(provider, ["command"]);
  if (command === undefined || !isAbsolute(command)) {
    throw unresolved(path, `refers to secrets.providers.${name}, whose command is no absolute path`);
  }
  const output = await commandOutput(command, provider, { protocolVersion: 1, provider: name, ids: [id] }, place.env);
  const value = output === null ? undefined : secretInOutput(output, id, provider["jsonOnly"] !== false);
  if (value === undefined)
    throw unresolved(path, `refers to ${id} of secrets.providers.${name}, whose command gave none`);
  return value;
}

function secretInOutput(output: string, id: string, jsonOnly: boolean): string | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(output);
  } catch {
    const plain = output.trim();
    return jsonOnly || plain === "" ? undefined : plain;
  }
  if (isObject(parsed)) return textAt(parsed, ["values", id]);
  return jsonOnly ? undefined : output.trim();
}

/** How long the pipes of a command that has ended are read. */
const PIPE_MS = 250;

/** What the command writes when it is handed `request` on its input, or null when it fails, hangs or writes too much. */
async function commandOutput(
  command: string,
  provider: JsonObject,
  request: JsonObject,
  env: Env,
): Promise<string | null> {
  const { execFile } = await import("node:child_process");
  return new Promise((done) => {
    const child = execFile(
      command,
      texts(provider["args"]),
      {
        env: commandEnv(provider, env),
        timeout: numberOr(provider["timeoutMs"], DEFAULT_TIMEOUT_MS),
        maxBuffer: numberOr(provider["maxOutputBytes"], DEFAULT_MAX_BYTES),
        killSignal: "SIGKILL",
      },
      (error, stdout) => done(error === null ? stdout : null),
    );
    // What it leaves in the background, as an agent that keeps the vault open, may hold its pipes for ever.
    child.once("exit", () => {
      setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, PIPE_MS).unref();
    });
    // A command that does not read its input closes the pipe; that is no failure.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(`${JSON.stringify(request)}\n`);
  });
}

function texts(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}

/** Only what the configuration passes on: the variables named in `passEnv` and those of `env`. */
function commandEnv(provider: JsonObject, env: Env): Record<string, string> {
  const result: Record<string, string> = {};
  for (const name of texts(provider["passEnv"])) {
    const value = env[name];
    if (value !== undefined) result[name] = value;
  }
  for (const [name, value] of Object.entries(objectAt(provider, ["env"]) ?? {})) {
    if (typeof value === "string") result[name] = value;
  }
  return result;
}

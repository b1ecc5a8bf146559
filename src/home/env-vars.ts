import { isObject, type JsonValue } from "../json.ts";
import type { Env } from "./paths.ts";

/** A `${VARIABLE}` without a value, and the configuration key that needs it. */
export type MissingVariable = { path: string; variable: string };

const REFERENCE = /\$\$\{([A-Z_][A-Z0-9_]*)\}|\$\{([A-Z_][A-Z0-9_]*)\}/g;

/**
 * Replaces `${NAME}` in every text of `value` by the variable's value; `$${NAME}` stands for a literal `${NAME}`. Only names
 * of capitals, digits and underscores count. A variable that is unset or empty leaves its text as it is and goes to `missing`.
 */
export function withVariables(value: JsonValue, env: Env, missing: MissingVariable[], path = ""): JsonValue {
  if (typeof value === "string") return textWithVariables(value, env, missing, path);
  if (Array.isArray(value)) return value.map((entry, at) => withVariables(entry, env, missing, `${path}[${at}]`));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [
      name,
      withVariables(entry, env, missing, path === "" ? name : `${path}.${name}`),
    ]),
  );
}

function textWithVariables(text: string, env: Env, missing: MissingVariable[], path: string): string {
  return text.replace(REFERENCE, (whole: string, escaped: string | undefined, name: string | undefined) => {
    if (escaped !== undefined) return `\${${escaped}}`;
    const value = name === undefined ? undefined : env[name];
    if (value !== undefined && value !== "") return value;
    missing.push({ path, variable: name ?? "" });
    return whole;
  });
}

/** The assignments of a `.env` file: `NAME=value`, `export `, quotes, `#` comments; lines that are none of these are passed over. */
export function parseDotEnv(text: string): Record<string, string> {
  const result: Record<string, string> = {};
  for (const line of text.replace(/^\uFEFF/, "").split(/\r?\n/)) {
    const match = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/.exec(line);
    if (match?.[1] !== undefined) result[match[1]] = dotEnvValue(match[2] ?? "");
  }
  return result;
}

function dotEnvValue(raw: string): string {
  const quoted = /^(["'])(.*?)\1\s*(?:#.*)?$/.exec(raw.trim());
  if (quoted !== null) {
    const text = quoted[2] ?? "";
    return quoted[1] === '"' ? text.replaceAll(String.raw`\n`, "\n") : text;
  }
  return raw.replace(/(^|\s)#.*$/, "").trim();
}

/** The variables of the configuration's `env` block: texts directly in it and below `vars`. */
export function envBlock(block: JsonValue | undefined): Record<string, string> {
  if (!isObject(block)) return {};
  const vars = block["vars"];
  return Object.fromEntries(
    [...Object.entries(block), ...Object.entries(isObject(vars) ? vars : {})].filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    ),
  );
}

/** `base` with the variables of each further source that are not set yet: the first that names a variable wins. */
export function joinedEnv(base: Env, ...sources: Record<string, string>[]): Env {
  const result: Record<string, string | undefined> = { ...base };
  for (const source of sources) {
    for (const [name, value] of Object.entries(source)) {
      const set = Object.hasOwn(result, name) ? result[name] : undefined;
      if (set === undefined || set.trim() === "") result[name] = value;
    }
  }
  return result;
}

import { MemqError } from "../errors.ts";
import { isObject, type JsonValue } from "../json.ts";
import type { KeySpec, KeyType } from "./key-spec.ts";

/** The longest time that a timer can be set to; told a longer one, it fires at once and so again and again. */
export const MAX_TIMER_MS = 2_147_483_647;

/** A value fit for use, and what had to be said about it. */
export type CheckedValue = { value: JsonValue | undefined; issue?: string };

const EXPECTED: Record<KeyType, string> = {
  boolean: "true or false",
  integer: "a whole number",
  number: "a number",
  text: "a text",
  choice: "a text",
  choices: "a list of texts",
  headers: "an object of texts",
  secret: "a text or {source, provider, id}",
  texts: "a list of texts",
  paths: "a list of paths or {path, pattern}",
  duration: 'a duration such as "5m" or "0", or minutes',
  bytes: 'a number of bytes or a text such as "2mb"',
  size: 'a number above 0 or "auto"',
  sendPolicy: "an object {default, rules: [{action, match}]}",
};

/** The error for a value of the wrong kind at `path` of the configuration, or of the `file` that is named. */
export function wrongType(path: string, expected: string, value: JsonValue, file?: string): MemqError {
  const place = file === undefined ? path : `${path} in ${file}`;
  return new MemqError("CONFIG_TYPE", `${place} must be ${expected}, not ${described(value)}.`, {
    hint: file === undefined ? `Correct ${path} in the configuration file.` : `Correct ${place}.`,
  });
}

/** The kind of a value in words; texts are never repeated, since they may be keys. */
function described(value: JsonValue): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return "a text";
  return isObject(value) ? "an object" : String(value);
}

type Check = (value: JsonValue, spec: KeySpec, path: string) => CheckedValue | null;

/** Per type: the value made fit for use, or null when it is of the wrong kind. */
const CHECKS: Record<KeyType, Check> = {
  boolean: (value) => (typeof value === "boolean" ? { value } : null),
  integer: clamped,
  number: clamped,
  text: (value) => (typeof value === "string" ? { value: value.trim() === "" ? undefined : value.trim() } : null),
  choice,
  choices,
  texts: (value) => (isTexts(value) ? { value: value.map((text) => text.trim()).filter((text) => text !== "") } : null),
  headers,
  secret: (value) => (typeof value === "string" || isObject(value) ? { value } : null),
  paths: (value, _spec, path) =>
    Array.isArray(value) ? { value: value.flatMap((entry, at) => pathEntry(entry, `${path}[${at}]`)) } : null,
  duration: (value) => (durationMs(value) === null ? null : { value }),
  bytes: (value) => (bytesOf(value) === null ? null : { value }),
  size: (value) => (value === "auto" || (typeof value === "number" && value > 0) ? { value } : null),
  sendPolicy: (value) => (isObject(value) ? { value } : null),
};

/**
 * Checks the value that stands at `path` against its row of the table. A wrong type throws `CONFIG_TYPE`, a text outside the
 * row's values or with a NUL character `CONFIG_VALUE`; a number out of range is moved to the nearest bound, with an issue.
 */
export function checkedValue(spec: KeySpec, value: JsonValue, path: string): CheckedValue {
  // No path, name or key can hold one, and whoever is handed it fails without saying whose value it is.
  if (holdsNul(value)) throw wrongChoice(path, "without NUL characters", "as it is");
  const checked = CHECKS[spec.type](value, spec, path);
  if (checked === null && READ_TEXTS.has(spec.type) && typeof value === "string") {
    throw wrongChoice(path, EXPECTED[spec.type], JSON.stringify(value));
  }
  if (checked === null) throw wrongType(path, EXPECTED[spec.type], value);
  return checked;
}

function holdsNul(value: JsonValue): boolean {
  if (typeof value === "string") return value.includes("\0");
  return typeof value === "object" && value !== null && Object.values(value).some(holdsNul);
}

function isTexts(value: JsonValue): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === "string");
}

function clamped(value: JsonValue, spec: KeySpec, path: string): CheckedValue | null {
  if (typeof value !== "number" || Number.isNaN(value)) return null;
  const whole = spec.type === "integer" && Number.isFinite(value) ? Math.floor(value) : value;
  const bounded = Math.min(Math.max(whole, spec.min ?? -Infinity), spec.max ?? longestTime(spec.path));
  const result = Number.isFinite(bounded) ? bounded : spec.default;
  if (result === value) return { value };
  const used = typeof result === "number" ? `${result} is used` : "it counts as unset";
  return { value: result, issue: `${path} is ${value}, which is out of range: ${used}.` };
}

/** Types that may be given as a text that is read; no key would be, so a wrong one can be repeated. */
const READ_TEXTS: ReadonlySet<KeyType> = new Set(["duration", "bytes", "size"]);

/** By the unit in a key's name; without one, no limit. */
function longestTime(path: string): number {
  if (path.endsWith("Ms")) return MAX_TIMER_MS;
  if (path.endsWith("Seconds")) return Math.floor(MAX_TIMER_MS / 1000);
  return path.endsWith("Minutes") ? Math.floor(MAX_TIMER_MS / 60_000) : Infinity;
}

function choice(value: JsonValue, spec: KeySpec, path: string): CheckedValue | null {
  if (typeof value !== "string" && spec.lenient !== true) return null;
  const values = spec.values ?? [];
  if (typeof value === "string" && values.includes(value.trim())) return { value: value.trim() };
  const expected = `one of ${values.join(", ")}`;
  if (spec.lenient !== true) throw wrongChoice(path, expected, JSON.stringify(value));
  return { value: spec.default, issue: `${path} must be ${expected}: ${JSON.stringify(spec.default)} is used.` };
}

function choices(value: JsonValue, spec: KeySpec, path: string): CheckedValue | null {
  if (!isTexts(value)) return null;
  const values = spec.values ?? [];
  const wrong = value.find((entry) => !values.includes(entry));
  if (wrong !== undefined) throw wrongChoice(path, `a list of ${values.join(", ")}`, JSON.stringify(wrong));
  return { value: [...new Set(value)] };
}

function wrongChoice(path: string, expected: string, value: string): MemqError {
  return new MemqError("CONFIG_VALUE", `${path} must be ${expected}, not ${value}.`, {
    hint: `Correct ${path} in the configuration file.`,
  });
}

function headers(value: JsonValue, _spec: KeySpec, path: string): CheckedValue | null {
  if (!isObject(value)) return null;
  for (const [name, text] of Object.entries(value)) {
    if (typeof text !== "string") throw wrongType(`${path}.${name}`, "a text", text);
  }
  return { value };
}

/** A path or `{path, pattern?, name?}` in its long form; blank paths vanish. */
function pathEntry(entry: JsonValue, path: string): JsonValue[] {
  if (typeof entry === "string") return entry.trim() === "" ? [] : [{ path: entry.trim() }];
  if (!isObject(entry)) throw wrongType(path, "a path or {path, pattern}", entry);
  for (const name of ["path", "pattern", "name"]) {
    const value = entry[name];
    if (typeof value !== "string" && (value !== undefined || name === "path")) {
      throw wrongType(`${path}.${name}`, "a text", value ?? null);
    }
  }
  return typeof entry["path"] === "string" && entry["path"].trim() !== "" ? [entry] : [];
}

const DURATION_UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `5m`, `90s`, `1.5h`, `250ms`, at most as long as a timer can run; a bare number counts minutes. Null when it is none. */
export function durationMs(value: JsonValue | undefined): number | null {
  if (typeof value !== "string" && typeof value !== "number") return null;
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/i.exec(String(value).trim());
  if (match === null) return null;
  const ms = Math.round(Number(match[1]) * (DURATION_UNITS[match[2]?.toLowerCase() ?? "m"] ?? 60_000));
  return Math.min(ms, MAX_TIMER_MS);
}

const BYTE_UNITS: Record<string, number> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };

/** Bytes of `2097152` or `2mb` (1 KB is 1024). Null when it is neither. */
export function bytesOf(value: JsonValue | undefined): number | null {
  if (typeof value !== "string" && typeof value !== "number") return null;
  const match = /^(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)?$/i.exec(String(value).trim());
  if (match === null) return null;
  return Math.round(Number(match[1]) * (BYTE_UNITS[match[2]?.toLowerCase() ?? "b"] ?? 1));
}
